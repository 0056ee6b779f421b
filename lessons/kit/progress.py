"""The map of the course, which fills as the learner goes on, and where to resume: what the diary says, drawn.

A lesson has a mark for every exercise, prediction and question of its self-test. A mark is filled once the exercise was
passed, the prediction committed, the question answered correctly.
"""
import datetime
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data import store
from lessons.kit import diary
from lessons.kit.chapters import CHAPTERS, LESSONS, Chapter, read_markdown
from lessons.kit.page import Markup, Page, bold, folded, paragraph, quiet, said, slug, table

WORD = "delete my diary"
KINDS = {"exercises": ("exercise", "passed"), "guesses": ("prediction", "made"),
         "questions": ("self-test question", "answered correctly")}
_STEP, _GAP = 14, 9  # pixels: from one mark to the next, and between kinds
_SHAPES = {"exercises": Markup('<rect x="{}" y="2" width="9" height="9" rx="1.5" {}/>'),
           "guesses": Markup('<path d="M{} 0.7l5.8 5.8l-5.8 5.8l-5.8 -5.8z" {}/>'),
           "questions": Markup('<circle cx="{}" cy="6.5" r="4.9" {}/>')}
_BEGINS = {"exercises": 0.5, "guesses": 5.5, "questions": 5}  # where a shape's x is, from its left edge
_FULL = Markup('fill="#009E73" stroke="#009E73"')
_EMPTY = Markup('fill="none" stroke="currentColor" stroke-opacity="0.55"')


@dataclass(frozen=True)
class Done:
    """What of one notebook is done.

    Attributes:
        asked: {kind: ids} of what it asks, by the keys of `KINDS`.
        done: the ids that are done.
        is_opened: whether the learner has opened it.
    """
    asked: Mapping[str, Sequence[str]]
    done: frozenset[str]
    is_opened: bool

    def counts(self, kind: str) -> tuple[int, int]:
        """(how many are done, how many there are) of a kind."""
        ids = self.asked[kind]
        return sum(id in self.done for id in ids), len(ids)

    @property
    def share(self) -> float:
        """Of all that is asked, from 0 to 1."""
        counts = [self.counts(kind) for kind in KINDS]
        return sum(done for done, _ in counts) / max(1, sum(count for _, count in counts))

    @property
    def words(self) -> str:
        """For those who do not see the marks: "1 of 3 exercises passed, 0 of 1 prediction made"."""
        parts = []
        for kind, (noun, verb) in KINDS.items():
            done, count = self.counts(kind)
            parts += [f"{done} of {count} {noun}{'s' * (count != 1)} {verb}"] if count else []
        return ", ".join(parts)


class Progress(Page):
    """The map of the course, with what the learner's diary says.

    Attributes:
        chapters: {a notebook's stem: what of it is done}.
    """

    def __init__(self, chapters: Mapping[str, Done], text: str, page: Markup):
        super().__init__(text, page)
        self.chapters = dict(chapters)

    def export(self, path, name: str = "") -> Path:
        """Write a copy of the diary, which you can hand to a teacher. `progress(path)` shows it.

        Args:
            path: of the new file, such as "my-diary.jsonl".
            name: yours, if it shall stand in the file.

        Raises:
            StoreError: there is a file already, its folder cannot be written, or the disk is full.
        """
        path = Path(path).expanduser()
        if os.path.lexists(path):
            raise store.StoreError(f"{path} is there already. Choose another name, such as "
                                   f"{path.with_name(f'{path.stem}-2{path.suffix}')}.")
        known = diary.read()
        if known.problems and not known.entries:
            raise store.StoreError(" ".join(known.problems))
        written = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        head = {"v": diary.VERSION, "at": written, "what": "export", "id": name[:200]}
        lines = [json.dumps(head), *(entry.model_dump_json(exclude_defaults=True) for entry in known.entries)]
        try:
            store.writable(path.parent)
        except store.StoreError as error:  # it speaks of the data folder
            why = getattr(error.__cause__, "strerror", None) or error
            raise type(error)(f"{path} cannot be written: {why}. Choose a folder that you can write to.") from error
        with store.atomic(path) as part:
            part.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def delete(self, word: str = "") -> Page:
        """Delete the diary, if the word is "delete my diary".

        Raises:
            StoreError: it cannot be deleted.
        """
        if word != WORD:
            lines = len(diary.read().entries)
            return _line(f'Nothing is deleted yet. progress().delete("{WORD}") deletes all {lines:,} lines of your '
                         "diary, and nothing brings them back.")
        deleted = diary.forget()
        return _line(f"Deleted: {', '.join(map(str, deleted))}." if deleted else "There is no diary.")


