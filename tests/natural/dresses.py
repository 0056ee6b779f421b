"""Right answers in other types than the library's, as learners give them, and what a notebook's next cells get of them.

A chapter's test runs the cells that use an answer again with `in_another_dress`, which notes what they give it. On that
`problems` then tries every right answer of the chapter in every dress.
"""
import copy
import importlib
from collections import defaultdict

import numpy as np
import torch
import xarray

from lessons.kit.exercise import Exercise, check, find
from lessons.kit.judging import dressing, running
from lessons.kit.judging.comparing import difference
from lessons.kit.judging.telling import size

CALLS = 6  # of each answer that are noted: those whose arguments have other shapes than any before
LARGE = 20_000  # numbers

def each(change):
    """The change, made to every tensor and number inside a result."""
    def inside(value):
        if isinstance(value, dict):
            return {key: inside(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(inside, value))
        return change(value) if isinstance(value, (torch.Tensor, float)) else value
    return inside


def with_graph(value):
    tensor = torch.as_tensor(value)
    return tensor.clone().requires_grad_() if tensor.is_floating_point() else value


def listed(value):
    return value.tolist() if isinstance(value, torch.Tensor) else value


def backwards(value):
    return dict(reversed(value.items())) if isinstance(value, dict) else value


def where_small(change):
    """The change, or arrays where the result holds many numbers: lists of millions take minutes."""
    return lambda value: (change if size(value) <= LARGE else each(np.asarray))(value)


DRESSES = {
    "arrays": each(np.asarray),
    "lists": where_small(each(listed)),
    "nested lists": where_small(lambda value: each(listed)(list(value) if isinstance(value, tuple) else value)),
    "tuples for lists": lambda value: tuple(value) if isinstance(value, list) else value,
    "lists for tensors' rows": where_small(each(lambda value: list(value) if isinstance(value, torch.Tensor)
                                                and value.ndim else value)),
    "tensors for numbers": each(torch.as_tensor),
    "xarrays": each(lambda value: xarray.DataArray(np.asarray(value))),
    "a graph": each(with_graph),
    "parameters": each(lambda value: torch.nn.Parameter(with_graph(value))
                       if torch.as_tensor(value).is_floating_point() else value),
    "float64": each(lambda value: torch.as_tensor(value).double()),
    "numpy's numbers": each(lambda value: np.float64(value) if isinstance(value, float) else value),
    "keys in another order": backwards,
}


def like(got, right) -> bool:
    """Whether a result is what the library gives in type, dtype, shape, keys and graph."""
    if isinstance(right, torch.Tensor):
        return (type(got) is torch.Tensor and got.dtype == right.dtype and got.shape == right.shape
                and got.requires_grad == right.requires_grad)
    if isinstance(right, dict):
        return isinstance(got, dict) and got.keys() == right.keys() and all(like(got[key], right[key]) for key in right)
    if isinstance(right, (list, tuple)):
        return type(got) is type(right) and len(got) == len(right) and all(map(like, got, right))
    return type(got) is type(right)


def in_another_dress(id):
    """The library's answer in other types, the first of these in which it is right; else as the library has it. What a
    notebook's cells give it is noted."""
    right = find(id).solution
    for name in ("nested lists", "arrays", "a graph"):
        answer = _noted(id, _changed(right, DRESSES[name])) if callable(right) else DRESSES[name](right)
        if check(id, answer).passed:
            return answer
    return _noted(id, right) if callable(right) else right


_given = defaultdict(dict)  # an exercise's id -> {shapes: (arguments, named arguments)} of a notebook's cells


def _noted(id, function):
    def inside(*arguments, **named):
        shapes = str([_shapes(one) for one in (*arguments, *named.values())])
        if not running._copies and shapes not in _given[id] and len(_given[id]) < CALLS:  # else the check calls
            _given[id][shapes] = copy.deepcopy((arguments, named))
        return function(*arguments, **named)
    return inside


def _shapes(value):
    if isinstance(value, dict):
        return {key: _shapes(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shapes(one) for one in value]
    return tuple(getattr(value, "shape", ())), str(getattr(value, "dtype", type(value).__name__))


def _changed(function, change):
    return lambda *arguments, **named: change(function(*arguments, **named))


def problems(number: str) -> tuple[int, list[str]]:
    """(how many results of right answers of this chapter were looked at, what was wrong with what the next cell got):
    of every answer in every dress in which it passes, on what the notebook's cells gave."""
    count, found = 0, []
    answers = importlib.import_module(f"tests.natural.chapter_{number}").RIGHT
    for id, noted in _given.items():
        exercise, right = find(id), find(id).solution
        dress = dressing.of_function(exercise)
        cases, calls = [(case, {}) for case in exercise.cases()], list(noted.values())
        expected = _results(right, cases), _results(right, calls)
        for one in [one for one in answers if one.id == id]:
            told, (of_cases, of_calls) = [], (_results(one.answer, cases), _results(one.answer, calls))
            for name, change in {"its own": lambda value: value, **DRESSES}.items():
                if not all(_passes(exercise, change, got, asked) for got, asked in zip(of_cases, expected[0])):
                    continue
                for (arguments, named), result, asked in zip(calls, of_calls, expected[1]):
                    count += 1
                    given = dressing.wrapped(_giving(result, change), dress, right, told.append)
                    got = given(*copy.deepcopy(arguments), **named)
                    if not like(got, asked) or difference(_worth(exercise, got, arguments),
                                                         _worth(exercise, asked, arguments), 1e-3):
                        found.append(f"{id} {one.what}, dress {name}: {got!r:.200} for {asked!r:.200}")
            if bool(told) != bool(one.says) or not all(one.says in line for line in told):
                found.append(f"{id} {one.what}: told is {told[:2]}, not {one.says!r}")
    return count, found


def _results(function, calls):
    """What a function gives on each call: a value, or the exception with which it stops."""
    found = []
    for arguments, named in calls:
        try:
            found.append(function(*copy.deepcopy(arguments), **named))
        except Exception as error:  # right on the exercise's cases alone
            found.append(error)
    return found


def _giving(result, change):
    """A function that gives this result, or stops with it, whatever it is called with."""
    def inside(*_, **__):
        if isinstance(result, Exception):
            raise result
        return change(result)
    return inside


def _passes(exercise: Exercise, change, result, asked):
    try:
        return not difference(_seen(exercise, change(result)), _seen(exercise, asked), exercise.tolerance)
    except Exception:  # a dress that the exercise's own `seen_as` refuses
        return False


def _seen(exercise, result):
    return exercise.seen_as(result) if exercise.seen_as else result


def _worth(exercise, result, arguments):
    """What is compared of a result on what a cell gave: of a function, what it gives near the last argument."""
    if callable(result):
        return [result(arguments[-1] + step) for step in (0.0, 0.1)]
    return _seen(exercise, result)
