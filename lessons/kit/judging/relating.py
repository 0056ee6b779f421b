"""What a wrong answer has to do with the right one: the mistakes that any exercise can see.

A wrong result that is the right one with its sign turned, twice as large, or right for swapped arguments, says what
happened better than the distance between the two numbers does.
"""
import itertools
import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import torch

from lessons.kit.judging.comparing import difference, same
from lessons.kit.judging.telling import brief

_TRANSFORMED = (
    (lambda right: -right, "The sign is the other way round."),
    (lambda right: 1 - right, "Yours is 1 minus what is asked."),
    (lambda right: 1 + right, "Yours is 1 more than what is asked."),
    (lambda right: right - 1, "Yours is 1 less than what is asked."),
    (np.abs, "Yours has the right size without the sign."),
    (lambda right: np.clip(right, 0, None), "Yours is right where it is positive; what is negative was cut off at 0."),
    (lambda right: 1 / right, "Yours is 1 over what is asked."),
    (lambda right: 100 * right, "Yours is in per cent; asked for is a share."),
    (np.square, "Yours is the square of what is asked."),
    (np.sqrt, "Yours is the square root of what is asked."),
    (np.log, "Yours is the logarithm of what is asked."),
    (np.exp, "You took the exponential of what is asked."),
    (np.round, "Yours is the right number, rounded."),
    (np.floor, "Yours is the right number, rounded down."),
    (np.ceil, "Yours is the right number, rounded up."),
)

_ARGUMENTS = (
    (lambda value: 1 - value, "It would be right for 1 − {name} in place of {name}."),
    (lambda value: -value, "It would be right for −{name} in place of {name}."),
    (lambda value: value + 1, "It would be right for {name} + 1 in place of {name}: one too many?"),
    (lambda value: value - 1, "It would be right for {name} − 1 in place of {name}: one too few?"),
    (lambda value: 1 / value, "It would be right for 1/{name} in place of {name}."),
    (lambda value: value ** 2, "It would be right for {name}² in place of {name}."),
    (lambda value: value ** 0.5, "It would be right for √{name} in place of {name}."),
)

_FACTORS = {2: "twice", 0.5: "half", 3: "three times", 4: "four times", 0.25: "a quarter of"}


def relation(got: Sequence, right: Sequence, cases: Sequence[tuple], solution: Callable, names: list[str],
             tolerance: float) -> str:
    """A sentence that holds on all cases, or "".

    Args:
        got, right: one result a case.
        cases: the arguments of each.
        solution: what gives the right results.
        names: its parameters.
    """
    names = names[:min(map(len, cases))]  # parameters with a default are not always given
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about arguments that are tried here, which the learner never gave
            return (_of_shapes(got, right, tolerance) or _of_numbers(got, right, tolerance)
                    or _of_arguments(got, cases, solution, names, tolerance))
    except Exception:  # an answer can be any object, and fail at whatever is asked of it
        return ""


def _holds(got, others, tolerance):
    return all(same(a, b, tolerance) for a, b in zip(got, others))


# -- the right numbers in another shape -----------------------------------------------------------

def _of_shapes(got, right, tolerance):
    if not all(isinstance(one, torch.Tensor) for one in (*got, *right)):
        return ""
    for reshape, says in _SHAPES:
        try:
            if _holds([reshape(one) for one in got], right, tolerance):
                return says
        except (RuntimeError, IndexError):  # too few dimensions for this one
            continue
    return _by_reduction(got, right, tolerance)


def _inverse(permutation):
    """The inverse of a permutation; of anything else something that equals nothing."""
    if permutation.is_floating_point() or permutation.sort().values.tolist() != list(range(len(permutation))):
        return permutation.new_empty(0)
    return permutation.argsort()


_SHAPES = (
    (_inverse, "That is the inverse permutation: it says where each one goes, asked is who comes."),
    (lambda one: one.squeeze(), "The right numbers, in a shape with a dimension of length 1 too many."),
    (lambda one: one.transpose(-1, -2), "The right numbers, transposed: rows and columns are exchanged."),
    (lambda one: one.flip(0), "The right numbers in the opposite order."),
    (lambda one: one.roll(1, 0), "The right numbers, each one place too early."),
    (lambda one: one.roll(-1, 0), "The right numbers, each one place too late."),
)


def _by_reduction(got, right, tolerance):
    """Where one of the two is the other's mean or sum over a dimension."""
    apart = got[0].ndim - right[0].ndim
    if abs(apart) != 1:
        return ""
    for reduce, word in ((torch.mean, "average"), (torch.sum, "sum")):
        for dim in range(max(got[0].ndim, right[0].ndim)):
            if apart == 1 and _holds([reduce(one.double(), dim) for one in got], right, tolerance):
                return f"Nearly there: {word} over dimension {dim}."
            if apart == -1 and _holds(got, [reduce(one.double(), dim) for one in right], tolerance):
                return f"The right numbers, but one {word} too far: keep dimension {dim} of the result."
    return ""


# -- one number from the other -----------------------------------------------------------------------

