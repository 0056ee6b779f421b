"""What the check says about answers that no exercise foresaw, and which dress it lets pass."""
import io
import math
import os
import shutil
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import torch
import xarray

from lessons.kit import exercise
from lessons.kit.exercise import Exercise, Wrong
from lessons.kit.judging import comparing, running, telling
from toy_models import weights
from toy_models.mlp import MLP


def judged(solution, answer, cases=((),), **more):
    """(passed, message) about an answer to an exercise with this solution."""
    one = Exercise("x", "an exercise", 1, solution, wrong=more.pop("wrong", []), hints=[], praise="Right.",
                   cases=lambda: [tuple(case) for case in cases], **more)
    return exercise._judge(one, answer)


# -- the same value in another dress -------------------------------------------------------------------

DRESSED = {
    "1000.0 for 1000": (1000, 1000.0),
    "numpy's 1000": (1000, np.int64(1000)),
    "a tensor of 1000": (1000, torch.tensor(1000)),
    "an int for 4.0": (4.0, 4),
    "a tensor of 0.5": (0.5, torch.tensor(0.5)),
    "xarray's 0.5": (0.5, xarray.DataArray(0.5)),
    "a capital letter": ("b", "B"),
    "a letter in brackets": ("b", " (b) "),
    "an array for a list": ([2, 0, 3], np.array([2, 0, 3])),
    "a tensor for a list": ([2, 0, 3], torch.tensor([2, 0, 3])),
    "numpy's numbers in a list": ([2, 0, 3], [np.int64(2), np.int64(0), np.int64(3)]),
    "a list for a tuple": (("near", "layer 1"), ["near", "layer 1"]),
    "an array of words": (("near", "layer 1"), np.array(["near", "layer 1"])),
    "xarray's words": (("near", "layer 1"), (xarray.DataArray("near"), xarray.DataArray("layer 1"))),
    "a stacked tensor for a pair": ((torch.ones(3), torch.zeros(3)), torch.tensor([[1.0, 1, 1], [0, 0, 0]])),
    "a list for a tensor": (torch.tensor([1.0, 2.0]), [1.0, 2.0]),
    "an array for a tensor": (torch.tensor([1.0, 2.0]), np.array([1.0, 2.0])),
    "a float for a tensor": (torch.tensor(1.5), 1.5),
    "a truth of torch": (True, torch.tensor(True)),
    "an array of one number": (7, np.array([7])),
    "a tensor of one number": (7, torch.tensor([7])),
}


@pytest.mark.parametrize("right, answer", DRESSED.values(), ids=DRESSED)
def test_a_right_value_passes_in_another_dress(right, answer):
    assert judged(right, answer)[0]
    if not isinstance(right, str):  # letters are chosen, no function gives one
        assert judged(lambda: right, lambda: answer)[0]


UNDRESSED = {
    "text for a number": (0.5, "0.5"),
    "another whole number": (1000, 1000.0001),
    "a list too short": ([2, 0, 3], np.array([2, 0])),
    "a number for a list": ([2], 2),
    "two numbers for one": (7, np.array([7, 7])),
    "another letter": ("b", "(c)"),
    "text for a tensor": (torch.tensor([1.0, 2.0]), "[1.0, 2.0]"),
    "a complex array": (torch.tensor([1.0]), np.array([1 + 0j])),
    "a number for a truth": (True, 1),
}


@pytest.mark.parametrize("right, answer", UNDRESSED.values(), ids=UNDRESSED)
def test_another_value_does_not_pass_for_a_dress(right, answer):
    assert not judged(right, answer)[0]
    assert not judged(lambda: right, lambda: answer)[0]


# -- what a wrong answer has to do with the right one ------------------------------------------------

def _share(x, y, alpha):
    return alpha * x + (1 - alpha) * y