def progress(path=None) -> Progress:
    """The map of the course: every notebook, how long it takes, what of it is done, what one knows afterwards. Those
    for readers of the papers follow the lesson that they belong to. Where no diary is kept, it is the map alone.

    Args:
        path: of an exported diary, to show that one.

    Raises:
        StoreError: it cannot be read.
    """
    is_on = path is not None or diary.is_on()
    known = diary.read(None if path is None else Path(path).expanduser()) if is_on else diary.Read()
    chapters = {chapter.stem: _done(chapter, known.entries) for chapter in CHAPTERS}
    page = _table(chapters, is_on)
    if not is_on:
        return Progress(chapters, page.text, page.page)
    parts = [_resume(chapters, known.entries), *map(_line, known.problems), _legend(), page]
    parts += [_about()] if path is None else []
    return Progress(chapters, "\n".join(part.text for part in parts), Markup("").join(part.page for part in parts))


def _done(chapter, entries):
    asks = chapter.asks
    ids_of = {"exercises": asks.exercises, "guesses": tuple(asks.guesses.values()), "questions": asks.questions}
    done = {entry.id for entry in entries if entry.passed or entry.what == "guess"}
    ids = {id for kind in ids_of.values() for id in kind} | {chapter.stem}
    return Done(ids_of, frozenset(done & ids), any(entry.id in ids for entry in entries))


def _table(chapters, is_on):
    rows = []
    for chapter in CHAPTERS:
        link = Markup('<a href="{}">{}</a>').format(chapter.place, chapter.title)
        number = "deeper" if chapter.deeper else chapter.number
        done = chapters[chapter.stem]
        first = number if not is_on else _ring(number, done.share)
        marks = [_marks(done)] if is_on else []
        rows.append((first, link, f"{chapter.minutes}\N{NO-BREAK SPACE}min", *marks, chapter.teaches))
    head = ("", "lesson", "time", *(["done"] if is_on else []), "what you will know")
    text = "\n".join(f"{chapter.number} {chapter.title}: {chapters[chapter.stem].words if is_on else chapter.teaches}"
                     for chapter in CHAPTERS)
    return table(head, rows, text=text, left=5)


def _ring(number, share):
    """A lesson's number in a ring that fills; of a deeper notebook a smaller ring."""
    deeper = not number.isdigit()
    radius = 7 if deeper else 12
    side = 2 * radius + 6
    around = 2 * math.pi * radius
    ring = Markup('<circle cx="{c}" cy="{c}" r="{r}" fill="{fill}" fill-opacity="0.18" stroke="currentColor" '
                  'stroke-opacity="0.25" stroke-width="3"/>').format(c=side / 2, r=radius,
                                                                     fill="#009E73" if share == 1 else "none")
    if share:
        ring += Markup('<circle cx="{c}" cy="{c}" r="{r}" fill="none" stroke="#009E73" stroke-width="3" '
                       'stroke-dasharray="{on:.1f} {around:.1f}" transform="rotate(-90 {c} {c})"/>').format(
                           c=side / 2, r=radius, on=share * around, around=around)
    if not deeper:
        ring += Markup('<text x="{c}" y="{y}" text-anchor="middle" font-size="12" fill="currentColor">{number}</text>'
                       ).format(c=side / 2, y=side / 2 + 4, number=number)
    drawn = _svg(side, side, f"{'' if deeper else f'lesson {number}, '}{share:.0%} done", ring)
    return Markup('<span style="white-space:nowrap">{} {}</span>').format(drawn, number) if deeper else drawn


def _marks(done):
    """A mark for everything that a notebook asks, filled where it is done."""
    marks, x = Markup(""), 0
    for kind, ids in done.asked.items():
        for id in ids:
            marks += _SHAPES[kind].format(x + _BEGINS[kind], _FULL if id in done.done else _EMPTY)
            x += _STEP
        x += _GAP if ids else 0
    return _svg(max(x, 1), 13, done.words, marks) if marks else ""


