"""Seeded random and mutated answers and completions, the same at every run."""

from __future__ import annotations

import random
from collections.abc import Iterator

SEEDS = [
    r"\frac{3}{56}",
    r"10\sqrt{19}",
    "58,500",
    r"1\frac45",
    r"\left( 3, \frac{\pi}{2} \right)",
    r"(-\infty, 2) \cup (3, \infty)",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
    r"2516_8",
    r"x^2 - 3x + 2",
    r"\text{(B)}",
    "11:30 a.m.",
    r"50\%",
    r"864 \mbox{ inches}^2",
    r"90^\circ",
    "3:4:5",
    r"\{1, 2, 3\}",
    "1 and 2",
    r"x = 2, y = -3",
    r"\pm \sqrt{2}",
    r"y = 2x + 1",
    r"f(x) = x^2 \text{ for all } x > 1",
    r"\sum_{k=1}^{10} k^2",
    r"\int_0^1 x^2 dx",
    r"\lim_{x\to 0} \frac{\sin x}{x}",
    r"\binom{10}{3}",
    "5!",
    r"\sin 30^\circ",
    r"e^{i\pi}",
    r"|x - 1| \le 2",
    r"x \in [1, 2]",
    "no solution",
    "2 hours 30 minutes",
    r"\$18.50",
    "1.5e6",
    r"0.\overline{3}",
    r"\log_2 8",
    r"\frac{\pi}{6} + 2k\pi",
    "√2/2",
    "½",
    r"\mathbf{i} + 2\mathbf{j}",
    "2^{10}",
    r"\lfloor 3.7 \rfloor",
    r"a_1, a_2, \ldots, a_n",
    r"\det \begin{vmatrix} a & b \\ c & d \end{vmatrix}",
    r"\sqrt[3]{-8}",
    "1/3",
    "So 3 + 4 = 7. The answer is \\boxed{7}.",
    "<think>hm</think> The answer is 12.",
    "Work.\n#### 1,234",
    "<answer>42</answer>",
    "**Final Answer:** $\\frac{1}{2}$",
    "She has 5 apples and 3 pears.\nA: 8",
    "The roots are \\boxed{1} and \\boxed{2}.",
]
PIECES = [
    *(
        r"\frac \sqrt \left( \right) \boxed{ \text{ \begin{pmatrix} \end{pmatrix} & \\ \{ \} { } ( ) [ ] | \| ^ _ ! ' "
        r", "
        r"; : . = < > \le \ge \ne \in \cup \cap \setminus \pm \mp \cdot \times / * ** + - % \% $ \$ $$ \( \) \[ \] "
        r"\sum_{n=1}^{9} \prod_{k=1}^{3} \int_0^1 \lim_{x\to0} \infty \pi e i x y n k a_1 0 1 2 9 10 999999 0.5 .5 1e9 "
        r"1e-9 10^{40} \sin \tan \ln \log_ \arcsin \gcd( \max( \lfloor \rfloor \binom \choose \over \mod \equiv "
        r"\approx "
        r"\circ ^\circ \angle \overline{ \hat \vec \mathbb{R} \emptyset \mid \forall \Rightarrow \to \ldots ... dx and "
        r"or is cm hours percent <think> </think> <answer> </answer> #### <|im_end|> answer:"
    ).split(),
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "\x0crac",
    "\x00",
    "\x1b[31m",
    "\u202e",
    "\u200b",
    "\u0301",
    "\ud800",
    "\udfff",
    "½",
    "²",
    "₂",
    "٣",
    "𝟙",
    "①",
    "−",
    "×",
    "√",
    "∞",
    "≤",
    "π",
    "Σ",
    "∫",
    "°",
    "′",
    "中",
    "🙂",
    "ﷺ",
    "Answer: ",
    "The answer is ",
    "A: ",
    ". ",
    "is ",
    " or ",
    "#",
    "\\",
    "^{",
    "_{",
]


def strings(count: int, seed: int) -> Iterator[str]:
    """Random strings of pieces, random characters, and mutations of ``SEEDS``."""
    generator = random.Random(seed)
    for _ in range(count):
        kind = generator.randrange(10)
        if kind == 0:
            yield "".join(chr(generator.randrange(0x3000)) for _ in range(generator.randrange(1, 30)))
        elif kind < 4:
            yield "".join(generator.choice(PIECES) for _ in range(generator.randrange(1, 25)))
        else:
            text = generator.choice(SEEDS)
            for _ in range(generator.randrange(1, 5)):
                text = _mutated(text, generator)
            yield text


def _mutated(text: str, generator: random.Random) -> str:
    begin = generator.randrange(len(text) + 1)
    end = min(len(text), begin + generator.randrange(1, 6))
    kind = generator.randrange(7)
    if kind == 0:
        return text[:begin] + text[end:]
    if kind == 1:
        return text[:begin] + text[begin:end] * generator.randrange(2, 9) + text[end:]
    if kind == 2:
        other = generator.choice(SEEDS)
        return text[:begin] + other[generator.randrange(len(other)) :]
    if kind == 3:
        return text[:begin] + generator.choice(SEEDS) + text[end:]
    if kind == 4:
        return text[:begin] + text[begin:end][::-1] + text[end:]
    return text[:begin] + generator.choice(PIECES) + text[begin if kind == 5 else end :]