def _of_numbers(got, right, tolerance):
    got, right = _flat(got), _flat(right)
    if got is None or right is None or [len(one) for one in got] != [len(one) for one in right]:
        return ""
    yours, asked = np.concatenate(got), np.concatenate(right)
    if not np.isfinite(yours).all() or not len(asked) or not asked.any():
        return ""
    if len(asked) > len(right) and _close(yours, asked, tolerance / 10):  # one number can only be packed in one way
        return "The right numbers, but not put together as asked."
    for transform, says in _TRANSFORMED:
        if _close(yours, transform(asked), tolerance) and not _close(yours, asked, tolerance):
            return says
    return (_by_a_factor(yours, asked, tolerance) or _by_a_step(yours, asked, tolerance)
            or _by_digits(yours, asked, tolerance) or _by_a_factor_a_case(got, right, tolerance)
            or _by_order(got, right, tolerance))


def _flat(results):
    """All numbers of every result, as one float64 array each; None where there are others than numbers."""
    arrays = [_numbers(one) for one in results]
    return None if any(array is None for array in arrays) else arrays


def _numbers(value):
    if isinstance(value, dict):
        return _joined(value.values())
    if isinstance(value, (list, tuple)):
        return _joined(value)
    try:
        array = np.asarray(value.detach() if isinstance(value, torch.Tensor) else value)
    except Exception:  # no array can be made of it
        return None
    return array.astype(float).ravel() if array.dtype.kind in "iuf" else None


def _joined(values):
    parts = [_numbers(one) for one in values]
    if not parts or any(part is None for part in parts):
        return None
    return np.concatenate(parts)


def _close(a, b, tolerance):
    return a.shape == b.shape and np.allclose(a, b, rtol=10 * tolerance, atol=10 * tolerance)


def _by_a_factor(yours, asked, tolerance):
    ratios = yours[asked != 0] / asked[asked != 0]
    factor = ratios[0]
    if not _close(yours, factor * asked, tolerance) or math.isclose(factor, 1, rel_tol=1e-3) or factor == 0:
        return ""
    if len(set(np.round(asked[asked != 0], 9))) == 1 and factor not in _FACTORS:
        return ""  # one number is always some multiple of another
    return f"Yours is {_FACTORS.get(round(factor, 6), f'{brief(float(factor))} times')} what is asked."


def _by_a_step(yours, asked, tolerance):
    step = yours[0] - asked[0]
    if len(set(np.round(asked, 9))) == 1 or not _close(yours - asked, np.full_like(asked, step), tolerance):
        return ""
    return "" if math.isclose(step, 0, abs_tol=1e-3) else f"Yours is larger by {brief(float(step))} everywhere."


def _by_digits(yours, asked, tolerance):
    apart = (np.abs(yours - asked) / np.abs(asked).clip(1e-3 * np.abs(asked).max())).max()
    if not tolerance < apart < 2e-4:  # closer numbers are right, and something else is wrong
        return ""
    return (f"Right to about {-math.floor(math.log10(apart))} digits. More are asked for: "
            "is there a small number that is added somewhere (eps), float32 or float16, or a derivative by finite "
            "steps?")


def _by_a_factor_a_case(got, right, tolerance):
    factors = []
    for yours, asked in zip(got, right):
        if len(asked) < 2 or not asked.all():
            return ""
        factors.append(float(yours[0] / asked[0]))
        if factors[-1] == 0 or not _close(yours, factors[-1] * asked, tolerance):
            return ""
    if len(factors) < 2:
        return ""
    return (f"On every input yours is a multiple of what is asked, but not always the same one: "
            f"{', '.join(brief(factor) for factor in factors[:4])}. What has these values there?")


def _by_order(got, right, tolerance):
    long = [asked for asked in right if len(set(asked)) > 1]
    if not long or not all(_close(np.sort(a), np.sort(b), tolerance) for a, b in zip(got, right)):
        return ""
    return "The right numbers in another order."


# -- right for other arguments ---------------------------------------------------------------------

def _of_arguments(got, cases, solution, names, tolerance):
    for i, j in itertools.combinations(range(len(names)), 2):
        def exchanged(case, i=i, j=j):
            case = list(case)
            case[i], case[j] = case[j], case[i]
            return case
        if _right_for(got, [exchanged(case) for case in cases], cases, solution, tolerance):
            return f"It would be right if {names[i]} and {names[j]} changed places."
    for i, name in enumerate(names):
        if not all(type(case[i]) in (int, float) for case in cases):
            continue
        for change, says in _ARGUMENTS:
            if _right_for(got, [_changed(case, i, change) for case in cases], cases, solution, tolerance):
                return says.format(name=name)
    return ""


def _changed(case, i, change):
    try:
        value = change(case[i])
    except (ZeroDivisionError, OverflowError):
        return None
    return [*case[:i], value, *case[i + 1:]]


def _right_for(got, others, cases, solution, tolerance):
    """Whether the results are the right ones for these other arguments, which differ on at least one case."""
    if any(other is None for other in others):
        return False
    for result, other in zip(got, others):
        try:
            right = solution(*other)
        except Exception:  # the solution has its own conditions; then this is not what happened
            return False
        if difference(result, right, tolerance):
            return False
    return True
