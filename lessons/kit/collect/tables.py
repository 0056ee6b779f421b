"""What a teacher reads: how many passed each exercise, who made which mistake, and the same for a spreadsheet.

Names of files, and sentences that an answer had a part in, can be anything. So everything is escaped for the page, for
the terminal and for the spreadsheet.
"""
import csv
import io
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from markupsafe import Markup

from lessons.kit import chapters
from lessons.kit import exercise as exercises
from lessons.kit.collect.marking import MISTAKE, OPEN, OTHER, PASSED, Mark, Row
from lessons.kit.page import capital, paragraph, quiet, table

SIGNS = {PASSED: "✓", OPEN: "·", MISTAKE: "✗", OTHER: "!"}
LEGEND = "✓ passed, ✗ a known mistake, ! something else, · not answered"
_FORMULA = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")  # also in their wide forms, which spreadsheets take, too
_WIDTH = 110


@dataclass(frozen=True)
class Summary:
    """What became of one exercise.

    Attributes:
        id, title: of the exercise.
        counts: {PASSED, OPEN, MISTAKE or OTHER: how many}.
        mistakes: (sentence, how many) of every known mistake, the commonest first.
        others: (what was the matter, how many), likewise.
    """
    id: str
    title: str
    counts: dict[str, int]
    mistakes: list[tuple[str, int]]
    others: list[tuple[str, int]]


def summaries(rows: Sequence[Row]) -> dict[str, list[Summary]]:
    """{name of the course's notebook: what became of its exercises}, of the notebooks that were handed in."""
    stems = [chapter.stem for chapter in chapters.CHAPTERS if any(row.chapter == chapter.stem for row in rows)]
    found_in = {stem: [row.marks for row in rows if row.chapter == stem] for stem in stems}
    return {stem: [_summary(marks) for marks in zip(*found_in[stem])] for stem in stems}


def _summary(marks):
    kinds = Counter(mark.kind for mark in marks)
    labels = {kind: Counter(mark.label for mark in marks if mark.kind == kind) for kind in (MISTAKE, OTHER)}
    return Summary(marks[0].exercise, exercises.find(marks[0].exercise).title,
                   {kind: kinds[kind] for kind in SIGNS}, labels[MISTAKE].most_common(), labels[OTHER].most_common())


def printable(text: str) -> str:
    """A text in one line, with what would control a terminal or turn the line round spelled out."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in " ".join(text.split()))


# -- for the terminal --------------------------------------------------------------------------------------------------

def text(rows: Sequence[Row]) -> str:
    """All tables as lines of text."""
    lines = []
    for stem, of_chapter in summaries(rows).items():
        count = sum(row.chapter == stem for row in rows)
        lines += [f"{stem}: {_notebooks(count)}", ""]
        for summary in of_chapter:
            lines += [f"  {summary.id} {summary.title}", f"      {_counts(summary.counts)}"]
            for sign, labels in ((SIGNS[MISTAKE], summary.mistakes), (SIGNS[OTHER], summary.others)):
                for label, times in labels:
                    head = f"    {times:>4} {sign} "
                    lines += textwrap.wrap(printable(label), _WIDTH, initial_indent=head,
                                           subsequent_indent=" " * len(head))
        lines.append("")
    lines += [f"Every notebook: {LEGEND}", ""]
    for row in rows:
        lines += _line(row)
    return "\n".join(lines)


def _line(row):
    name = f"  {printable(row.path)}: "
    if row.problem:
        return [name + printable(row.problem)]
    marks = "  ".join(f"{mark.exercise} {SIGNS[mark.kind]}" for mark in row.marks)
    return [f"{name}{row.passed} of {len(row.marks)} passed   {marks}",
            *(f"      {printable(note)}" for note in row.notes)]


def _notebooks(count):
    return "1 notebook" if count == 1 else f"{count} notebooks"


def _counts(counts):
    return (f"{counts[PASSED]} passed, {counts[MISTAKE]} with a known mistake, {counts[OTHER]} with something else, "
            f"{counts[OPEN]} not answered")


# -- a page ------------------------------------------------------------------------------------------------------------

_PAGE = Markup("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="lessons.kit.collect">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>What the class thinks</title>
<style>
body {{ font: 16px/1.45 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }}
table {{ border-collapse: collapse; margin: 1em 0 2em }}
td, th {{ padding: 0.3em 0.8em; text-align: right; vertical-align: top; border-bottom: 1px solid #8886 }}
tr > :first-child {{ overflow-wrap: anywhere }}
</style></head><body><main>
<h1>What the class thinks</h1>
{}</main></body></html>
""")
PAGE_BEGINS = "".join(str(_PAGE).splitlines(keepends=True)[:2]).replace("{{", "{").encode()


