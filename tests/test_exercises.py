import builtins
import copy
import dis
import inspect
import json
import os
import random
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from lessons import centring
from lessons.kit import exercise, surroundings
from lessons.kit.chapters import CHAPTERS, LESSONS
from lessons.kit.exercise import Exercise, Wrong, check, exercises, find, hint, mine, solution
from lessons.sail.exercises import silent

ALL = list(exercises().values())
MUTANTS = [pytest.param(one, wrong, id=f"{one.id}-{number}") for one in ALL for number, wrong in enumerate(one.wrong)]


def test_the_two_exercises_that_centre_models_know_the_same_common_mistakes():
    for centre in (find("7.6"), find("8.2")):
        assert [wrong for wrong in centre.wrong if wrong in centring.MISTAKES] == list(centring.MISTAKES)


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.id)
def test_the_solution_passes(one):
    assert check(one.id, one.solution).passed
    assert check(one.id, None, solved=True).passed


@pytest.mark.parametrize("one, wrong", MUTANTS)
def test_each_wrong_answer_is_turned_down_with_its_own_message(one, wrong):
    result = check(one.id, wrong.answer)
    assert not result.passed and result.message == wrong.says


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.id)
def test_an_exercise_has_three_wrong_answers_hints_and_minutes(one):
    assert len(one.wrong) >= 3 and len({wrong.says for wrong in one.wrong}) == len(one.wrong)
    assert one.hints and one.minutes > 0
    assert one.title in repr(solution(one.id).page) and len(hint(one.id).text.splitlines()) == len(one.hints)


def headings(notebook: Path) -> list[str]:
    """Every line of a notebook's prose that is the heading of an exercise."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    prose = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.findall(r"^#+ *exercise.*$", prose, flags=re.MULTILINE | re.IGNORECASE)


@pytest.mark.parametrize("number", [lesson.number for lesson in LESSONS])
def test_the_headings_of_a_lesson_and_its_deeper_notebook_are_those_of_its_exercises(number):
    of_lesson = [one for one in ALL if one.id.split(".")[0] == number]
    minutes = {one.id: "1 minute" if one.minutes == 1 else f"{one.minutes} minutes" for one in of_lesson}
    expected = [f"### Exercise {one.id} · {one.title} ({minutes[one.id]})" for one in of_lesson]
    assert [line for one in CHAPTERS if one.number == number for line in headings(one.notebook)] == expected


FUNCTIONS = [one for one in ALL if callable(one.solution)]
TAUGHT = [one for one in FUNCTIONS if one.teaching]


@pytest.mark.parametrize("one", FUNCTIONS, ids=lambda one: one.id)
def test_the_solution_shown_is_short_and_names_the_librarys_function(one):
    shown = solution(one.id).text
    assert f"def {(one.teaching or one.solution).__name__}(" in shown
    assert f"In the library: {one.solution.__module__}.{one.solution.__qualname__}" in shown


@pytest.mark.parametrize("one", TAUGHT, ids=lambda one: one.id)
def test_a_solution_that_is_taught_gives_what_the_librarys_function_gives(one):
    assert check(one.id, one.teaching).passed
    assert len(inspect.getsource(one.teaching).splitlines()) <= 12


def names_outside(code):
    """Every name that code, and the functions in it, looks up where nothing in them defines it."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(names_outside(constant) for constant in code.co_consts if inspect.iscode(constant)))


@pytest.mark.parametrize("one", FUNCTIONS, ids=lambda one: one.id)
def test_a_solution_that_is_copied_runs_by_itself(one):
    copied = {}
    code = compile(solution(one.id).text.rsplit("\nIn the library: ", 1)[0], "the cell", "exec", dont_inherit=True)
    exec(code, copied)  # a learner copies it so
    assert [name for name in names_outside(code) if name not in copied and not hasattr(builtins, name)] == []
    assert check(one.id, copied[(one.teaching or one.solution).__name__]).passed


@pytest.mark.parametrize("one", FUNCTIONS, ids=lambda one: one.id)
def test_a_solved_check_shows_the_code_that_can_be_copied(one):
    shown = check(one.id, None, solved=True).code
    assert solution(one.id).text.startswith(shown.rstrip())
    assert all(len(line) <= 120 for line in shown.splitlines())


@pytest.mark.parametrize("answer, says", [
    (None, "Nothing here yet"), (..., "Nothing here yet"), (3, "should be a function, but it is a int"),
    (lambda a, b, alpha: None, "returned nothing yet"), (lambda a, b, alpha: ..., "returned nothing yet"),
    (lambda a, b: a, "stopped with TypeError"), (lambda a, b, alpha: 1 / 0, "stopped with ZeroDivisionError"),
    (lambda a, b, alpha: "a", "should be a tensor of shape (3,), but it is a str"),
    (lambda a, b, alpha: a[:2], "shape should be (3,), but it is (2,)"),
    (lambda a, b, alpha: 7 * a, "For a = [1, 2, 4], b = [3, −2, 0.5], alpha = 0.25: The result should be [2.5,"),
    (lambda a, b, alpha: a.mul_(alpha).add_(b, alpha=1 - alpha), "changed one of its arguments"),
])
def test_the_check_says_type_before_shape_before_value(answer, says):
    result = check("0.1", answer)
    assert not result.passed and says in result.message