def _svg(width, height, label, inside):
    """A drawing that is described by its label, or, without one, said to nobody."""
    named = Markup('role="img" aria-label="{}"').format(label) if label else Markup('aria-hidden="true"')
    return Markup('<svg {} width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
                  'style="display:inline-block;vertical-align:middle;max-width:none;min-width:{width}px">{}</svg>'
                  ).format(named, inside, width=width, height=height)


def _legend():
    """What the three marks stand for."""
    words = ("an exercise that you passed", "a prediction that you made", "a question that you answered correctly")
    parts = [_svg(12, 13, "", _SHAPES[kind].format(_BEGINS[kind], _FULL)) + Markup(" {}").format(word)
             for kind, word in zip(_SHAPES, words)]
    return Page("", quiet(Markup(" \N{EM SPACE}").join(parts)))


# -- where to resume -------------------------------------------------------------------------------

def _resume(chapters, entries):
    """How far the learner is, and a link to where they left."""
    last = _last(chapters, entries)
    if last is None:
        return _line("It fills when you pass an exercise, make a prediction or answer a question. Then run this cell "
                     "again.", "The map is still empty")
    counts = {kind: [sum(numbers) for numbers in zip(*(done.counts(kind) for done in chapters.values()))]
              for kind in KINDS}
    so_far = said("So far: {e[0]} of {e[1]} exercises passed, {g[0]} of {g[1]} predictions made, {q[0]} of {q[1]} "
                  "questions answered correctly.", e=counts["exercises"], g=counts["guesses"], q=counts["questions"])
    chapter, exercise = _next(last, chapters)
    if chapter is None:
        return _line(so_far, "You have done the whole course")
    place = chapter.place + (f"#{_heading(chapter, exercise)}" if exercise else "")
    words = f"{'deeper notebook' if chapter.deeper else 'lesson'} {chapter.number}, {chapter.title}"
    words += f", at exercise {exercise}" if exercise else ""
    page = Markup('<p>{} <a href="{}">{}</a>. {}</p>').format(bold("Go on with"), place, words, so_far)
    return Page(f"Go on with {words}. {so_far}", page)


def _last(chapters, entries):
    """The notebook that the learner did something in last; None where there is none."""
    for entry in reversed(entries):
        for chapter in CHAPTERS:
            if entry.id == chapter.stem or any(entry.id in ids for ids in chapters[chapter.stem].asked.values()):
                return chapter
    return None


def _next(last, chapters) -> tuple[Chapter | None, str]:
    """(the notebook to go on with, its first exercise that is not passed or ""): the one that was used last, unless it
    is done; then the first lesson behind it, or before it, that is not. None where all lessons are done."""
    behind = [chapter for chapter in LESSONS if CHAPTERS.index(chapter) > CHAPTERS.index(last)]
    for chapter in [last, *behind, *LESSONS]:
        done = chapters[chapter.stem]
        if done.share < 1:
            open_ones = [id for id in done.asked["exercises"] if id not in done.done]
            return chapter, open_ones[0] if open_ones and done.is_opened else ""
    return None, ""


def _heading(chapter, exercise):
    """What a link names the heading of an exercise by; "" where it has none."""
    for line in "\n".join(read_markdown(chapter.notebook)).splitlines():
        if line.startswith(f"### Exercise {exercise} ") and not set("$`*") & set(line):  # else its name is another one
            return slug(line.removeprefix("### "))
    return ""


def _about():
    """Where the diary is, and what can be done with it."""
    path = diary.paths()[0]
    path = next((place for place in diary.paths() if os.path.exists(place)), path)
    rows = [('progress().export("my-diary.jsonl")', "writes a copy that you can hand to a teacher"),
            (f'progress().delete("{WORD}")', "deletes it"),
            ("WEIGHTSPACE_DIARY=off", "set before JupyterLab starts, keeps none")]
    where = paragraph(Markup("It is the file <code>{}</code> on this computer. It is sent nowhere.").format(path))
    code = [(Markup("<code>{}</code>").format(left), right) for left, right in rows]
    return folded("Your diary", Page(where, where), table(("", ""), code, left=2))


def _line(text, title=""):
    if not title:
        return Page(text, paragraph(text))
    return Page(f"{title}. {text}", paragraph(Markup("{} {}").format(bold(f"{title}."), text)))
