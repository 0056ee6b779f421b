"""Whatever right answer is given, `mine` gives what the library's function gives: the next cell needs no other type."""
import copy

import numpy as np
import pytest
import torch

from lessons.kit.exercise import exercises, mine
from lessons.kit.judging import dressing
from tests.natural import answers
from tests.natural.dresses import DRESSES, each, like, listed

ALL = list(exercises().values())
FUNCTIONS = [one for one in ALL if callable(one.solution)]
NATURAL = [answer for of_chapter in answers().values() for answer in of_chapter.RIGHT]


def holds_for(exercise, given):
    """That what `mine` gave for a right answer is like the library's on every case."""
    assert given is not exercise.solution
    for case in exercise.cases():
        right = exercise.solution(*copy.deepcopy(case))
        assert like(given(*copy.deepcopy(case)), right), (exercise.id, right)


@pytest.mark.slow  # every exercise in a dozen dresses, each tried on every case
@pytest.mark.parametrize("one", FUNCTIONS, ids=lambda one: one.id)
def test_the_right_function_in_any_dress_that_passes_gives_what_the_librarys_gives(one):
    passed = []
    for name, dress in DRESSES.items():
        def answer(*arguments, dress=dress):
            return dress(one.solution(*arguments))
        given = mine(one.id, answer)
        if given is not one.solution:  # the check passes it
            passed.append(name)
            holds_for(one, given)
    assert {"keys in another order", "a graph", "float64"} & set(passed)


@pytest.mark.slow  # every right answer of tests/natural, each tried on every case
@pytest.mark.parametrize("answer", NATURAL, ids=lambda one: f"{one.id} {one.what}")
def test_a_natural_right_answer_gives_what_the_librarys_function_gives(answer):
    one = exercises()[answer.id]
    if callable(one.solution):
        holds_for(one, mine(one.id, answer.answer))
    else:
        assert like(mine(one.id, answer.answer), one.solution)


QUICK = {
    "0.1 arrays": ("0.1", lambda a, b, alpha: alpha * np.asarray(a) + (1 - alpha) * np.asarray(b)),
    "0.1 lists": ("0.1", lambda a, b, alpha: (alpha * a + (1 - alpha) * b).tolist()),
    "1.1 arrays": ("1.1", lambda a, b, alpha: {
        key: (alpha * a[key] + (1 - alpha) * b[key] if a[key].is_floating_point() else a[key]).numpy() for key in b}),
    "1.2 a graph": ("1.2", lambda losses, alphas: (
        losses.clone().requires_grad_() - alphas * losses[-1] - (1 - alphas) * losses[0]).max()),
    "2.6 by quotients": ("2.6", lambda images, size: (images / size - -(-images // size) + 1) * size),
    "4.3 a list": ("4.3", lambda lams: [1 - sum(lams), *lams]),
    "6.2 a list": ("6.2", lambda gradients, alpha: [alpha * sum(gradients) - one for one in gradients]),
}


@pytest.mark.parametrize("id, answer", QUICK.values(), ids=QUICK)
def test_mine_gives_what_the_librarys_function_gives(id, answer):
    holds_for(exercises()[id], mine(id, answer))


def test_the_dtype_follows_the_arguments_as_the_librarys_does():
    """The cases are in float32, a network may be in float64."""
    given = mine("0.1", lambda a, b, alpha: (alpha * a + (1 - alpha) * b).tolist())
    a = torch.ones(3, dtype=torch.float64)
    assert given(a, a, 0.5).dtype == torch.float64 and given(a.float(), a.float(), 0.5).dtype == torch.float32


def test_keys_that_no_case_has_are_dressed_too():
    given = mine("1.1", lambda a, b, alpha: {
        key: (alpha * a[key] + (1 - alpha) * b[key] if a[key].is_floating_point() else a[key]).numpy() for key in a})
    state = {"layers.7.weight": torch.ones(2, 2, dtype=torch.float64), "steps": torch.tensor(3)}
    assert like(given(state, state, 0.5), state)


def test_keys_come_in_the_order_of_the_arguments():
    """Who makes a vector of a state dict goes through it in order."""
    given = mine("1.1", lambda a, b, alpha: {
        key: alpha * a[key] + (1 - alpha) * b[key] if a[key].is_floating_point() else a[key] for key in sorted(a)})
    state = {"z": torch.ones(2), "a": torch.ones(2)}
    assert list(given(state, state, 0.5)) == ["z", "a"]


def test_a_graph_that_the_arguments_have_is_kept():
    given = mine("0.1", lambda a, b, alpha: alpha * a + (1 - alpha) * b)
    a = torch.ones(3, requires_grad=True)
    assert given(a, a, 0.5).requires_grad


def test_the_learners_name_and_words_stay():
    def between(a, b, alpha):
        """On the line."""
        return alpha * a + (1 - alpha) * b
    given = mine("0.1", between)
    assert given.__name__ == "between" and given.__doc__ == "On the line."


def test_what_cannot_be_brought_into_the_dress_is_replaced_and_told_once():
    said = []
    dress = dressing.learned([torch.ones(2)], [(torch.ones(2),)])
    given = dressing.wrapped(lambda a: object(), dress, instead=lambda a: 2 * a, tell=said.append)
    assert given(torch.ones(2)).tolist() == [2, 2] and given(torch.ones(2)).tolist() == [2, 2]
    assert len(said) == 1 and "cannot be brought into the form" in said[0] and "the course's own" in said[0]


def test_a_right_function_that_stops_on_what_the_next_cell_gives_it_is_replaced_and_told_once(capsys):
    """The cases of 0.1 are vectors, the next cell gives matrices too."""
    given = mine("0.1", lambda a, b, alpha: [alpha * x + (1 - alpha) * y for x, y in zip(a.tolist(), b.tolist())])
    for _ in range(2):
        assert given(torch.ones(2, 2), torch.zeros(2, 2), 0.25).tolist() == [[0.25, 0.25], [0.25, 0.25]]
    told = "On what this cell gives it, your function stops with TypeError (can't multiply sequence by non-int of type "
    assert capsys.readouterr().out.count(told) == 1
    assert given(torch.ones(2), torch.zeros(2), 0.25).tolist() == [0.25, 0.25]


def test_an_interrupt_in_the_next_cell_interrupts_it():
    def answer(a):
        raise KeyboardInterrupt
    given = dressing.wrapped(answer, dressing.learned([1.0], [(1.0,)]), instead=lambda a: a)
    with pytest.raises(KeyboardInterrupt):
        given(1.0)


def test_a_letter_comes_back_as_the_library_writes_it():
    assert mine("1.6", " (B) ") == "b"


def test_more_models_with_other_keys_than_any_case_has_come_back_as_tensors():
    """Cases of two and three models, with weights and a counter; the next cell has four, with other names."""
    def centred(models):
        return [{key: tensor - models[0][key] for key, tensor in model.items()} for model in models]

    def models(names, count):
        return [{names[0]: torch.ones(2, 2) * n, names[1]: torch.tensor(n)} for n in range(count)]

    cases = [(models(["a", "steps"], 2),), (models(["b", "count"], 3),)]
    dress = dressing.learned([centred(*case) for case in cases], cases)
    given = (models(["c", "number"], 4),)
    got = dressing.dressed(each(listed)(centred(*given)), dress, given)
    assert like(got, centred(*given))
