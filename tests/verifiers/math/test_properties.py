"""Metamorphic probes: what must never change a verdict, and what always must."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

import profiles  # noqa: F401 - loads the profile
import strategies as our
from markscheme.verifiers import MathVerifier, Outcome, Verdict

VERIFIER = MathVerifier()


def judge(answer: str, gold: str) -> Verdict:
    return VERIFIER.verify_answer(answer, gold)


def equal(answer: str, gold: str) -> bool:
    verdict = judge(answer, gold)
    assert verdict.outcome in (Outcome.CORRECT, Outcome.INCORRECT), (answer, gold, verdict)
    return verdict.outcome is Outcome.CORRECT


def both(one: str, two: str) -> bool:
    """Equal, asked both ways round: the two must agree."""
    result = equal(one, two)
    assert equal(two, one) is result, f"not symmetric: {one!r}, {two!r}"
    return result


# The relation itself ---------------------------------------------------------------------------------------------


@given(our.answers())
def test_reflexive(text: str) -> None:
    assert equal(text, text)


@given(our.answers(), our.answers())
def test_symmetric(one: str, two: str) -> None:
    assert judge(one, two).outcome is judge(two, one).outcome


@given(our.answers(), our.answers())
def test_deterministic(one: str, two: str) -> None:
    first, again = (MathVerifier().verify_answer(one, two).model_copy(update={"seconds": 0.0}) for _ in range(2))
    assert first == again


@given(st.lists(our.numbers(), min_size=3, max_size=3))
def test_transitive_on_numbers(three: list[our.Written]) -> None:
    a, b, c = (number.text for number in three)
    if both(a, b) and both(b, c):
        assert both(a, c)


@given(st.data(), our.fractions)
def test_three_forms_of_a_value_are_one_class(data: st.DataObject, value: Fraction) -> None:
    a, b, c = (data.draw(our.forms(value)) for _ in range(3))
    assert both(a, b)
    assert both(b, c)
    assert both(a, c)


# What does not count ---------------------------------------------------------------------------------------------


@given(our.answers(), st.data())
def test_spacing_does_not_count(text: str, data: st.DataObject) -> None:
    assert both(data.draw(our.spaced(text)), text)


@given(our.answers(), st.sampled_from(our.WRAPPERS))
def test_wrapping_does_not_count(text: str, wrapper: str) -> None:
    assert both(wrapper.format(text), text)


@given(our.answers())
def test_left_and_right_do_not_count(text: str) -> None:
    assert both(our.with_left_right(text), text)


@given(our.words, st.sampled_from(our.DRESSES))
def test_the_dress_of_words_does_not_count(word: str, dress: str) -> None:
    assert both(dress.format(word), word)
    assert both(dress.format(word.upper()), rf"\text{{{word}}}")


@given(our.answers(), st.sampled_from([r"We find $\boxed{{{}}}$.", r"\boxed{{{}}}", "<answer>{}</answer>", "#### {}"]))
def test_a_completion_is_judged_as_its_answer(text: str, sentence: str) -> None:
    assert VERIFIER.verify(sentence.format(text), text).outcome is Outcome.CORRECT


@given(our.numbers(), st.data())
def test_number_form_does_not_count(number: our.Written, data: st.DataObject) -> None:
    assert both(data.draw(our.forms(number.value)), number.text)


@given(our.lists, st.randoms(use_true_random=False))
def test_order_of_lists_and_sets_does_not_count(values: list[Fraction], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert both(our.bare_list(shuffled), our.bare_list(values))
    assert both(our.set_of(shuffled), our.set_of(values))
    assert both(our.set_of(shuffled), our.bare_list(values))
    assert both(" or ".join(map(our.plain, shuffled)), our.bare_list(values))


@given(our.intervals(), st.sampled_from("xyt"))
def test_interval_is_inequality(span: our.Span, name: str) -> None:
    assert both(span.inequality(name), span.brackets)
    assert both(span.falling(name), span.brackets)
    assert both(span.inequality(name), span.falling(name))
    assert both(rf"{name} \in {span.brackets}", span.inequality(name))
    assert both(rf"\{{{name} \mid {span.inequality(name)}\}}", span.brackets)


@given(our.numbers(), st.sampled_from(["x", "n", "f(2)", "m+n", "|AB|", "P(A)", r"\theta", "a_1"]))
def test_a_label_does_not_count(number: our.Written, label: str) -> None:
    assert both(f"{label} = {number.text}", number.text)


@given(our.SMALL, our.units)
def test_a_unit_may_be_left_out(value: int, unit: str) -> None:
    assert both(rf"{value}\text{{ {unit}}}", str(value))


@given(our.fractions)
def test_percent_is_a_hundredth(value: Fraction) -> None:
    percent = our.plain(value) + r"\%"
    assert both(percent, our.plain(value / 100))
    assert equal(our.plain(value), percent)
    assert equal(percent, our.plain(value)) is (value == 0)


# What always counts ----------------------------------------------------------------------------------------------


@given(our.numbers(), our.numbers())
def test_numbers_are_judged_by_value(one: our.Written, two: our.Written) -> None:
    assert both(one.text, two.text) is (one.value == two.value)


@given(st.one_of(our.decimals(), our.numbers()), st.data())
def test_a_changed_digit_counts(number: our.Written, data: st.DataObject) -> None:
    text = our.finite_decimal(number.value)
    assume(text is not None and text.strip("-0.") != "")
    assert text is not None
    place = data.draw(st.sampled_from([n for n, char in enumerate(text) if char.isdigit()]))
    digit = data.draw(st.sampled_from([d for d in "0123456789" if d != text[place]]))
    assert not both(text[:place] + digit + text[place + 1 :], number.text)


@given(our.numbers())
def test_a_changed_sign_counts(number: our.Written) -> None:
    assume(number.value != 0)
    assert not both(our.plain(-number.value), number.text)


@given(our.fractions)
def test_an_inverted_fraction_counts(value: Fraction) -> None:
    assume(abs(value) not in (0, 1))
    assert not both(our.plain(1 / value), our.plain(value))


@given(our.numbers(), st.integers(7, 30))
def test_a_close_value_counts(number: our.Written, places: int) -> None:
    assert not both(our.plain(number.value + Fraction(1, 10**places)), number.text)


@given(our.intervals(), st.booleans(), st.booleans())
def test_a_changed_bracket_counts(span: our.Span, flip_low: bool, flip_high: bool) -> None:  # noqa: FBT001
    other = our.Span(span.low, span.high, span.low_closed ^ flip_low, span.high_closed ^ flip_high)
    assert both(other.brackets, span.brackets) is (other == span)
    assert both(other.inequality(), span.brackets) is (other == span)


@given(our.intervals(), our.nonzero)
def test_a_changed_end_counts(span: our.Span, step: int) -> None:
    other = our.Span(span.low, span.high + abs(step), span.low_closed, span.high_closed)
    assert not both(other.brackets, span.brackets)
    assert not both(other.inequality(), span.brackets)
    assert not both(other.falling(), span.inequality())


@given(our.lists, st.data())
def test_a_changed_element_counts(values: list[Fraction], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(values) - 1))
    changed = list(values)
    changed[place] += data.draw(our.nonzero)
    for write in (our.tuple_of, our.set_of, our.bare_list):
        if write is our.tuple_of or sorted(set(changed)) != sorted(values):
            assert not both(write(changed), write(values))


@given(our.lists, our.fractions)
def test_a_missing_or_extra_element_counts(values: list[Fraction], extra: Fraction) -> None:
    assume(extra not in values)
    for write in (our.tuple_of, our.set_of, our.bare_list):
        assert not both(write(values[:-1]), write(values))
        assert not both(write([*values, extra]), write(values))


@given(our.lists, st.permutations(range(5)))
def test_the_order_of_a_tuple_counts(values: list[Fraction], order: list[int]) -> None:
    shuffled = [values[n] for n in order if n < len(values)]
    assert both(our.tuple_of(shuffled), our.tuple_of(values)) is (shuffled == values)
    assert both(our.bare_list(shuffled), our.tuple_of(values)) is (shuffled == values)


@given(our.SMALL, our.units, our.units)
def test_a_changed_unit_counts(value: int, one: str, two: str) -> None:
    assume(value != 0)
    assert both(rf"{value}\text{{ {one}}}", rf"{value}\text{{ {two}}}") is (one == two)


@given(our.words, our.words)
def test_another_word_counts(one: str, two: str) -> None:
    assert both(rf"\text{{{one}}}", two) is (one == two)


@given(our.numbers(), st.sampled_from("xkr"), st.integers(1, 5))
def test_a_letter_is_never_ignored(number: our.Written, letter: str, power: int) -> None:
    assume(number.value != 0)
    assert judge(rf"{our.plain(number.value)}{letter}^{{{power}}}", number.text).outcome is Outcome.INCORRECT


@given(our.numbers(), our.numbers())
def test_a_claim_must_hold(one: our.Written, two: our.Written) -> None:
    assert equal(f"{one.text} = {two.text}", two.text) is (one.value == two.value)


@given(our.numbers(), our.numbers())
def test_a_hedge_is_no_answer(one: our.Written, two: our.Written) -> None:
    assume(one.value != two.value)
    for hedge in ("{}, {}", "{} or {}", r"{} \text{{ or }} {}", "{} and {}"):
        assert not equal(hedge.format(our.plain(one.value), our.plain(two.value)), two.text)


# Against plain arithmetic ----------------------------------------------------------------------------------------


@given(our.arithmetic)
def test_arithmetic_has_its_value(written: our.Written) -> None:
    assume(len(str(written.value)) < 400)
    assert both(written.text, our.plain(written.value))


@given(our.arithmetic, our.arithmetic)
def test_arithmetic_is_judged_as_fractions_are(one: our.Written, two: our.Written) -> None:
    assert both(one.text, two.text) is (one.value == two.value)


@given(our.arithmetic, st.integers(1, 40))
def test_arithmetic_is_exact(written: our.Written, places: int) -> None:
    assert not both(f"{written.text}+10^{{-{places}}}", our.plain(written.value))


@given(our.factored(), st.booleans(), st.sampled_from("xyt"))
def test_a_factored_polynomial_is_its_expansion(case: tuple[str, our.Polynomial], rising: bool, name: str) -> None:  # noqa: FBT001
    text, product = case
    text = text.replace("x", name)
    assert both(text, our.expanded(product, name, rising=rising))


@given(our.factored(), our.nonzero, st.data())
def test_a_changed_coefficient_counts(case: tuple[str, our.Polynomial], step: int, data: st.DataObject) -> None:
    text, product = case
    place = data.draw(st.integers(0, len(product) - 1))
    changed = tuple(value + step * (n == place) for n, value in enumerate(product))
    assert not both(our.expanded(changed), text)


@given(our.factored(), our.factored())
def test_polynomials_are_judged_by_their_coefficients(
    one: tuple[str, our.Polynomial], two: tuple[str, our.Polynomial]
) -> None:
    assert both(one[0], two[0]) is (one[1] == two[1])


@given(our.factored())
def test_another_variable_counts(case: tuple[str, our.Polynomial]) -> None:
    text, product = case
    assume(any(product[1:]))
    assert not both(text.replace("x", "y"), text)


@given(our.line_equations(), our.nonzero)
def test_equations_are_equal_up_to_a_factor(abc: tuple[int, int, int], factor: int) -> None:
    a, b, c = abc
    assert both(our.line(a * factor, b * factor, c * factor), our.line(a, b, c))
    assert both(f"{a}x{b:+d}y{-c:+d}=0", our.line(a, b, c))
    assert both(f"{c}={b}y{a:+d}x", our.line(a, b, c))


@given(our.line_equations(), our.line_equations())
def test_equations_are_judged_by_their_coefficients(one: tuple[int, int, int], two: tuple[int, int, int]) -> None:
    parallel = all(one[i] * two[j] == one[j] * two[i] for i in range(3) for j in range(3))
    assert both(our.line(*one), our.line(*two)) is parallel


@given(our.line_equations())
def test_a_solved_equation_is_the_equation(abc: tuple[int, int, int]) -> None:
    a, b, c = abc
    slope, start = Fraction(-a, b), Fraction(c, b)
    solved = our.expanded((start, slope))
    assert both(f"y={solved}", our.line(a, b, c))
    assert not both(f"y={our.expanded((start, -slope))}", our.line(a, b, c))


@given(our.nonzero, our.nonzero, our.nonzero)
def test_ratios_are_judged_by_cross_products(a: int, b: int, factor: int) -> None:
    a, b = abs(a), abs(b)
    assume(b * abs(factor) < 1000)
    ratio = f"{a} : {b}"
    scaled = f"{a * abs(factor)}:{b * abs(factor)}"
    assert judge(scaled, ratio).outcome in (Outcome.CORRECT, Outcome.UNDECIDED)  # 2:15 and 8:60 may be times of day
    assert both(our.plain(Fraction(a, b)), ratio)
    if a != b:
        assert judge(f"{b}:{a}", ratio).outcome is not Outcome.CORRECT


@given(st.integers(0, 9999), st.integers(2, 9), st.integers(2, 10))
def test_based_numbers_are_judged_by_value(value: int, base: int, other: int) -> None:
    assume(base != other)
    one, two = (f"{_digits(value, n)}_{{{n}}}" for n in (base, other))
    assert both(one, two)
    assert not both(f"{_digits(value + 1, base)}_{{{base}}}", two)
    assert equal(_digits(value, base), one)
    assert equal(one, str(value)) is False


def _digits(value: int, base: int) -> str:
    digits = ""
    while value or not digits:
        value, digit = divmod(value, base)
        digits = str(digit) + digits
    return digits
