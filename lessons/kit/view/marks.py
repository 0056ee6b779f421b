"""The marks of a view's charts and the numbers that move them.

A *role* gives a mark its colour and form, and is the same in the whole course: "a" and "b" are the two networks,
"merged" is what was made of them, "single" are networks that were not merged, "chance" is guessing, "other" is
everything beside what a chart is about, "class1" and "class2" are classes of a data set.
"""
import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar

import numpy as np
from PIL import Image as Pixels

ROLES = ("a", "b", "merged", "single", "chance", "other", "class1", "class2")
KINDS_OF_AXIS = ("linear", "log", "places")


def percent(value: float, digits: int = 0) -> str:
    """A share as it is written in the course: "82 %"."""
    return f"{100 * value:.{digits}f} %"


@dataclass(frozen=True)
class Axis:
    """One axis of a chart.

    Attributes:
        label: what is measured, and its unit.
        low, high: from where to where it goes.
        kind: "linear", "log", or "places", where `ticks` names places 0, 1, 2, …
        ticks: {position: text}; empty leaves the choice to the page.
        unit: of the live values at the ends of lines: "percent" for shares, else a word such as "points", or "".
        digits: that live values have.
    """
    label: str
    low: float
    high: float
    kind: str = "linear"
    ticks: Mapping[float, str] = field(default_factory=dict)
    unit: str = ""
    digits: int = 0

    def __post_init__(self):
        if self.kind not in KINDS_OF_AXIS:
            raise ValueError(f"an axis is {', '.join(KINDS_OF_AXIS)}, not {self.kind!r}")
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise ValueError(f"the axis {self.label!r} needs finite ends, low < high, not {self.low} and {self.high}")
        if self.kind == "log" and self.low <= 0:
            raise ValueError(f"the axis {self.label!r} is logarithmic, so it cannot begin at {self.low}")

    def written(self, value: float) -> str:
        """A value as it stands at the end of a line."""
        if not np.isfinite(value):
            return ""
        if self.unit == "percent":
            return percent(value, self.digits)
        return f"{value:.{self.digits}f} {self.unit}".rstrip()


@dataclass(frozen=True)
class Mark:
    """Something that a chart shows.

    Attributes:
        name: by which a frame gives its numbers.
        role: what it stands for, one of `ROLES`.
        label: what is written at it.
        aside: whether it stays out of the table of all numbers, in which a mark without a label has its name.
    """
    name: str
    role: str = "other"
    label: str = ""
    aside: bool = field(default=False, kw_only=True)
    kind: ClassVar[str] = ""
    parts: ClassVar[tuple[str, ...]] = ("y",)  # the rows of numbers that a frame gives

    def __post_init__(self):
        if self.role not in ROLES:
            raise ValueError(f"the mark {self.name!r} has the role {self.role!r}; there are: {', '.join(ROLES)}")


@dataclass(frozen=True)
class Line(Mark):
    """A curve over the chart's x, with its live value at the right end, where the slider stands.

    Attributes:
        x: (points,) where it has its values; left out, the positions of the chart's slider.
        dots: whether the points are marked.
        dashed: a line of comparison.
        near: whether its live value, and its name if it has one, stand at the slider's point and not at the end of the
            line.
        bare: whether it has its name alone, without a live value.
    """
    x: tuple[float, ...] = ()
    dots: bool = False
    dashed: bool = False
    near: bool = False
    bare: bool = False
    kind: ClassVar[str] = "line"


@dataclass(frozen=True)
class Band(Mark):
    """What a line is sure of: from `low` to `high` at every point of it."""
    x: tuple[float, ...] = ()
    kind: ClassVar[str] = "band"
    parts: ClassVar[tuple[str, ...]] = ("low", "high")


@dataclass(frozen=True)
class Points(Mark):
    """Points, with error bars where a frame gives `low` and `high` too.

    Attributes:
        x: (points,) where they stand.
        written: whether each has its value beside it.
    """
    x: tuple[float, ...] = ()
    written: bool = False
    kind: ClassVar[str] = "points"
    parts: ClassVar[tuple[str, ...]] = ("y", "low", "high")


@dataclass(frozen=True)
class Bars(Mark):
    """Bars that stand on zero at the places of the x axis, with their values above them, unless they are `bare`."""
    x: tuple[float, ...] = ()
    bare: bool = False
    kind: ClassVar[str] = "bars"
    parts: ClassVar[tuple[str, ...]] = ("y", "low", "high")


@dataclass(frozen=True)
class Reference(Mark):
    """A horizontal line at one value, with its name at the right end."""
    kind: ClassVar[str] = "reference"


@dataclass(frozen=True)
class Path(Mark):
    """A curve through points that a frame places in both dimensions, such as a walk over a map, with its name at the
    last one."""
    kind: ClassVar[str] = "path"
    parts: ClassVar[tuple[str, ...]] = ("x", "y")


