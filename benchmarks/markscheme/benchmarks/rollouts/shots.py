"""Worked examples for few-shot prompts: our own, of no data set."""

from __future__ import annotations

from typing import NamedTuple


class Shot(NamedTuple):
    """A question, and a solution that ends in its answer in a box."""

    question: str
    solution: str


WORD_PROBLEMS = (
    Shot(
        "A baker fills 6 trays with 8 rolls each. 5 rolls burn. How many good rolls are there?",
        "The trays hold 6 * 8 = 48 rolls. Without the burnt ones there are 48 - 5 = 43.\nThe answer is \\boxed{43}.",
    ),
    Shot(
        "Nadia has 20 euros. She buys 3 notebooks at 4 euros each. How many euros does she have left?",
        "The notebooks cost 3 * 4 = 12 euros. She has 20 - 12 = 8 euros left.\nThe answer is \\boxed{8}.",
    ),
    Shot(
        "A train has 9 coaches with 40 seats each, and a third of the seats are taken. How many seats are free?",
        "There are 9 * 40 = 360 seats. Of these 360 / 3 = 120 are taken, so 360 - 120 = 240 are free.\n"
        "The answer is \\boxed{240}.",
    ),
    Shot(
        "Two pumps move 15 and 10 litres a minute. How many minutes do they need together for 200 litres?",
        "Together they move 15 + 10 = 25 litres a minute. They need 200 / 25 = 8 minutes.\nThe answer is \\boxed{8}.",
    ),
)
MATHEMATICS = (
    Shot(
        "Solve $3x - 7 = 11$ for $x$.",
        "Adding 7 to both sides gives $3x = 18$, and so $x = 6$.\nThe answer is \\boxed{6}.",
    ),
    Shot(
        "What is the area of a right triangle with legs of length 5 and 12?",
        "The area is half the product of the legs: $\\frac{1}{2} \\cdot 5 \\cdot 12 = 30$.\nThe answer is \\boxed{30}.",
    ),
    Shot(
        "Two fair dice are thrown. What is the probability that they show the same number?",
        "Of the 36 outcomes 6 show the same number twice, so the probability is $\\frac{6}{36} = \\frac{1}{6}$.\n"
        "The answer is \\boxed{\\frac{1}{6}}.",
    ),
    Shot(
        "Factor $x^2 - 9$ over the integers.",
        "It is a difference of two squares: $x^2 - 3^2 = (x - 3)(x + 3)$.\nThe answer is \\boxed{(x-3)(x+3)}.",
    ),
)
SHOTS = {"gsm8k": WORD_PROBLEMS, "math500": MATHEMATICS}
"""The examples for each suite."""