PAIRS = [(1.0, 3.0, 0.25), (2.0, -1.0, 0.75), (0.5, 4.0, 0.5)]
VECTORS = [(torch.tensor([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]]),), (torch.tensor([[2.0, 7.0], [-3.0, 1.0]]),)]
POWERS = [(2.0, 3), (1.5, 4), (3.0, 2)]

RELATED = {
    "sign": (_share, lambda x, y, alpha: -_share(x, y, alpha), PAIRS, "The sign is the other way round"),
    "one minus": (_share, lambda x, y, alpha: 1 - _share(x, y, alpha), PAIRS, "1 minus what is asked"),
    "swapped": (_share, lambda x, y, alpha: _share(y, x, alpha), PAIRS, "if x and y changed places"),
    "of an argument": (lambda x, alpha: x ** 2 * (1 + alpha), lambda x, alpha: x ** 2 * (2 - alpha),
                       [(1.0, 0.2), (3.0, 0.9)], "for 1 − alpha in place of alpha"),
    "off by one": (lambda x, n: x ** n, lambda x, n: x ** (n + 1), POWERS, "n + 1 in place of n: one too many?"),
    "twice": (_share, lambda x, y, alpha: 2 * _share(x, y, alpha), PAIRS, "Yours is twice what is asked"),
    "a factor": (_share, lambda x, y, alpha: 0.7 * _share(x, y, alpha), PAIRS, "0.7 times what is asked"),
    "a step": (_share, lambda x, y, alpha: 0.3 + _share(x, y, alpha), PAIRS, "larger by 0.3 everywhere"),
    "sum for mean": (lambda x: x.mean(1), lambda x: x.sum(1), VECTORS, "not always the same one: 3, 2"),
    "absolute value": (lambda x: x, lambda x: x.abs(), VECTORS, "the right size without the sign"),
    "cut off": (lambda x: x, lambda x: x.clamp(min=0), VECTORS, "cut off at 0"),
    "squared": (lambda x: x, lambda x: x ** 2, VECTORS, "Yours is the square of"),
    "per cent": (lambda x: x, lambda x: 100 * x, VECTORS, "in per cent"),
    "transposed": (lambda x: x, lambda x: x.T, VECTORS, "transposed"),
    "reversed": (lambda x: x, lambda x: x.flip(0), VECTORS, "in the opposite order"),
    "another order": (lambda x: x, lambda x: x.sort(1).values, VECTORS, "in another order"),
    "keepdim": (lambda x: x.mean(1), lambda x: x.mean(1, keepdim=True), VECTORS, "a dimension of length 1 too many"),
    "packed": (lambda x: (x.amax(1), x.amin(1)), lambda x: (x.amax(1, keepdim=True), x.amin(1)), VECTORS,
               "The right numbers, but not put together as asked"),
    "averaged too far": (lambda x: x, lambda x: x.mean(1), VECTORS, "one average too far: keep dimension 1"),
    "not averaged": (lambda x: x.mean(1), lambda x: x, VECTORS, "average over dimension 1"),
    "eps": (lambda x: x / (x ** 2).sum(1, keepdim=True),
            lambda x: x / ((x ** 2).sum(1, keepdim=True) + 1e-4), VECTORS, "that is added somewhere (eps)"),
    "inverse": (lambda p: p, lambda p: p.argsort(), [(torch.tensor([1, 2, 0, 4, 3]),)], "inverse permutation"),
    "in two things": (lambda x: x.sum(0), lambda x: (x.sum(0)[0], x.sum(0)[1:]), VECTORS, "not put together as asked"),
    "rounded down": (math.ceil, math.floor, [(2.5,), (1.2,)], "Yours is 1 less than what is asked"),
}


@pytest.mark.parametrize("solution, answer, cases, says", RELATED.values(), ids=RELATED)
def test_the_relation_to_the_right_result_is_named(solution, answer, cases, says):
    passed, message = judged(solution, answer, cases)
    assert not passed and says in message


