"""Readings on several seeds: which sentences that a notebook's code writes say something else on another seed.

    python -m lessons.kit.readings NOTEBOOK --seeds 0-4

executes a notebook once a seed, with the library's answers, and compares the paragraphs of its outputs without their
numbers. It prints each whose words differ, with the seeds on each side, and exits with 1 if there are any. Such a
sentence claims more than its numbers carry: rewrite it until what it says holds on all seeds, or let it say "on this
seed". `--titles` compares the titles of the panels too, as they open.

NOTEBOOK is a chapter such as 09_head_start, or a file. What is executed is written to a folder of its own, which is
deleted; networks and sweeps are kept where they always are.
"""
import argparse
import re
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import nbformat
from papermill import PapermillExecutionError

from lessons.kit import chapters
from lessons.kit.notebooks import PROFILES, NotebookError, execute

NUMBER = "#"
_WORDS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
            seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"""
_DIGITS = r"[-+−]?(?:\d[\d.,]*)?\d(?:e[-+]?\d+)?(?: ?%)?"
_NUMBER = re.compile(rf"(?<!\w){_DIGITS}|[¼½¾]|\b(?:{'|'.join(_WORDS.split())})\b", re.IGNORECASE)
_SEVERAL = re.compile(rf"{NUMBER}(?:(?:,? and |, | ± |-| ){NUMBER})+")
_VIEW, _STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"


@dataclass(frozen=True, order=True)
class Place:
    """Where a reading stands.

    Attributes:
        index: of its cell, counted from 0.
        cell: the cell's id.
        nth: which of the cell's readings it is, counted from 0.
    """
    index: int
    cell: str
    nth: int


@dataclass(frozen=True)
class Flip:
    """A reading whose words differ between seeds.

    Attributes:
        place: where it stands.
        wordings: {seeds: what the first of them shows}, "" where there is no such reading.
    """
    place: Place
    wordings: Mapping[tuple[int, ...], str]

    def __str__(self):
        beginning = textwrap.shorten(next(filter(None, self.wordings.values())), 60, placeholder=" …")
        lines = [f"cell {self.place.index} ({self.place.cell}), reading {self.place.nth + 1}, “{beginning}”:"]
        for seeds, text in zip(self.wordings, _where_they_differ(list(self.wordings.values()))):
            head = f"  seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}: "
            lines.append(textwrap.fill(text, 120, initial_indent=head, subsequent_indent="    "))
        return "\n".join(lines)


class _Paragraphs(HTMLParser):
    """The texts of the paragraphs of a page."""

    def __init__(self, page):
        super().__init__()
        self.texts, self._inside = [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "p":
            self.texts.append("")
            self._inside = True

    def handle_endtag(self, tag):
        if tag == "p":
            self._inside = False

    def handle_data(self, text):
        if self._inside:
            self.texts[-1] += text


def readings(executed: nbformat.NotebookNode, titles: bool = False) -> dict[Place, str]:
    """The paragraphs in the outputs of an executed notebook.

    Args:
        executed: with its widgets' state, as `notebooks.execute` returns it.
        titles: also those of the panels, at the setting at which they open.
    """
    texts = {}
    states = executed.metadata.get("widgets", {}).get(_STATE, {}).get("state", {})
    for index, cell in enumerate(executed.cells):
        shown = []
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            shown += _title(data, states) if titles else []
            shown += [" ".join(text.split()) for text in _Paragraphs("".join(data.get("text/html", ""))).texts]
        for nth, text in enumerate(text for text in shown if text):
            texts[Place(index, cell.get("id", ""), nth)] = text
    return texts


def _title(data, states):
    """[the title of the panel that an output shows], or nothing."""
    state = states.get(data.get(_VIEW, {}).get("model_id"), {}).get("state", {})
    frames = (state.get("frames") or {}).get("frames", {})
    frame = frames.get(",".join(map(str, state.get("positions") or [])), {})
    return [frame["title"]] if frame.get("title") else []


def masked(text: str) -> str:
    """A text with a sign for each of its numbers, written in digits or in words, and one for several in a row."""
    return _SEVERAL.sub(NUMBER, _NUMBER.sub(NUMBER, text))


def flips(of_seeds: Mapping[int, Mapping[Place, str]]) -> list[Flip]:
    """The readings whose words are not the same on all seeds, in the notebook's order.

    Args:
        of_seeds: {seed: what `readings` gives}.
    """
    differing = []
    for place in sorted({place for texts in of_seeds.values() for place in texts}):
        seeds_of: dict[str, list[int]] = {}
        for seed, texts in of_seeds.items():
            seeds_of.setdefault(masked(texts.get(place, "")), []).append(seed)
        if len(seeds_of) > 1:
            wordings = {tuple(seeds): of_seeds[seeds[0]].get(place, "") for seeds in seeds_of.values()}
            differing.append(Flip(place, wordings))
    return differing


def _where_they_differ(texts):
    """Each text from the first sentence in which they differ to the last one."""
    split = [re.split(r"(?<=[.?!;]) ", text) for text in texts]
    same = [[masked(sentence) for sentence in sentences] for sentences in split]
    room = min(map(len, same))
    start = next((place for place in range(room) if len({words[place] for words in same}) > 1), room)
    room -= start
    end = next((place for place in range(room) if len({words[-1 - place] for words in same}) > 1), room)
    cut = [sentences[start:len(sentences) - end] for sentences in split]
    return [("… " if start else "") + (" ".join(sentences) or "(nothing here)") + (" …" if end else "")
            for sentences in cut]


def seeds(text: str) -> list[int]:
    """The seeds of "0-4" or "0,2,7-9".

    Raises:
        ValueError: these are no seeds.
    """
    listed = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        listed += range(int(first), int(last or first) + 1)
    if not listed:
        raise ValueError(f"{text!r} names no seed")
    return listed


def _path(name):
    path = Path(name)
    return path if path.is_file() else chapters.chapter(path.stem).notebook


def main(arguments: list[str] | None = None) -> int:
    """Execute a notebook on every seed and print the readings whose words differ. Returns 1 if there are any, or if the
    notebook did not run on a seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook", type=_path, metavar="NOTEBOOK", help="such as 09_head_start, or a file")
    parser.add_argument("--seeds", type=seeds, default=seeds("0-4"), help="such as 0-4 or 0,2,7-9")
    parser.add_argument("--profile", default="quick", choices=PROFILES)
    parser.add_argument("--titles", action="store_true", help="compare the titles of the panels too")
    options = parser.parse_args(arguments)
    of_seeds, failed = {}, False
    with tempfile.TemporaryDirectory() as folder:
        for seed in options.seeds:
            try:
                executed = execute(options.notebook, Path(folder) / f"{seed}.ipynb", profile=options.profile,
                                   solved=True, seed=seed)
            except (NotebookError, PapermillExecutionError) as error:
                failed = True
                print(f"seed {seed}: the notebook did not run: {error}", file=sys.stderr)
            else:
                of_seeds[seed] = readings(executed, options.titles)
    differing = flips(of_seeds)
    count = len({place for texts in of_seeds.values() for place in texts})
    print(f"{options.notebook.stem}, profile {options.profile}, seeds {', '.join(map(str, of_seeds))}: "
          f"{len(differing)} of {count} readings differ in their words")
    for flip in differing:
        print(f"\n{flip}")
    return int(failed or bool(differing))


if __name__ == "__main__":
    sys.exit(main())
