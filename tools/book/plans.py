"""What a teacher does in each section of a lesson, from the plans in `docs/teaching.md`, for the speaker's notes."""
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_LESSON = re.compile(r"^## (\d+) · .*$", re.MULTILINE)
_HEAD = re.compile(r"\| \*\*(\d+) minutes\*\* \|")
_ROW = re.compile(r"\| (\d+) \| `([\w-]+)`(?: to `([\w-]+)`)? \| (.+) \|")


@dataclass(frozen=True)
class Step:
    """One line of a plan.

    Attributes:
        minutes: it takes.
        first, last: ids of cells.
        todo: what the teacher does.
    """
    minutes: int
    first: str
    last: str
    todo: str


def longest_plan(teaching: str, lesson: str) -> list[Step]:
    """The lesson's plan with the most minutes; [] where it has none. Where it refers to the shorter plan above it, that
    one's words stand instead.

    Args:
        teaching: the text of `docs/teaching.md`.
        lesson: its number, "14".
    """
    parts = _LESSON.split(teaching)
    text = dict(zip(parts[1::2], parts[2::2])).get(lesson, "")
    plans: dict[int, list[Step]] = {}
    steps: list[Step] = []
    for line in text.splitlines():
        if head := _HEAD.match(line):
            steps = plans[int(head[1])] = []
        elif row := _ROW.match(line):
            steps.append(Step(int(row[1]), row[2], row[3] or row[2], row[4]))
    return [_in_full(step, plans[min(plans)]) for step in plans[max(plans)]] if plans else []


def _in_full(step, shorter):
    """A step of a plan that says “As above”, in the words of the shorter plan that it means."""
    more = re.fullmatch(r"As above(?:\.|,(?: and| then)?) ?(.*)", step.todo)
    meant = [other.todo for other in shorter if {other.first, other.last} & {step.first, step.last}]
    if not more or not meant:
        return step
    return replace(step, todo=" ".join([*meant, more[1][:1].upper() + more[1][1:]]).strip())


def of_cells(plan: Sequence[Step], ids: Sequence[str], wanted: Sequence[str]) -> list[Step]:
    """The steps of a plan that speak of some of these cells.

    Args:
        plan: the steps.
        ids: of all cells of the notebook, in their order.
        wanted: ids of the cells.
    """
    places = {name: place for place, name in enumerate(ids)}
    here = [places[name] for name in wanted]
    return [step for step in plan if step.first in places and step.last in places
            and any(places[step.first] <= place <= places[step.last] for place in here)]
