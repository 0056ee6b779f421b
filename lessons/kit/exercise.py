"""Exercises: a task, a check that teaches, hints in steps, and the library's own function as the solution.

A chapter lists its exercises in its `exercises.py`, in EXERCISES. A wrong answer that people plausibly give is data: a
function that gives it, and the sentence that helps. The check runs the learner's function on a few cases. If it behaves
like the solution it passes, and if it behaves like a known wrong answer it gets that one's sentence. Otherwise it is
told what its results have to do with the right ones, and on which input that shows best.
"""
import ast
import copy
import dis
import functools
import importlib
import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from lessons.kit import chapters, diary, surroundings
from lessons.kit.judging import dressing, running
from lessons.kit.judging.comparing import difference, has_nan, letter, same
from lessons.kit.judging.relating import relation
from lessons.kit.judging.telling import case_in_words, shown, size
from lessons.kit.page import Markup, Page, bold


@dataclass(frozen=True)
class Wrong:
    """A plausible wrong answer, and what to say to who gives it."""
    answer: object
    says: str


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes:
        id: "1.2": chapter and number.
        title: a few words.
        minutes: how long it takes someone who knows PyTorch.
        solution: the library's function, or the right value where the answer is not a function. Text is a letter of a
            choice.
        teaching: the solution in the few lines that a learner writes, without what a library has to look after; None
            where the library's function is no longer than that.
        wrong: at least three plausible wrong answers.
        hints: steps, each giving away a little more.
        cases: () -> argument tuples to try a function on. A wrong answer must differ from the solution on at least one
            of them.
        praise: what the learner now knows, said when the check passes.
        tolerance: relative and absolute, for numbers.
        seen_as: what of a function's result is compared, where several results are right: a function of the result. It
            raises a ValueError, whose text is for the learner, where the result is of no use at all.
    """
    id: str
    title: str
    minutes: int
    solution: object
    wrong: Sequence[Wrong]
    hints: Sequence[str]
    praise: str
    cases: Callable[[], list[tuple]] = field(default=lambda: [()])
    tolerance: float = 1e-6
    teaching: Callable | None = None
    seen_as: Callable[[object], object] | None = None


# JupyterLab would break words at the margin, and shows what a cell gives in the letters of text
_CODE = Markup("<pre style='word-break:normal;font-family:var(--jp-code-font-family,monospace)'>{}</pre>")


@dataclass(frozen=True)
class Result:
    """What a check says; it shows itself in a notebook.

    Attributes:
        begun: whether there is an answer at all.
        code: lines that are shown below, "" for none.
    """
    exercise: Exercise
    passed: bool
    message: str
    begun: bool = True
    code: str = ""

    def __repr__(self):
        return f"{'passed' if self.passed else 'not yet'} {self.exercise.id}: {self.message}"

    def _repr_html_(self):
        colour, mark = ("#009E73", "✓") if self.passed else ("#D55E00", "↻") if self.begun else ("#8a8a8a", "…")
        stop = "" if self.exercise.title.endswith("?") else "."
        head = bold(f"{mark} Exercise {self.exercise.id}, {self.exercise.title}{stop}")
        code = _CODE.format(self.code) if self.code else ""
        template = Markup('<div role="status" style="border-left:5px solid {};padding:0.3em 0.8em">{} {}{}</div>')
        return str(template.format(colour, head, self.message, code))


@functools.cache
def exercises() -> dict[str, Exercise]:
    """All exercises of all lessons by id."""
    return {exercise.id: exercise for one in chapters.LESSONS for exercise in _of(one)}


def _of(lesson):
    """The exercises with a lesson's number; another lesson of the same package has its own."""
    known = importlib.import_module(lesson.exercises).EXERCISES
    return [exercise for exercise in known if exercise.id.split(".")[0] == lesson.number]


def find(id: str) -> Exercise:
    """The exercise with this id.

    Raises:
        ValueError: there is none.
    """
    number = str(id).split(".")[0]
    for lesson in chapters.LESSONS:
        if lesson.number == number:  # that lesson's alone: all of them take seconds to import
            for exercise in _of(lesson):
                if exercise.id == id:
                    return exercise
    raise ValueError(f"there is no exercise {id!r}; there are: {', '.join(exercises())}")


def check(id: str, answer, solved: bool = False) -> Result:
    """Say whether an answer is right, and if not, what to think about next.

    Args:
        id: the exercise, "1.2".
        answer: the learner's function or value. It is given copies, and what it sets for the whole process is set back,
            so it can spoil nothing.
        solved: check the library's own answer instead, and show its code; notebooks that run unattended use this. What
            the check says is then not noted in the learner's diary.
    """
    exercise = find(id)
    if solved:
        answer = exercise.solution
    with surroundings.restored():
        passed, message = _judge(exercise, answer)
    begun = is_begun(answer)
    if not solved:
        diary.opened(exercise.id)
        if begun:
            diary.checked(exercise.id, passed, "" if passed else _named(exercise, message))
    return Result(exercise, passed, message, begun, _code_of(exercise) if solved else "")