def test_no_relation_is_made_up_where_there_is_none():
    generator = torch.Generator().manual_seed(0)
    passed, message = judged(lambda x: x, lambda x: torch.randn(x.shape, generator=generator), VECTORS)
    assert not passed and message.startswith("For x = ")


def test_a_near_miss_of_a_positive_number_is_not_said_to_lack_its_sign():
    assert "sign" not in judged(lambda x: 2 * x, lambda x: 2 * x + 5e-6, [(1.0,), (3.0,)])[1]


def test_what_other_arguments_would_warn_of_is_not_shown_to_who_never_gave_them(recwarn):
    def solution(x, y, alpha):
        if alpha > 1:
            warnings.warn("extrapolates", stacklevel=2)
        return _share(x, y, alpha)
    judged(solution, lambda x, y, alpha: solution(x, y, alpha) ** 3, PAIRS)
    assert not recwarn


def test_a_known_wrong_answer_goes_before_a_relation():
    wrong = [Wrong(lambda x: -x, "The other way.")]
    assert judged(lambda x: x, lambda x: -x, VECTORS, wrong=wrong) == (False, "The other way.")


def test_the_smallest_failing_input_is_shown_with_both_results_and_how_many_are_right():
    cases = [(torch.arange(9.0),), (torch.tensor([1.0, 2.0]),), (torch.tensor([3.0]),)]
    passed, message = judged(lambda x: x.sum(), lambda x: x.sum() + 0.37 * (len(x) > 1) * x[0] + (len(x) == 9), cases)
    assert message == "Right on 1 of 3 inputs. For x = [1, 2]: The result should be 3, but it is 3.37."


def test_of_a_case_of_bytes_the_first_ones_are_shown():
    assert telling.brief(b"PK\x03") == "b'PK\\x03'"
    assert telling.brief(b"{" * 20) == f"b'{'{' * 16}' and 4 more bytes"


def test_of_a_long_result_one_place_is_shown():
    _, message = judged(lambda x: x ** 3, lambda x: x ** 3 + 0.5 * (x == 4), [(torch.arange(20.0),)])
    assert message == ("For x = numbers of shape (20,): The shape is right, the values are not: at [4] it should be "
                       "64, but it is 64.5.")


def test_nan_is_named():
    _, message = judged(lambda x: x * 0, lambda x: x / 0 * 0, [(torch.arange(20.0),)])
    assert "20 of the 20 numbers are nan" in message


def test_a_known_wrong_answer_is_known_where_it_gives_nan_too_but_not_from_half_of_the_cases():
    halves = [Wrong(lambda x: x.log() / 2, "Half as much.")]
    cases = [(torch.tensor(one),) for one in (2.0, 3.0, 0.0)]
    for given, known in ((cases, True), ([*cases, cases[-1]], False)):
        passed, message = judged(lambda x: x.log(), lambda x: (x / x * x).log() / 2, given, wrong=halves)
        assert not passed and ("Half as much." in message) == known


def test_nan_beside_right_results_is_no_known_wrong_answer():
    halves = [Wrong(lambda x: x.sqrt() if x else x + 1, "One at 0.")]
    cases = [(torch.tensor(one),) for one in (2.0, 3.0, 0.0)]
    _, message = judged(lambda x: x.sqrt(), lambda x: x / x * x.sqrt(), cases, wrong=halves)
    assert "One at 0." not in message and "1 of the 1 numbers are nan" in message


def test_a_generator_is_to_be_made_a_list():
    _, message = judged(lambda: [1, 2], lambda: (one for one in (1, 2)))
    assert "This should be a list, but it is a generator" in message and "make a list of it" in message


# -- open questions ------------------------------------------------------------------------------------

@pytest.mark.parametrize("right, answer", [(1000, 1001), (0.25, 0.5), (0.25, "a quarter"), ((2, 5), (2, 6)),
                                           ({"a": 1, "b": 2}, {"a": 1, "b": 9}), ({"a": 1}, 5)])
