"""``python -m markscheme.cli``."""

from markscheme.cli.main import main

if __name__ == "__main__":
    main()
