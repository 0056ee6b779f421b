"""Sentences of panels and self-tests in other languages, through gettext. Sphinx does the same for the text of pages.

`python -m tools.book --messages FILE` collects every sentence. A translation of them is
`site/locale/<language>/LC_MESSAGES/panels.po`. Numbers in a sentence become {0}, {1} and so on, so that one translation
serves all settings of a panel. What is not translated stays English.
"""
import io
import re
from collections.abc import Callable
from pathlib import Path

from babel.messages import pofile
from babel.messages.catalog import Catalog
from markupsafe import Markup

Say = Callable[[str], str]
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_PLACE = re.compile(r"\{([0-9]+)\}")
_WORD = re.compile(r"[^\W\d_]{2}")
_TAG = re.compile(r"<[^>]*>")
_BLOCK = re.compile(r"<(p|li|td|th|summary|figcaption|caption)\b([^>]*)>"
                    r"((?:(?!<(?:p|li|td|th|summary|figcaption|caption|div|table|ul|ol|img|svg|pre)\b).)*?)</\1>",
                    re.DOTALL)
_OF_THE_PAGE = re.compile(r'\bsay\("((?:[^"\\]|\\.)*)"')
# where words stand in a panel's spec, in a frame and in a question; "*" is every entry of a list
_SPEC = ("kicker", "caption", "tries.*", "prediction.question", "controls.*.label", "controls.*.texts.*",
         "controls.*.words.*", "controls.*.ends.*.1", "charts.*.x.label", "charts.*.y.label", "charts.*.x.ticks.*.1",
         "charts.*.y.ticks.*.1", "charts.*.marks.*.label", "charts.*.marks.*.names.*", "question", "choices.*.text",
         "choices.*.answer", "choices.*.word")
_FRAME = ("title", "alt", "key.*.1")


def masked(text: str) -> tuple[str, list[str]]:
    """A sentence with {0}, {1} … in place of its numbers, and these."""
    numbers: list[str] = []

    def taken(match):
        numbers.append(match[0])
        return f"{{{len(numbers) - 1}}}"
    return _NUMBER.sub(taken, text), numbers


class Translation:
    """What a file of translations makes of sentences; a sentence that it lacks stays as it is.

    Args:
        path: the file; without one, everything stays English.

    Raises:
        ValueError: a translation has other numbers than its sentence.
    """

    def __init__(self, path: Path | None = None):
        self._known: dict[str, str] = {}
        for message in pofile.read_po(io.BytesIO(path.read_bytes())) if path and path.exists() else ():
            if message.id and message.string:
                if set(_PLACE.findall(message.id)) != set(_PLACE.findall(message.string)):
                    raise ValueError(f"{path}: {message.string!r} must have the same {{numbers}} as {message.id!r}")
                self._known[message.id] = message.string

    def __call__(self, text: str) -> str:
        """A sentence with its numbers, in the other language."""
        sentence, numbers = masked(text)
        if sentence not in self._known:
            return text
        return _PLACE.sub(lambda place: numbers[int(place[1])], self._known[sentence])

    def of_a_script(self, text: str) -> str:
        """A sentence of a script, whose numbers are {0}, {1} … already."""
        return self._known.get(text, text)


ENGLISH = Translation()


def said(state: dict, say: Say) -> dict:
    """The state of a panel or a question, in which `say` has made something of every sentence. The given one stays as
    it is."""
    result = {**state, "spec": _all(state["spec"], _SPEC, say)}
    if "frames" in state:
        frames = {place: _all(frame, _FRAME, say) for place, frame in state["frames"]["frames"].items()}
        result["frames"] = {**state["frames"], "frames": frames}
    return result


def _all(part, paths, say):
    for path in paths:
        part = _changed(part, path.split("."), say)
    return part


def _changed(part, path, say):
    """A copy of nested lists and mappings in which the texts at the end of a path are changed."""
    if not path:
        return say(part) if isinstance(part, str) and _WORD.search(part) else part
    first, *more = path
    if isinstance(part, dict) and first in part:
        return {**part, first: _changed(part[first], more, say)}
    if isinstance(part, (list, tuple)):
        if first == "*":
            return [_changed(entry, more, say) for entry in part]
        if first.isdigit() and int(first) < len(part):
            return [_changed(entry, more, say) if place == int(first) else entry for place, entry in enumerate(part)]
    return part


def html(page: Markup, say: Say) -> Markup:
    """What a cell shows, in which `say` has made something of the HTML of each paragraph, list entry and table
    cell."""
    def changed(match):
        name, about, inside = match.groups()
        return f"<{name}{about}>{say(inside)}</{name}>" if _WORD.search(_TAG.sub("", inside)) else match[0]
    return Markup(_BLOCK.sub(changed, page))


class Collecting:
    """Takes the place of a translation and notes every sentence.

    Attributes:
        catalog: what it has heard.
    """

    def __init__(self):
        self.catalog = Catalog(project="Weightspace", charset="utf-8")

    def __call__(self, text: str) -> str:
        self.of_a_script(masked(text)[0])
        return text

    def of_a_script(self, text: str) -> str:
        if text not in self.catalog:
            self.catalog.add(text)
        return text

    def write(self, path: Path) -> None:
        """Write the sentences as a template for translators."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            pofile.write_po(file, self.catalog, width=0, sort_output=True)


def words_of(script: str) -> list[str]:
    """The sentences of a script of the pages: the first argument of every `say`."""
    return [sentence.replace('\\"', '"') for sentence in _OF_THE_PAGE.findall(script)]