def test_a_wrong_value_is_not_answered_with_the_right_one(right, answer):
    passed, message = judged(right, answer)
    shown = [right] if not isinstance(right, (tuple, dict)) else [right, 5, "'b': 2"]
    assert not passed and not any(str(one) in message.replace(str(answer), "") for one in shown)


def test_of_an_open_question_the_known_wrong_answers_are_not_listed():
    passed, message = judged(0.25, 7, wrong=[Wrong(0.5, "Half."), Wrong(0.75, "The rest.")])
    assert message.startswith("7 is too large") and "0.5" not in message and "0.75" not in message


# -- what the course survives --------------------------------------------------------------------------

def _endless():
    while True:
        pass


def _stubborn():
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            continue


@pytest.mark.parametrize("answer", [_endless, _stubborn])
@pytest.mark.fault("answers", "It never ends, or catches every exception in a loop",
                   answers="It is stopped after some seconds, and the learner is told")
def test_an_endless_loop_is_stopped_and_said(answer, monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.2)
    start = time.monotonic()
    passed, message = judged(lambda: 1.0, answer, cases=[(), ()])
    assert not passed and "still running after 0.2 seconds" in message and time.monotonic() - start < 5


class Slow:
    """Takes its time to say what it is."""
    def __array__(self, *_, **__):
        time.sleep(0.1)
        return np.zeros(3)

    def __repr__(self):
        time.sleep(0.1)
        return "slow"


HARD = {"an object that is slow to say what it is": [Slow() for _ in range(10**4)],
        "a list of a million numbers": list(range(10**6))}


@pytest.mark.parametrize("answer", HARD.values(), ids=HARD)
@pytest.mark.fault("answers", "It returns a million numbers, or an object that is slow to say what it is",
                   answers="The comparison is given up, and the learner is told")
def test_a_result_that_takes_too_long_to_compare_is_given_up(answer, monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.2)
    wrong = [Wrong(lambda: torch.ones(3), "Ones.")]
    start = time.monotonic()
    passed, message = judged(lambda: torch.zeros(3), lambda: answer, wrong=wrong)
    assert not passed and "takes too long to be compared" in message and time.monotonic() - start < 10
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_limit_inside_a_limit_leaves_the_outer_one(monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.3)

    def work():
        with running.limited(100):
            pass
        _endless()
    assert running.in_time(work) is None and running.in_time(lambda: 7) == 7


def nested(depth):
    inside = []
    for _ in range(depth):
        inside = [inside]
    return inside


@pytest.mark.fault("answers", "It asks for more memory than there is, or returns thousands of lists in each other",
                   answers="A short sentence says so")
def test_more_memory_than_there_is_and_lists_without_end_are_said():
    passed, message = judged(lambda: torch.zeros(3), lambda: torch.zeros(10**16))
    assert not passed and "stopped with RuntimeError" in message
    passed, message = judged(lambda: torch.zeros(3), lambda: nested(5000))
    assert not passed and len(message) < 800


@pytest.mark.fault("answers", "It deletes the data folder, and leaves a thread that never ends",
                   answers="The course goes on, and models are trained again")
def test_a_function_that_deletes_the_store_or_leaves_a_thread_passes_and_the_course_goes_on():
    from data import store
    from toy_models import Architecture, Recipe, zoo
    recipe = Recipe.on("spirals", Architecture.of("MLP", widths=(2, 8, 2)), lr=0.1, epochs=1)
    before = zoo.get(recipe).state_dict()
    ended = threading.Event()

    def answer():
        shutil.rmtree(store.root())
        threading.Thread(target=ended.wait, args=(60,), daemon=True).start()
        return 1.0
    try:
        assert judged(lambda: 1.0, answer) == (True, "Right.")
        again = zoo.get(recipe).state_dict()
        assert all(torch.equal(before[key], again[key]) for key in before)
    finally:
        ended.set()