def test_an_unknown_exercise_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match="no exercise '9.9'; there are: 0.1, .*1.1, 1.2"):
        check("9.9", None)


def kind(one):
    """Of what type an exercise's answer is, or what its function gives on each case."""
    results = [one.solution(*copy.deepcopy(case)) for case in one.cases()] if callable(one.solution) else [one.solution]
    return callable(one.solution), bool(one.seen_as), *dict.fromkeys(map(type, results))


OF_EACH_KIND = list({kind(one): one for one in ALL}.values())


@pytest.mark.parametrize("answer", [object(), "z", [], lambda *_: object(), lambda *_: "text", lambda *_: [1, 2, 3],
                                    lambda *_: {}])
def test_a_check_never_raises_whatever_it_is_given(answer):
    for one in OF_EACH_KIND:
        assert not check(one.id, answer).passed


@pytest.mark.slow  # every exercise
def test_no_check_raises_where_a_function_gives_nothing_that_can_be_compared():
    for one in ALL:
        assert not check(one.id, lambda *_: object()).passed


@pytest.mark.fault("answers", "It changes its arguments", answers="The inputs of the other cases stay as they are")
def test_the_learners_function_cannot_spoil_the_cases():
    def spoil(a, b, alpha):
        a.zero_()
        return a
    check("0.1", spoil)
    assert check("0.1", exercise.find("0.1").solution).passed


def test_a_wrong_value_that_is_no_option_lists_the_options():
    assert "choose one of a, b, c, d" in check("1.6", "e").message


def test_a_dict_that_no_known_mistake_gives_is_not_answered_with_the_solution():
    plan = exercise.find("5.4").solution
    assert "The keys should be layers.0.weight" in check("5.4", {}).message
    message = check("5.4", plan | {"layers.2.bias": 7}).message
    assert "Right at 5 of 6 keys. Look at 'layers.2.bias'" in message and repr(plan) not in message


def test_a_wrong_answer_that_is_right_on_every_case_would_be_noticed():
    """What test_each_wrong_answer… rests on: where cases cannot tell, the check passes the mutant; that test fails."""
    blind = Exercise("x", "blind", 1, lambda a: a, wrong=[Wrong(lambda a: 0 * a, "no")], hints=[], praise="",
                     cases=lambda: [(0.0,)])
    assert exercise._judge(blind, blind.wrong[0].answer)[0]


# -- what an answer must not leave behind, and answers that cannot be compared ------------------------------

STATE = {
    "default dtype": (torch.get_default_dtype, lambda: torch.set_default_dtype(torch.float64)),
    "default device": (torch.get_default_device, lambda: torch.set_default_device("meta")),
    "precision of float32 products": (torch.get_float32_matmul_precision,
                                      lambda: torch.set_float32_matmul_precision("medium")),
    "torch's random state": (lambda: torch.get_rng_state().tolist(), lambda: torch.manual_seed(5)),
    "numpy's random state": (lambda: np.random.get_state()[1].tolist(), lambda: np.random.seed(5)),
    "Python's random state": (random.getstate, lambda: random.seed(5)),
    "grad mode": (torch.is_grad_enabled, lambda: torch.set_grad_enabled(False)),
    "number of threads": (torch.get_num_threads, lambda: torch.set_num_threads(torch.get_num_threads() + 1)),
    "working directory": (os.getcwd, lambda: os.chdir("/")),
}


@pytest.fixture
def safe():
    """What a failing test leaves behind is taken away."""
    with surroundings.restored():
        yield


@pytest.mark.parametrize("fails", [False, True], ids=["that answers", "that raises"])
@pytest.mark.parametrize("look, change", STATE.values(), ids=STATE)
@pytest.mark.fault("answers", "It sets a seed, dtype, device, threads or the working directory",
                   answers="All is set back")
def test_a_function_that_changes_a_state_of_the_process_leaves_it_as_it_was(look, change, fails, safe):
    seen = []

    def answer(a, b, alpha):
        change()
        seen.append(look())
        if fails:
            raise KeyError("after the change")
        return alpha * a + (1 - alpha) * b
    before = look()
    result = check("0.1", answer)
    assert result.passed is not fails
    assert seen[0] != before and look() == before


def test_the_solution_is_not_run_in_the_state_that_an_answer_set(safe):
    """Were it, a default dtype would make both float64, and an answer that depends on it would pass."""
    def answer(a, b, alpha):
        torch.set_default_dtype(torch.float64)
        return None
    found = []
    one = Exercise("x", "dtype", 1, lambda: found.append(torch.get_default_dtype()) or 0.0,
                   wrong=[], hints=[], praise="")
    exercise._judge(one, lambda: answer(0, 0, 0))
    assert found == [torch.float32]


@pytest.mark.fault("answers", "It is interrupted after it has set a dtype",
                   answers="The interrupt ends it, and the dtype is set back")
def test_an_interrupt_sets_everything_back_too(safe):
    def answer(a, b, alpha):
        torch.set_default_dtype(torch.float64)
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        check("0.1", answer)
    assert torch.get_default_dtype() == torch.float32