def _named(exercise, message):
    """What the course says of the known wrong answer that a message is about; "" where it is about another one."""
    return next((wrong.says for wrong in exercise.wrong if message.startswith(wrong.says)), "")


def is_begun(answer) -> bool:
    """Whether an answer is more than the three dots that stand in the learner's cell."""
    here, open_still = getattr(answer, "__code__", None), _open.__code__
    dots = here is not None and (here.co_code, here.co_consts) == (open_still.co_code, open_still.co_consts)
    return not (answer is None or answer is Ellipsis or dots)


def _open():
    ...


def mine(id: str, answer):
    """The learner's answer where it is right, else the library's; a line says which. So that the next cell can run it.

    A function gives what the library's own would give: a tensor where the learner's gives a list or an array, of the
    same dtype, and without a graph that its arguments do not have. Where the check said that it changed something for
    the whole notebook, that is set back after every call, and where it printed more than the check shows, the next cell
    shows no more of it. Where it stops with an error on what the next cell gives it, the library's runs, and a line
    says so.
    """
    exercise = find(id)
    left, printed = [], running.Shown()
    with surroundings.restored():
        passed, _ = _judge(exercise, answer, left, printed)
        given = _in_dress(exercise, answer, left, printed) if passed else exercise.solution
    thing = "function" if callable(exercise.solution) else "answer"
    print(f"This cell runs your {thing}." if passed else
          f"Exercise {id} is still open, so this cell runs the course's own {thing}.")
    return given


def _in_dress(exercise, answer, left, printed):
    """A right answer, as the next cell needs it: what it gives is what the library's would be, in type and dtype."""
    if isinstance(exercise.solution, str):
        return exercise.solution  # the letter, however it was written
    if not callable(exercise.solution):
        return dressing.dressed(answer, dressing.learned([exercise.solution], [()]))
    function = running.guarded(answer, printed) if left or printed.is_used_up else answer
    return dressing.wrapped(function, dressing.of_function(exercise), instead=exercise.solution)


def hint(id: str) -> Page:
    """The hints of an exercise, folded: open one at a time."""
    steps = find(id).hints
    lines, folded = [], Markup("")
    template = Markup("<details><summary>Hint {} of {}</summary>{}</details>")
    for number, step in enumerate(steps, 1):
        lines.append(f"Hint {number}: {step}")
        folded += template.format(number, len(steps), step)
    return Page("\n".join(lines), folded)


def solution(id: str) -> Page:
    """The right value, or a function of a few lines that gives it, folded, and where the library has its own."""
    exercise = find(id)
    summary = f"Show the solution of {exercise.id}, {exercise.title}"
    text = _code_of(exercise)
    inside = exercise.solution
    more = f"In the library: {inside.__module__}.{inside.__qualname__}" if callable(inside) else ""
    page = Markup("<details><summary>{}</summary>{}<p>{}</p></details>")
    return Page(f"{text}\n{more}".strip(), page.format(summary, _CODE.format(text), more))


def _code_of(exercise):
    """The right value, or a function of a few lines that gives it, as text."""
    if not callable(exercise.solution):
        return repr(exercise.solution)
    function = exercise.teaching or exercise.solution
    return _imports_of(function) + _without_types(textwrap.dedent(inspect.getsource(function)))


def _without_types(source):
    """A function's text without the types in its head: their names are the library's, and a notebook has none of
    them."""
    head = ast.parse(source).body[0]
    typed = [argument for argument in ast.walk(head.args) if isinstance(argument, ast.arg) and argument.annotation]
    if not typed and head.returns is None:
        return source
    for argument in typed:
        argument.annotation = None
    lines = source.splitlines(keepends=True)
    lines[head.lineno - 1:head.body[0].lineno - 1] = [f"def {head.name}({ast.unparse(head.args)}):\n"]
    return "".join(lines)


def _imports_of(function):
    """The imports of the modules and of whatever else a function uses, so that whoever copies its lines can run them;
    "" of none."""
    inside = inspect.unwrap(function)
    values = {name: inside.__globals__[name] for name in sorted(_global_names(inside.__code__))
              if name in inside.__globals__ and inside.__globals__[name] is not function}
    modules = {name: value.__name__ for name, value in values.items() if inspect.ismodule(value)}
    lines = [f"import {full}" + (f" as {name}" if name != full else "") for name, full in modules.items()]
    lines += [f"from {getattr(value, '__module__', inside.__module__)} import {name}"
              for name, value in values.items() if name not in modules]
    return "".join(f"{line}\n" for line in lines) + ("\n\n" if lines else "")