def test_the_time_limit_does_not_outlive_the_check(monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.2)
    assert judged(lambda: 1.0, lambda: 1.0)[0]
    time.sleep(0.4)


@pytest.mark.fault("answers", "It calls exit()", answers="The kernel lives on, and the learner is told")
def test_exit_is_survived_and_said():
    passed, message = judged(lambda: 1.0, lambda: exit())
    assert not passed and "called exit()" in message


LEFT = {
    "torch's default dtype": lambda: torch.set_default_dtype(torch.float64),
    "torch's seed": lambda: torch.manual_seed(12345),
    "torch's number of threads": lambda: torch.set_num_threads(torch.get_num_threads() + 1),
    "whether torch records gradients": lambda: torch.set_grad_enabled(False),
    "whether torch must be deterministic": lambda: torch.use_deterministic_algorithms(True),
    "torch's search for anomalies": lambda: torch.autograd.set_detect_anomaly(True),
    "what numpy does about overflow and division by 0": lambda: np.seterr(all="raise"),
    "Python's recursion limit": lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 7),
    "which warnings are shown": lambda: warnings.simplefilter("error"),
    "the environment variable WEIGHTSPACE_DATA": lambda: os.environ.update(WEIGHTSPACE_DATA="/elsewhere"),
    "the environment variable WEIGHTSPACE_OFFLINE": lambda: os.environ.pop("WEIGHTSPACE_OFFLINE"),
    "sys.stdout": lambda: setattr(sys, "stdout", io.StringIO()),
    "what an interrupt does": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    "torch.lerp": lambda: setattr(torch, "lerp", lambda *_: 7.0),
    "torch.Tensor.mul": lambda: setattr(torch.Tensor, "mul", lambda *_: 7.0),  # hides the inherited one
    "torch.Tensor.backward": lambda: setattr(torch.Tensor, "backward", lambda *_: None),
    "torch.optim.sgd.SGD.step": lambda: setattr(torch.optim.SGD, "step", lambda *_: None),
    "torch.optim.AdamW": lambda: setattr(torch.optim, "AdamW", torch.optim.SGD),
    "torch.nn.modules.conv.Conv2d.forward": lambda: setattr(torch.nn.Conv2d, "forward", lambda *_: 7.0),
    "torch.nn.init.kaiming_uniform_": lambda: setattr(torch.nn.init, "kaiming_uniform_", lambda *_, **__: None),
    "torch.fft.fft": lambda: setattr(torch.fft, "fft", lambda *_: 7.0),
    "numpy.random.default_rng": lambda: setattr(np.random, "default_rng", lambda *_: None),
    "math.pi": lambda: setattr(math, "pi", 3.0),
    "toy_models.weights.mix": lambda: setattr(weights, "mix", lambda *_: 7.0),
    "toy_models.mlp.MLP.forward": lambda: setattr(MLP, "forward", lambda *_: 7.0),
}


def state():
    """What the changes in LEFT change."""
    return [torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled(), np.geterr(),
            sys.getrecursionlimit(), list(warnings.filters), dict(os.environ), sys.stdout,
            signal.getsignal(signal.SIGINT), torch.lerp, torch.Tensor.mul, torch.Tensor.backward, math.pi, weights.mix,
            MLP.forward, torch.optim.SGD.step, torch.optim.AdamW, torch.nn.Conv2d.forward,
            torch.nn.init.kaiming_uniform_, torch.fft.fft, np.random.default_rng,
            torch.get_num_threads(), torch.is_grad_enabled(), torch.get_default_dtype()]


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("name, change", LEFT.items(), ids=LEFT)
@pytest.mark.fault("answers",
                   "It replaces a function of torch, numpy, Python or the course, or a setting of the process",
                   answers="It is set back, and the learner is told")