class Mute:
    def __repr__(self):
        raise RuntimeError("no words")


class Loud:
    def __repr__(self):
        return 5_000_000 * "!"


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Prickly:
    """Fails whatever it is asked."""
    def __eq__(self, other):
        raise RuntimeError("do not compare me")

    __float__ = __array__ = __len__ = __hash__ = __eq__


ODD = {
    "complex": torch.tensor(0.5 + 0.5j),
    "complex without an imaginary part": torch.tensor([0.5 + 0j]),
    "numpy complex": np.complex128(0.5),
    "sparse": torch.eye(3).to_sparse(),
    "meta": torch.ones(3, device="meta"),
    "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
    "huge": 10 ** 5000,
    "mute": Mute(),
    "loud": Loud(),
    "loud keys": {Loud(): 1},
    "mute in a list": [Mute()],
    "prickly": Prickly(),
    "text": 10_000 * "z",
}


@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
@pytest.mark.fault("answers", "It returns a complex, sparse, nested or huge value, or an object whose repr fails",
                   answers="A short sentence says what is wrong")
def test_an_answer_that_cannot_be_compared_is_turned_down_with_a_sentence_of_limited_length(answer):
    for one in OF_EACH_KIND:
        for given in (answer, lambda *_: answer):
            with warnings.catch_warnings():
                # numpy's and torch's, where an imaginary part is lost
                warnings.filterwarnings("error", message="Casting complex")
                result = check(one.id, given)
            assert not result.passed and 10 < len(result.message) < 800, one.id


def test_an_error_without_words_and_one_with_too_many_are_told_in_a_short_sentence():
    def fail(error):
        raise error
    assert "stopped with Silent: a Silent that cannot be shown" in check("0.1", lambda *_: fail(Silent())).message
    assert len(check("0.1", lambda *_: fail(ValueError(5_000_000 * "!"))).message) < 800


@pytest.mark.parametrize("number", [torch.tensor(0.25 + 0j), np.complex64(0.25), 0.25 + 0j],
                         ids=["torch", "numpy", "Python"])
def test_a_complex_number_with_the_right_real_part_is_not_the_number(number):
    one = Exercise("x", "a number", 1, lambda: 0.25, wrong=[], hints=[], praise="")
    passed, message = exercise._judge(one, lambda: number)
    assert not passed and "complex" in message


def test_a_complex_tensor_with_the_right_real_part_is_not_the_tensor():
    result = check("0.1", lambda a, b, alpha: (alpha * a + (1 - alpha) * b) + 1j)
    assert not result.passed and "should hold ordinary real numbers, but it is a complex tensor" in result.message


def _tangent_with_a_graph(f, theta_0):
    theta_0 = theta_0.clone().requires_grad_()
    gradient = torch.autograd.functional.jacobian(f, theta_0, create_graph=True)
    before = f(theta_0)
    return lambda theta: before + gradient @ (theta - theta_0)


@pytest.mark.parametrize("in_dress", [lambda value: value, torch.Tensor.tolist, lambda value: value.detach().numpy()])
def test_a_function_that_is_a_result_gives_what_the_next_cell_needs(in_dress, capsys):
    def answer(f, theta_0):
        f_bar = _tangent_with_a_graph(f, theta_0)
        return lambda theta: in_dress(f_bar(theta))
    start = torch.ones(3, dtype=torch.float64)
    result = mine("11.1", answer)(torch.square, start)(start + 0.1)
    assert "This cell runs your function." in capsys.readouterr().out
    assert isinstance(result, torch.Tensor) and result.dtype == torch.float64 and not result.requires_grad
    torch.testing.assert_close(result, torch.full_like(start, 1.2))


def test_layers_may_be_lists_and_what_does_not_fit_is_no_error_of_the_function():
    def in_lists(*arguments):
        return [tensor.tolist() for tensor in find("10.1").solution(*arguments)]
    assert check("10.1", in_lists).passed
    assert check("10.3", lambda block: {name: tensor.numpy() for name, tensor in silent(block).items()}).passed
    for id, answer in (("10.1", lambda *arguments: arguments[0]), ("10.3", lambda block: [1])):
        message = check(id, answer).message
        assert "does not fit" in message and "stopped" not in message


def unwritten(a, b, alpha):
    ...


@pytest.mark.parametrize("answer, colour, mark", [
    (unwritten, "#8a8a8a", "…"), (..., "#8a8a8a", "…"), (None, "#8a8a8a", "…"), (lambda a, b, alpha: a, "#D55E00", "↻"),
    (lambda a, b, alpha: alpha * a + (1 - alpha) * b, "#009E73", "✓")])
def test_an_exercise_that_nobody_has_begun_is_grey(answer, colour, mark):
    page = check("0.1", answer)._repr_html_()
    assert colour in page and f"{mark} Exercise 0.1" in page and "<pre" not in page


def test_a_solved_check_shows_the_code():
    page = check("0.1", unwritten, solved=True)._repr_html_()
    assert "✓ Exercise 0.1" in page and "def between(a, b, alpha):" in page
