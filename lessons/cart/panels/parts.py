"""What the pictures share: an axis of ranks, names, numbers in words."""
import numpy as np
import xarray

from lessons.kit.sweep import position
from lessons.kit.view import Axis, Control, slider

AVERAGE, OWN = "average", "own networks"
COUNTS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def together(*sweeps: xarray.Dataset) -> xarray.Dataset:
    """The cases of several sweeps like that of `peak.measure` in one Dataset, with what all of them have; what captions
    say is the first one's."""
    known = set.intersection(*(set(sweep.data_vars) for sweep in sweeps))
    return xarray.concat([sweep[sorted(known)] for sweep in sweeps], "case", combine_attrs="override")


class Ranks:
    """The ranks of a sweep as a reader meets them: directions kept in layer 1 or, where layers of many sizes are cut to
    one share, per cent.

    Attributes:
        values: as the sweep has them.
        texts: for a slider and for ticks.
    """

    def __init__(self, sweep: xarray.Dataset):
        self.values = numbers_of(sweep["rank"])
        self._directions = sweep.attrs.get("directions")
        if self._directions is None:
            self.texts = [f"{100 * value:g}" for value in self.values]
        else:
            self.texts = [*(str(self.count(value)) for value in self.values[:-1]), "all"]

    def count(self, rank: float) -> int:
        """How many directions of layer 1 a rank of the sweep keeps."""
        return round(rank * self._directions)

    def said(self, rank: float) -> str:
        """One rank in a sentence: "12 directions", "all directions", "8 %"."""
        text = self.texts[position(self.values, rank, "rank")]
        if self._directions is None:
            return f"{text} %"
        return f"{text} direction{'' if text == '1' else 's'}"

    @property
    def places(self) -> tuple[float, ...]:
        """Where they stand on an axis that gives every rank the same room."""
        return tuple(float(place) for place in range(len(self.values)))

    def view_axis(self, label: str, tail: bool = False) -> Axis:
        """The x axis of a view, with every second rank named, and the last; with `tail`, for a broad chart, each of the
        last five."""
        last = len(self.values) - 1
        named = {place: text for place, text in zip(self.places, self.texts)
                 if last < 11 or place == last or (place % 2 == 0 and place != last - 1) or (tail and place > last - 5)}
        return Axis(label, -0.3, last + 0.3, kind="places", ticks=named)

    def view_slider(self, value: float, ends=("none", "all")) -> Control:
        """A view's slider over all ranks, which begins at the one that is nearest to `value`."""
        nearest = min(self.values, key=lambda rank: abs(rank - value))
        label = "rank kept" if self._directions is None else "directions kept"
        return slider(label, dict(zip(self.texts, self.values)), nearest, words=self.said,
                           ends=[("", end) for end in ends], places=self.places)

    def bars(self, sigma: np.ndarray, broad) -> tuple[np.ndarray, np.ndarray]:
        """Singular values as two kinds of bars, one value a place of the axis: those of which `broad` (number of the
        direction -> whether) says yes, and the others. What was not measured is a gap.

        Args:
            sigma: (directions,), largest first.
        """
        counts = [self.count(rank) for rank in self.values]
        heights = np.array([sigma[count - 1] if 1 <= count <= len(sigma) else np.nan for count in counts])
        is_broad = np.array([bool(broad(count)) for count in counts])
        return np.where(is_broad, heights, np.nan), np.where(is_broad, np.nan, heights)

    def axis(self, ax, count: int) -> np.ndarray:
        """Of a picture on paper: give each of the first `count` ranks the same room; returns their places. All of them
        are named where they are few, or else every fourth one and the last four, which lie far apart."""
        places = np.arange(count)
        shown = [place for place in places if count < 12 or place % 4 == 0 or place >= count - 4]
        ax.set_xticks(shown, [self.texts[place] for place in shown])
        ax.set(xlim=(-0.6, len(places) - 0.4), xlabel="directions kept in layer 1")
        return places


def numbers_of(coordinate) -> list[float]:
    """Of an axis of a sweep, such as its ranks."""
    return [float(value) for value in coordinate.values]


def percent(rank) -> str:
    """A rank ratio for a reader: "4 %"."""
    return f"{100 * rank:g} %"


def listed(values, digits: int = 3) -> str:
    """Numbers for an alternative text: "0.123, 0.456"."""
    return ", ".join(f"{value:.{digits}f}" for value in values)


def by_rank(ranks: Ranks, values) -> str:
    """Numbers a rank for an alternative text: "1: 0.123, 4: 0.456"."""
    return ", ".join(f"{text}: {value:.3f}" for text, value in zip(ranks.texts, values))