@dataclass(frozen=True)
class Spots(Mark):
    """Points that a frame places in both dimensions.

    Attributes:
        names: written beside them, one each, or one for the first.
        small: whether they are the many dots of a cloud.
        picks: names of controls, where the points are all their settings, those of the last control running fastest: a
            press in the chart chooses the nearest one.
    """
    names: tuple[str, ...] = ()
    small: bool = False
    picks: tuple[str, ...] = ()
    kind: ClassVar[str] = "spots"
    parts: ClassVar[tuple[str, ...]] = ("x", "y")


@dataclass(frozen=True)
class Star(Mark):
    """A star where the learner's guess lies, at one x. The page draws it where the view shows what was asked about.

    Attributes:
        x: where it stands.
        along: "x" where the guess is a place on the x axis: an upright line in place of the star.
    """
    x: tuple[float, ...] = ()
    along: str = "y"
    kind: ClassVar[str] = "star"
    parts: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class Handle(Mark):
    """The upright line where the slider stands: the slider's other handle. `name` is that of the control."""
    kind: ClassVar[str] = "handle"
    parts: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class Map(Mark):
    """A field of cells, rows of the y axis by places of the x axis; low fades into the page, high stands out.

    Attributes:
        rows: their names, from above; without names the field fills both axes, so that other marks can lie on it.
        low, high: the ends of the scale, which is drawn with the map.
    """
    rows: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    kind: ClassVar[str] = "map"
    parts: ClassVar[tuple[str, ...]] = ("cells",)


@dataclass(frozen=True)
class Image(Mark):
    """A grey picture of numbers from `low` to `high`, its first row above. The page colours it: low fades into the
    page, high is the role's colour. Those of two classes can lie on each other.

    Attributes:
        extent: where it lies on the axes, (left, right, below, above).
        low, high: the numbers that fade and stand out; beyond them nothing changes.
        photo: whether its numbers are red, green and blue, (rows, columns, 3), which the page shows as they are.
    """
    extent: tuple[float, ...] = (0.0, 1.0, 0.0, 1.0)
    low: float = 0.0
    high: float = 1.0
    photo: bool = False
    kind: ClassVar[str] = "image"
    parts: ClassVar[tuple[str, ...]] = ("cells",)


@dataclass(frozen=True)
class Letters(Mark):
    """A text, each letter of which has a value from −1 to 1, shown as colour behind it: the role b below 0, with a line
    above the letter, and a above 0, with a line under it. It fills a chart of its own, which `lettered` makes. The text
    is broken where the panel ends; a line end in it is shown as ¶, a control character as �.

    A frame gives (text, values), one value for each letter; one that is not finite has no colour.

    Attributes:
        ends: what −1 and 1 stand for, written at the ends of the scale.
    """
    ends: tuple[str, str] = ("B", "A")
    kind: ClassVar[str] = "letters"
    parts: ClassVar[tuple[str, ...]] = ("value",)

    def said(self, text: str, values: Sequence[float]) -> str:
        """The same in words, for the `alt` of a frame: for what share of the letters the value is above 0, and below,
        of those that have one, and the text.

        Raises:
            ValueError: as `rows_of`.
        """
        shown, rounded = rows_of(self, (text, values))
        known = [value for value in rounded if value is not None]
        shares = [percent(np.mean(signs)) for signs in (np.greater(known, 0), np.less(known, 0))] if known else []
        halves = [f"{share} of the letters towards “{end}”" for share, end in zip(shares, self.ends[::-1])]
        return f"{' and '.join(halves) or 'No letter has a colour'}: {shown or 'an empty text'}"


@dataclass(frozen=True)
class Chart:
    """One pair of axes and what is on it.

    Attributes:
        height: of the plot in pixels; 0 is the usual one. Of letters it is the least.

    Raises:
        ValueError: two marks have one name, or letters share their chart.
    """
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    height: int = 0

    def __post_init__(self):
        names = [mark.name for mark in self.marks]
        if len(set(names)) < len(names):
            raise ValueError(f"every mark of a chart has a name of its own; here are {', '.join(names)}")
        if len(names) > 1 and self.has_letters:
            raise ValueError(f"letters have a chart of their own; here are {', '.join(names)}")

    @property
    def slider(self) -> str:
        """The name of the control whose handle stands on it; "" where there is none."""
        return next((mark.name for mark in self.marks if isinstance(mark, Handle)), "")

    @property
    def has_letters(self) -> bool:
        """Whether it is a text in place of axes."""
        return any(isinstance(mark, Letters) for mark in self.marks)


def lettered(letters: Letters, label: str, height: int = 0) -> Chart:
    """A chart that is a text of coloured letters.

    Args:
        label: what their colour means; it stands above the text.
        height: the least height of the text in pixels, so that what is below it does not move with a longer text.
    """
    return Chart(Axis("letter", 0, 1), Axis(label, -1, 1, digits=1), (letters,), height)


