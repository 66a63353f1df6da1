"""The templates: sentences with numbers to draw, the plans that solve them, and a demonstration of each."""

from __future__ import annotations

from dataclasses import dataclass, field

NAMES = (
    "Ada Amir Anna Ben Bilal Carla Chen Clara Dana David Elif Emma Farid Felix Grace Hana "
    "Hugo Ines Ivan Jack Jana Kofi Lena Liam Lucia Marco Maya Mei Nadia Noah Olga Omar "
    "Paula Priya Quinn Rosa Ruth Sam Sara Tariq Tom Uma Vera Wei Yara Zoe"
).split()
THINGS = (
    "apples pears plums lemons oranges eggs cookies muffins rolls candles pencils pens markers stickers stamps marbles "
    "beads buttons shells stones books cards coins tickets balloons bricks bolts nails screws cups plates spoons"
).split()


@dataclass(frozen=True)
class Template:
    """One kind of problem.

    Attributes:
        name: of the template.
        text: the question; ``{name}``, ``{other}``, ``{things}`` and the numbers' letters are filled in.
        plans: every way to solve it, such as ``a*b; 1-c``; the demonstration follows the first.
        says: the demonstration's lines; ``{1}`` and ``{2}`` are the equations of the steps.
        ranges: the least and the greatest of each number; (2, 12) for those not named.
    """

    name: str
    text: str
    plans: tuple[str, ...]
    says: tuple[str, ...]
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)


_SUM, _LARGE = (3, 60), (20, 99)

TRAINING = (
    Template(
        "boxes",
        "{name} has {a} boxes with {b} {things} in each box. How many {things} does {name} have?",
        ("a*b",),
        ("The boxes hold {1} {things}.",),
    ),
    Template(
        "finds",
        "{name} had {a} {things} and found {b} more. How many {things} does {name} have now?",
        ("a+b",),
        ("{name} has {1} {things} now.",),
        {"a": _SUM, "b": _SUM},
    ),
    Template(
        "gives",
        "{name} had {a} {things} and gave {b} of them to {other}. How many {things} does {name} have left?",
        ("a-b",),
        ("{name} has {1} {things} left.",),
        {"a": _LARGE, "b": _SUM},
    ),
    Template(
        "shares",
        "{name} shares {a} {things} equally among {b} children. How many {things} does each child get?",
        ("a/b",),
        ("Each child gets {1} {things}.",),
        {"a": (6, 96)},
    ),
    Template(
        "price",
        "One ticket costs {a} dollars. How many dollars do {b} tickets cost?",
        ("a*b",),
        ("The tickets cost {1} dollars.",),
        {"a": (3, 25)},
    ),
    Template(
        "boxes_lost",
        "{name} has {a} boxes with {b} {things} in each box. Then {name} loses {c} {things}. "
        "How many {things} are left?",
        ("a*b; 1-c",),
        ("The boxes hold {1} {things}.", "There are {2} {things} left."),
        {"c": (2, 30)},
    ),
    Template(
        "boxes_more",
        "A shop has {a} shelves with {b} {things} on each shelf and {c} {things} in the window. "
        "How many {things} are there?",
        ("a*b; 1+c",),
        ("The shelves hold {1} {things}.", "There are {2} {things}."),
        {"c": (2, 40)},
    ),
    Template(
        "two_gains",
        "{name} had {a} {things}. {other} gave {name} {b} more, and then {name} bought {c} more. "
        "How many {things} does {name} have?",
        ("a+b; 1+c", "b+c; a+1", "a+c; 1+b"),
        ("With those from {other} there are {1} {things}.", "{name} has {2} {things}."),
        {"a": _SUM, "b": _SUM, "c": _SUM},
    ),
    Template(
        "two_losses",
        "{name} had {a} {things}, sold {b} of them in the morning and {c} in the afternoon. "
        "How many {things} were left?",
        ("a-b; 1-c", "b+c; a-1", "a-c; 1-b"),
        ("After the morning there were {1} {things}.", "There were {2} {things} left."),
        {"a": (40, 99), "b": (2, 25), "c": (2, 25)},
    ),
    Template(
        "pooled_shared",
        "{name} has {a} {things} and {other} has {b}. They put them together and share them equally among {c} friends. "
        "How many {things} does each friend get?",
        ("a+b; 1/c",),
        ("Together there are {1} {things}.", "Each friend gets {2} {things}."),
        {"a": _SUM, "b": _SUM, "c": (2, 9)},
    ),
    Template(
        "change",
        "{name} buys {a} notebooks for {b} dollars each and pays with {c} dollars. "
        "How many dollars does {name} get back?",
        ("a*b; c-1",),
        ("The notebooks cost {1} dollars.", "{name} gets {2} dollars back."),
        {"c": (20, 150)},
    ),
    Template(
        "weeks",
        "{name} reads {a} pages in the morning and {b} pages in the evening of every day. "
        "How many pages does {name} read in {c} days?",
        ("a+b; 1*c",),
        ("{name} reads {1} pages a day.", "That makes {2} pages."),
        {"a": (3, 20), "b": (3, 20)},
    ),
    Template(
        "packs",
        "{name} has {a} {things}, keeps {b} and puts the rest into bags of {c}. How many bags does {name} fill?",
        ("a-b; 1/c",),
        ("{name} puts away {1} {things}.", "{name} fills {2} bags."),
        {"a": (20, 99), "b": (2, 20), "c": (2, 9)},
    ),
    Template(
        "crates",
        "A truck carries {a} crates. Each crate holds {b} bags and each bag holds {c} {things}. "
        "How many {things} does the truck carry?",
        ("a*b; 1*c", "b*c; a*1", "a*c; 1*b"),
        ("There are {1} bags.", "The truck carries {2} {things}."),
        {"a": (2, 9), "b": (2, 9), "c": (2, 9)},
    ),
)

HELD_OUT = (
    Template(
        "rows",
        "The seats of a hall stand in {a} rows of {b}. How many seats does the hall have?",
        ("a*b",),
        ("The hall has {1} seats.",),
    ),
    Template(
        "older",
        "{name} is {a} years old. {other} is {b} years older than {name}. How old is {other}?",
        ("a+b",),
        ("{other} is {1} years old.",),
        {"a": (3, 50), "b": (2, 30)},
    ),
    Template(
        "garden",
        "{name} plants {a} rows of {b} tulips. Rabbits eat {c} of the tulips. How many tulips remain?",
        ("a*b; 1-c",),
        ("There are {1} tulips.", "{2} tulips remain."),
        {"c": (2, 30)},
    ),
    Template(
        "wages",
        "{name} earns {a} dollars an hour and works {b} hours. After paying {c} dollars for the bus, "
        "how many dollars does {name} keep?",
        ("a*b; 1-c",),
        ("{name} earns {1} dollars.", "{name} keeps {2} dollars."),
        {"a": (6, 20), "c": (2, 15)},
    ),
    Template(
        "bus",
        "There are {a} people on a bus. At a stop {b} people get off and {c} people get on. "
        "How many people are on the bus then?",
        ("a-b; 1+c", "a+c; 1-b"),
        ("After those who got off there are {1} people.", "There are {2} people."),
        {"a": (20, 60), "b": (2, 19), "c": (2, 30)},
    ),
    Template(
        "teams",
        "A school has {a} girls and {b} boys who want to play. Each team needs {c} players. "
        "How many teams can they make?",
        ("a+b; 1/c",),
        ("There are {1} players.", "They make {2} teams."),
        {"a": _SUM, "b": _SUM, "c": (3, 9)},
    ),
)
"""Never trained on."""