def page(rows: Sequence[Row]) -> str:
    """All tables as one web page, which can run no script and fetch nothing, whatever stands in it."""
    parts = []
    for stem, of_chapter in summaries(rows).items():
        count = sum(row.chapter == stem for row in rows)
        parts += [Markup("<h2>{}</h2>").format(f"{stem}: {_notebooks(count)}"),
                  table(("exercise", "passed", "known mistake", "something else", "not answered"),
                        [(f"{summary.id} {summary.title}", *map(summary.counts.get, (PASSED, MISTAKE, OTHER, OPEN)))
                         for summary in of_chapter]).page]
        parts += [_mistakes_of(summary) for summary in of_chapter if summary.mistakes or summary.others]
    parts += [Markup("<h2>Every notebook</h2>"), quiet(LEGEND)]
    parts += [_rows_of(stem, [row for row in rows if row.chapter == stem]) for stem in summaries(rows)]
    parts += [_problems([row for row in rows if row.problem])]
    return _PAGE.format(Markup("\n").join(parts))


def _mistakes_of(summary):
    rows = [(SIGNS[MISTAKE], label, times) for label, times in summary.mistakes]
    rows += [(SIGNS[OTHER], label, times) for label, times in summary.others]
    title = Markup("<h3>{}</h3>").format(f"{summary.id} {summary.title}")
    return table(("", "what the check says", "how often"), [(sign, printable(label), times)
                                                             for sign, label, times in rows], before=title, left=2).page


def _rows_of(stem, rows):
    marks = [[_shown(mark) for mark in row.marks] for row in rows]
    head = (stem, "passed", *(mark.exercise for mark in rows[0].marks))
    notes = [paragraph(printable(f"{row.path}: {note}")) for row in rows for note in row.notes]
    return table(head, [(printable(row.path), f"{row.passed} of {len(row.marks)}", *signs)
                        for row, signs in zip(rows, marks)], after=Markup("").join(notes)).page


def _shown(mark):
    said = printable(f"{capital(mark.kind)}. {mark.says}")
    return Markup('<span role="img" title="{}" aria-label="{}">{}</span>').format(said, said, SIGNS[mark.kind])


def _problems(rows):
    if not rows:
        return Markup("")
    return table(("not marked", "why"), [(printable(row.path), printable(row.problem)) for row in rows], left=2).page


# -- for spreadsheets --------------------------------------------------------------------------------------------------

COLUMNS = ("file", "student", "notebook", "exercise", "result", "what", "message")
# those of `nbgrader export`
NBGRADER = ("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
            "late_submission_penalty", "score", "max_score")


def student(path: str) -> str:
    """Whose file this is: the first folder on its way, or the second one in nbgrader's folder `submitted`, or the name
    of the file where it is in no folder."""
    parts = PurePath(path).parts
    parts = parts[1:] if parts[0] == "submitted" and len(parts) > 1 else parts
    return parts[0] if len(parts) > 1 else PurePath(path).stem


def harmless(value: object) -> object:
    """A cell of a spreadsheet: a text that would be taken for a formula gets an apostrophe in front."""
    if not isinstance(value, str):
        return value
    line = printable(value)
    return f"'{line}" if line.startswith(_FORMULA) else line


def _written(head, rows):
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([list(map(harmless, row)) for row in rows])
    return file.getvalue()


def as_csv(rows: Sequence[Row]) -> str:
    """A line for every answer, for a spreadsheet."""
    lines = []
    for row in rows:
        marks = row.marks or (Mark("", "not marked", says=row.problem),)
        lines += [(row.path, student(row.path), row.chapter, mark.exercise, mark.kind, mark.label, mark.says)
                  for mark in marks]
    return _written(COLUMNS, lines)


def as_nbgrader(rows: Sequence[Row]) -> str:
    """The columns that `nbgrader export` writes: a line for every student and notebook, and a point an exercise. Of
    several files the best one counts."""
    best = {}
    for row in rows:
        if row.chapter:
            key = row.chapter, student(row.path)
            best[key] = max(best.get(key, row), row, key=lambda row: row.passed)
    return _written(NBGRADER, [(stem, "", "", name, "", "", "", float(row.passed), 0.0, float(row.passed),
                                float(len(row.marks))) for (stem, name), row in sorted(best.items())])