def test_what_an_answer_changed_for_everybody_is_said(name, change, right):
    def answer():
        change()
        return 1.0 if right else 7.3
    if "deterministic" in name:
        torch.use_deterministic_algorithms(False)  # torch imports much of itself when this is first called
    before = state()
    passed, message = judged(lambda: 1.0, answer)
    assert passed is right and state() == before
    assert f"(Your function changed {name} for the whole notebook; that has been set back.)" in message


DEEP = """
    import sys
    from lessons.kit.exercise import check

    def inside_itself(x):
        return sorted([x], key=inside_itself)

    def answer(a, b, alpha):
        sys.setrecursionlimit(10**8)
        return inside_itself(a)
    print(check("0.1", answer))
"""


@pytest.mark.fault("answers", "It raises the recursion limit and recurses without end",
                   answers="The kernel lives on, and the learner is told")
def test_a_raised_recursion_limit_ends_no_kernel(start_python):
    """Without a limit, C's stack is used up, and the process ends without a word."""
    process = start_python(DEEP)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "stopped with RecursionError" in out and "changed Python's recursion limit" in out


def test_what_is_changed_before_an_exception_is_set_back_and_said():
    def answer():
        torch.lerp = None
        raise ValueError("after it")
    before = torch.lerp
    _, message = judged(lambda: 1.0, answer)
    assert torch.lerp is before and "after it" in message and "changed torch.lerp" in message


def test_a_module_that_a_function_imports_is_not_said_to_be_changed(monkeypatch):
    def answer():
        import wave  # nobody else here does
        return float(wave.WAVE_FORMAT_PCM)
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    assert judged(lambda: 1.0, answer) == (True, "Right.")


def test_who_makes_the_first_optimiser_of_a_class_is_not_said_to_change_it(monkeypatch):
    """torch wraps the class's `step` then."""
    monkeypatch.setattr(torch.optim.Rprop, "step", getattr(torch.optim.Rprop.step, "__wrapped__",
                                                           torch.optim.Rprop.step))

    def answer():
        torch.optim.Rprop([torch.ones(1, requires_grad=True)]).step()
        return 1.0
    assert judged(lambda: 1.0, answer) == (True, "Right.") and torch.optim.Rprop.step.hooked


def test_a_right_function_that_changes_something_leaves_nothing_behind_in_the_next_cell_either():
    def between(a, b, alpha):
        torch.lerp = None
        return alpha * a + (1 - alpha) * b
    before = torch.lerp
    given = exercise.mine("0.1", between)
    assert given(torch.ones(2), torch.zeros(2), 0.25).tolist() == [0.25, 0.25] and torch.lerp is before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.fault("answers", "It forks", answers="The copy ends at once, and the learner is told")
def test_a_copy_of_the_process_ends_at_once_and_is_said(tmp_path):
    def answer():
        if os.fork() == 0:
            (tmp_path / "the copy went on").touch()
        os.wait()
        return 1.0
    passed, message = judged(lambda: 1.0, answer)
    assert not passed and "os.fork" in message and "ended at once" in message
    assert not list(tmp_path.iterdir())


def test_outside_of_an_answer_a_process_may_be_forked():
    assert not running._copies


@pytest.mark.fault("answers", "It prints without end", answers="What is shown is limited, and a line says so")
def test_what_is_printed_is_limited_over_all_cases_and_said_once(capsys):
    def answer(number):
        print(running.PRINTED * "x")
        return number
    assert judged(lambda number: number, answer, cases=[(1,), (2,), (3,)])[0]
    printed = capsys.readouterr().out
    assert printed.count("x") == running.PRINTED and printed.count("The rest is not shown") == 1


def test_who_prints_too_much_in_the_check_prints_no_more_in_the_next_cell(capsys):
    def between(a, b, alpha):
        print(running.PRINTED * "x")
        return alpha * a + (1 - alpha) * b
    given = exercise.mine("0.1", between)
    capsys.readouterr()
    assert given(torch.ones(2), torch.zeros(2), 0.25).tolist() == [0.25, 0.25] and not capsys.readouterr().out