@dataclass(frozen=True)
class Frame:
    """What a view shows at one setting of its controls.

    Attributes:
        title: one sentence that states the finding.
        alt: the same with its numbers, for those who do not see the charts.
        values: {mark: numbers}: a row of them, or one row for each of the mark's `parts`; of `Letters` (text, values).
        key: [(role, text)], the names of what is shown: the only legend.
    """
    title: str
    alt: str
    values: Mapping[str, Sequence]
    key: Sequence[tuple[str, str]] = ()


def key(*items: tuple[str, str]) -> list[tuple[str, str]]:
    """The names below a title, each with its role: ("a", "A learned digits turned by 45°").

    Raises:
        ValueError: a role that there is not.
    """
    for role, _ in items:
        if role and role not in ROLES:
            raise ValueError(f"there is no role {role!r}; there are: {', '.join(ROLES)}")
    return list(items)


def described(part) -> dict:
    """An axis, mark or chart as JSON can hold it, without what is left empty."""
    described_parts = {}
    for attribute in fields(part):
        value = getattr(part, attribute.name)
        if isinstance(value, tuple) and value and isinstance(value[0], Mark):
            value = [described(mark) for mark in value]
        elif isinstance(value, Axis):
            value = described(value)
        elif isinstance(value, Mapping):
            value = [[float(position), text] for position, text in value.items()]
        elif isinstance(value, tuple):
            value = [item if isinstance(item, str) else float(item) for item in value]
        elif isinstance(value, (float, np.floating)):
            value = float(value)
        if value not in ("", [], False):
            described_parts[attribute.name] = value
    return described_parts | ({"kind": part.kind, "parts": list(part.parts)} if isinstance(part, Mark) else {})


def png_of(image: Image, numbers) -> str:
    """An image's numbers as a PNG of 8 bits, grey unless it is a photo, in a data URI.

    Raises:
        ValueError: they are not (rows, columns), of a photo (rows, columns, 3).
    """
    array = np.asarray(numbers, dtype=float)
    if array.shape[2:] != ((3,) if image.photo else ()) or array.ndim < 2 or not array.size:
        raise ValueError(f"the image {image.name!r} takes rows of numbers, not numbers of shape {array.shape}")
    share = np.nan_to_num((array - image.low) / (image.high - image.low)).clip(0, 1)
    file = io.BytesIO()
    Pixels.fromarray((255 * share).round().astype(np.uint8)).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def rows_of(mark: Mark, numbers) -> list[list[float | None] | str] | str:
    """A frame's numbers of one mark as rows of finite numbers and None, one row for each of its parts; of an image its
    PNG; of letters the text that is shown and the row of values.

    Raises:
        ValueError: as many rows as the mark does not have, or rows of several lengths; letters without a value each,
            or with one beyond −1 and 1.
    """
    if isinstance(mark, Image):
        return png_of(mark, numbers)
    if isinstance(mark, Letters):
        return _letters_of(mark, numbers)
    array = np.asarray(numbers, dtype=float)
    rows = np.atleast_2d(array)
    if mark.kind in ("line", "reference"):
        rows = array.reshape(1, -1)
    if mark.kind != "map" and len(rows) > len(mark.parts) or rows.ndim != 2:
        raise ValueError(f"the mark {mark.name!r} takes {' and '.join(mark.parts)}, not numbers of shape {array.shape}")
    return [[_short(value) for value in row] for row in rows]


def _letters_of(mark, numbers):
    if len(numbers) != 2 or not isinstance(numbers[0], str):
        raise ValueError(f"the mark {mark.name!r} takes (text, values), not {numbers!r:.80}")
    text, values = numbers
    array = np.asarray(values, dtype=float)
    if array.shape != (len(text),):
        raise ValueError(f"the mark {mark.name!r} takes a text and a value for each of its {len(text)} letters, not "
                         f"values of shape {array.shape}")
    if (np.abs(array) > 1 + 1e-6).any():  # NaN is not
        raise ValueError(f"the mark {mark.name!r} takes values from -1 to 1, not {array[np.abs(array) > 1 + 1e-6][0]}")
    return [_NO_LETTER.sub("�", text.replace("\t", " ")), [_short(value) for value in array.clip(-1, 1)]]


_NO_LETTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # a line end is one


def gap(mark: Mark, numbers):
    """As many numbers as a frame gives for a mark, none of which is known; of letters no text."""
    return ("", []) if isinstance(mark, Letters) else np.full(np.shape(numbers), np.nan)


def _short(value):
    """Five digits are more than a picture shows; what is not finite is a gap."""
    return float(f"{value:.5g}") if np.isfinite(value) else None