def _global_names(code):
    """What a function's code, and that of the functions in it, looks up outside."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return names.union(*(_global_names(constant) for constant in code.co_consts if inspect.iscode(constant)))


# -- judging ---------------------------------------------------------------------------------------

def _judge(exercise, answer, left=None, printed=None):
    """(passed, message); to the list `left` is added what a function changed for the whole process, and from `printed`
    is taken what it printed."""
    if answer is None or answer is Ellipsis:
        return False, "Nothing here yet: write your answer in the cell above and run it again."
    if not callable(exercise.solution):
        return _judge_value(exercise, answer)
    if not callable(answer):
        return False, no_function(answer)
    return _judge_function(exercise, answer, [] if left is None else left, printed or running.Shown())


def no_function(answer) -> str:
    """What is said of an answer that should be a function and is none."""
    return f"This should be a function, but it is a {type(answer).__name__}: hand over its name without calling it."


def _judge_function(exercise, answer, left, printed):
    cases = exercise.cases()
    outcomes = []
    for outcome in tried(exercise, answer, cases, printed):
        outcomes.append(outcome)
        left += outcome.left
    # what an answer gives may be huge, or an object of the learner's own that is slow to say what it is
    verdict = running.in_time(lambda: decided(exercise, cases, outcomes)) or Verdict(False, _INCOMPARABLE, kind="value")
    return verdict.passed, verdict.says + _left_behind(left)


_INCOMPARABLE = ("What your function returns takes too long to be compared with the right result, so it was given up. "
                 "Return an ordinary tensor, number, list or dict of the size that the task asks for.")


@dataclass(frozen=True)
class Verdict:
    """What is to be said of an answer.

    Attributes:
        passed: whether it is right.
        says: the sentence for the learner.
        wrong: the known wrong answer that does the same; None where there is none.
        kind: of the outcome that is talked about, as `running.Outcome` has it; "" of a right answer.
        relation: what an unexpected answer's results have to do with the right ones, in a sentence; "" if nothing.
        problem: what is the matter on the case that is shown, in a sentence; "" of a right or known answer.
    """
    passed: bool
    says: str
    wrong: Wrong | None = None
    kind: str = ""
    relation: str = ""
    problem: str = ""


def tried(exercise: Exercise, answer: Callable, cases: Sequence[tuple],
          printed: running.Shown | None = None) -> Iterator[running.Outcome]:
    """What an answer does with every case, until one does not end: it would not on the others either, and the learner
    waits.

    Args:
        printed: what a whole check may show of what the answer prints.
    """
    equal = functools.partial(same, tolerance=0.0)
    for case in cases:
        outcome = running.outcome(_seen(exercise, answer), case, equal, printed)
        yield outcome
        if outcome.kind == "endless":
            return


def tried_mistakes(exercise: Exercise, cases: Sequence[tuple]) -> list[list[running.Outcome]]:
    """What every known wrong answer does with every case."""
    equal = functools.partial(same, tolerance=0.0)
    return [[running.outcome(_seen(exercise, wrong.answer), case, equal, ours=True) for case in cases]
            for wrong in exercise.wrong]


def decided(exercise: Exercise, cases: Sequence[tuple], outcomes: Sequence[running.Outcome],
            mistakes: Sequence[Sequence[running.Outcome]] | None = None) -> Verdict:
    """What is to be said of a function, from what it did alone: it is not called, so it may have run elsewhere.

    Args:
        outcomes: one a case, or fewer where the last one did not end.
        mistakes: what `tried_mistakes` gives; None to try them now, if they are needed.
    """
    if outcomes and outcomes[-1].kind == "endless":
        problem = outcomes[-1].problem
        return Verdict(False, problem + _on(exercise, cases[len(outcomes) - 1]), kind="endless", problem=problem)
    solution = _seen(exercise, exercise.solution)
    expected = [solution(*copy.deepcopy(case)) for case in cases]
    problems = [outcome.problem or difference(outcome.value, right, exercise.tolerance)
                for outcome, right in zip(outcomes, expected, strict=True)]
    if not any(problems):
        return Verdict(True, exercise.praise)
    wrong = _known(exercise, outcomes, problems, tried_mistakes(exercise, cases) if mistakes is None else mistakes)
    if wrong:
        return Verdict(False, wrong.says, wrong, kind="known")
    return _explained(exercise, cases, outcomes, expected, problems)


def _known(exercise, outcomes, problems, mistakes):
    """The wrong answer that does the same, on every case or, where one of the two gives nan on a few, on the others;
    None where there is none."""
    nearly = None
    for wrong, theirs in zip(exercise.wrong, mistakes):
        alike = [_alike(*pair, exercise.tolerance) for pair in zip(outcomes, theirs)]
        if all(alike):
            return wrong
        told = [not any(has_nan(outcome.value) for outcome in pair) for pair in zip(outcomes, theirs)]
        if 2 * sum(told) > len(told) and any(itertools.compress(problems, told)) \
                and all(itertools.compress(alike, told)):
            nearly = nearly or wrong
    return nearly


def _seen(exercise, function):
    """The function, whose result is turned into what is compared."""
    if exercise.seen_as is None:
        return function

    def inside(*arguments):
        result = function(*arguments)
        return result if result is None or result is Ellipsis else exercise.seen_as(result)
    return inside


def _alike(a, b, tolerance):
    """Whether two functions did the same with a case."""
    return (a.kind, a.problem) == (b.kind, b.problem) and (a.kind != "value" or same(a.value, b.value, tolerance))


def _explained(exercise, cases, outcomes, expected, problems):
    """The verdict on an answer that nobody expected."""
    failing = [place for place, problem in enumerate(problems) if problem]
    place = min(failing, key=lambda place: size(cases[place]))
    broken = [place for place in failing if outcomes[place].problem]
    if broken:
        kind, problem = outcomes[broken[0]].kind, outcomes[broken[0]].problem
        where = "" if kind == "nothing" else _on(exercise, cases[broken[0]])
        return Verdict(False, problem + where, kind=kind, problem=problem)
    related = relation([outcome.value for outcome in outcomes], expected, cases, _seen(exercise, exercise.solution),
                       _parameters(exercise), exercise.tolerance)
    right = len(cases) - len(failing)
    count = f"Right on {right} of {len(cases)} inputs. " if right else ""
    given = case_in_words(_parameters(exercise), cases[place])
    says = f"{related} {count}For {given}: {problems[place]}".strip()
    return Verdict(False, says, kind="value", relation=related, problem=problems[place])


def _on(exercise, case):
    return f" (With {case_in_words(_parameters(exercise), case)}.)"


def _parameters(exercise):
    return list(inspect.signature(exercise.teaching or exercise.solution).parameters)


def _left_behind(left):
    """What an answer changed for the whole process, in a sentence."""
    if not left:
        return ""
    names = list(dict.fromkeys(left))
    more = [f"{len(names) - 5} more things"] if len(names) > 5 else []
    return f" (Your function changed {' and '.join(names[:5] + more)} for the whole notebook; that has been set back.)"


# -- values ----------------------------------------------------------------------------------------

def _judge_value(exercise, answer):
    verdict = decided_value(exercise, answer)
    return verdict.passed, verdict.says


def decided_value(exercise: Exercise, answer) -> Verdict:
    """What is to be said of an answer that is no function, where none is asked for."""
    if isinstance(exercise.solution, str):
        answer = letter(answer) or answer
    if same(answer, exercise.solution, exercise.tolerance):
        return Verdict(True, exercise.praise)
    for wrong in exercise.wrong:
        if same(answer, wrong.answer, exercise.tolerance):
            return Verdict(False, wrong.says, wrong, kind="known")
    says = _not_it(exercise, answer)
    return Verdict(False, says, kind="value", problem=says)


def _not_it(exercise, answer):
    """About a value that nobody expected, without the right one."""
    right = exercise.solution
    if isinstance(right, str):
        letters = sorted({right, *(wrong.answer for wrong in exercise.wrong)})
        return f"{shown(answer)} is not one of the letters: choose one of {', '.join(letters)}."
    if callable(answer):
        return "This should be a value, but it is a function: call it."
    if isinstance(right, dict):
        return _not_that_dict(right, answer, exercise.tolerance)
    if isinstance(right, (tuple, list)):
        if not isinstance(answer, (tuple, list)) or len(answer) != len(right):
            return f"This should hold {len(right)} things, but it is {shown(answer)}."
        correct = sum(same(a, b, exercise.tolerance) for a, b in zip(answer, right))
        return f"{correct} of the {len(right)} are right."
    problem = difference(answer, right, exercise.tolerance)
    if not problem.startswith("The number should be"):
        return problem
    side = "small" if answer < right else "large"
    return f"{shown(answer)} is too {side}. hint({exercise.id!r}) has the next step."


def _not_that_dict(right, answer, tolerance):
    if not isinstance(answer, dict) or answer.keys() != right.keys():
        return difference(answer, right, tolerance)  # names the keys alone
    wrong = [key for key in right if not same(answer[key], right[key], tolerance)]
    count = f"Right at {len(right) - len(wrong)} of {len(right)} keys."
    return f"{count} Look at {wrong[0]!r}: it should not be {shown(answer[wrong[0]])}."