def test_a_few_lines_are_printed_as_they_are(capsys):
    judged(lambda: 1.0, lambda: print("a =", 3) or 1.0)
    assert capsys.readouterr().out == "a = 3\n"


@pytest.mark.fault("answers", "It raises GeneratorExit", answers="The learner is told")
def test_a_generators_exit_is_said():
    def answer():
        raise GeneratorExit
    passed, message = judged(lambda: 1.0, answer)
    assert not passed and "stopped with GeneratorExit" in message


@pytest.mark.fault("answers", "It calls the exit() of notebooks",
                   answers="The kernel lives on, and the learner is told")
def test_the_notebooks_exit_ends_no_kernel(monkeypatch):
    """IPython's exit() returns and asks the kernel to end some moments later."""
    import IPython
    from IPython.core.autocall import ExitAutocall

    class Shell:
        ended = False

        def ask_exit(self):
            self.ended = True
    shell = Shell()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    passed, message = judged(lambda: 1.0, lambda: ExitAutocall(shell)())
    assert not passed and "called exit()" in message and not shell.ended
    shell.ask_exit()
    assert shell.ended


# -- numbers -------------------------------------------------------------------------------------------

def test_a_number_that_has_its_graph_passes():
    assert judged(lambda: 0.25, lambda: torch.tensor(0.25, requires_grad=True))[0]


def test_a_whole_number_may_be_rounded_in_its_last_digits_alone():
    assert judged(lambda: 1, lambda: 0.9999999999999998)[0]
    passed, message = judged(lambda: 1, lambda: 0.999998)
    assert not passed and "should be 1, but it is 0.999998" in message


def test_two_numbers_that_look_alike_are_shown_with_all_their_digits():
    assert comparing.difference(1.0000001, 1.0, 0.0) == "The number should be 1, but it is 1.0000001."


def test_numbers_that_are_right_are_not_said_to_be_right_to_so_many_digits():
    """Here what is wrong is the text beside them."""
    passed, message = judged(lambda x: (x, "a"), lambda x: (x * (1 + 1e-8), "b"), [(1.0,), (3.0,)])
    assert not passed and "digits" not in message


def test_one_thing_in_place_of_two_is_shown_as_a_value():
    _, message = judged(lambda: (1, 2), lambda: xarray.DataArray(7))
    assert "This should hold 2 things, but it is one, 7." in message


def test_who_only_draws_random_numbers_is_told_nothing():
    def answer():
        torch.rand(3)
        return 1.0
    assert judged(lambda: 1.0, answer) == (True, "Right.")


def test_an_exception_is_told_with_the_input_and_known_by_its_words():
    def fails(x):
        raise RuntimeError("another one")
    wrong = [Wrong(lambda x: torch.ones(2) @ torch.ones(3), "The lengths do not fit.")]
    assert "stopped with RuntimeError: another one (With x = [2, 3].)" in judged(lambda x: x, fails, [([2, 3],)],
                                                                                  wrong=wrong)[1]


def test_an_empty_function_is_told_so_without_an_input():
    assert judged(lambda x: x, lambda x: None, [([2, 3],)])[1] == (
        "Your function returned nothing yet: end it with a return statement.")


def test_a_comparison_that_fails_is_a_sentence():
    class Prickly:
        @property
        def shape(self):
            raise RuntimeError("no")
    assert "cannot be compared" in comparing.difference(Prickly(), 1.0, 0.0)


@pytest.mark.parametrize("given, said", [
    ({}, "These keys are missing: 0, 1, 2 and 17 more. Yours are: none."),
    ({key: key for key in range(19)}, "These keys are missing: 19. Yours are: 0, 1"),
    ({key: key for key in range(22)}, "These keys are too many: 20, 21.")])
def test_of_many_keys_those_that_are_wrong_are_named(given, said):
    assert said in comparing.difference(given, {key: key for key in range(20)}, 1e-6)
