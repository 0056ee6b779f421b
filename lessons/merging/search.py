"""Parameters that are chosen on held-out images and reported on others.

`searched` tries methods on their grids, `best` says where a held-out accuracy is highest, and `tuned` merges there. A
Dataset that rests on such choices has the attribute `held_out`, the number of held-out examples that each was made on
(`resting_on`), and `rests_on` says so in a caption.
"""
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray
from tqdm.auto import tqdm

from lessons.merging.registry import merge, methods
from lessons.merging.storage import PerTask
from toy_models.weights import State

Merges = Callable[..., Callable[[float], State | PerTask]]  # (method, **parameters) -> λ -> merged weights


@dataclass(frozen=True)
class Grid:
    """What is tried of a method: every λ with every value of one other parameter.

    Attributes:
        method: a key of `methods()`.
        scales: of λ; a single one for a method that has no λ.
        other: the other parameter; "" for none.
        values: of that.
        places: which of `values` are tried, by number; None for all.
    """
    method: str
    scales: tuple[float, ...] = (1.0,)
    other: str = ""
    values: tuple[float, ...] = ()
    places: tuple[int, ...] | None = None

    @property
    def tried(self) -> tuple[int, ...]:
        """The numbers of the values that are tried; (0,) where there is no other parameter."""
        if not self.other:
            return (0,)
        return tuple(range(len(self.values))) if self.places is None else self.places

    def at(self, place: int) -> dict[str, float]:
        """{the other parameter: its value of this number}; {} where there is none."""
        return {self.other: self.values[place]} if self.other else {}


# -- merging for every λ ---------------------------------------------------------------------------

@dataclass(frozen=True)
class Line:
    """θ(λ) = origin + λ · direction: what a method gives for every scale."""
    origin: State
    direction: State

    @classmethod
    def of(cls, method: str, base: State, finetuned: Sequence[State], **parameters) -> "Line":
        """The line of a method that takes a scale."""
        origin = merge(method, base, finetuned, scale=0.0, **parameters)
        unit = merge(method, base, finetuned, scale=1.0, **parameters)
        direction = {key: unit[key] - tensor for key, tensor in origin.items() if tensor.is_floating_point()}
        return cls(origin, direction)

    def at(self, scale: float) -> State:
        """The merged state dict at λ = scale; whole-number tensors are those of the origin."""
        merged = dict(self.origin)
        for key, tensor in self.direction.items():
            merged[key] = self.origin[key] + scale * tensor
        return merged


def on_lines(base: State, finetuned: Sequence[State]) -> Merges:
    """Merge twice for every value of the other parameter, whatever the number of λ. Weights differ from `anew`'s by
    rounding."""
    return lambda method, **parameters: Line.of(method, base, finetuned, **parameters).at


def anew(base: State, finetuned: Sequence[State]) -> Merges:
    """Merge once for every λ; a method that takes no λ is merged without."""
    def of(method, **parameters):
        if not any(parameter.name == "scale" for parameter in methods()[method].parameters):
            return lambda scale: merge(method, base, finetuned, **parameters)
        return lambda scale: merge(method, base, finetuned, scale=scale, **parameters)
    return of


# -- searching -------------------------------------------------------------------------------------

def searched(score: Callable[[State | PerTask], Sequence[float]], merges: Merges, grids: Mapping[str, Grid],
             tasks: Sequence[str], examples: int, each: Callable[[Callable, Iterable], Iterable] = map,
             title: str = "") -> xarray.Dataset:
    """Try every grid.

    Args:
        score: merged weights -> accuracy on held-out images, (tasks,).
        merges: how it is merged: `on_lines`, `anew`, or a chapter's own way.
        grids: {name: what is tried}.
        tasks: their names.
        examples: how many held-out images all tasks have together.
        each: (function, λs) -> results; a pool's map tries several λ at a time.
        title: of a progress bar; "" for none.

    Returns:
        A Dataset with
        held (searched, place, scale, task): the scores, NaN where nothing was tried; `place` is the number of the other
        parameter's value;
        value (searched, place): that value, NaN where it was not tried and where there is none;
        and the attribute `held_out`.
    """
    scales = sorted({scale for grid in grids.values() for scale in grid.scales})
    places = max(place + 1 for grid in grids.values() for place in grid.tried)
    held = np.full((len(grids), places, len(scales), len(tasks)), np.nan)
    value = np.full((len(grids), places), np.nan)
    settings = [(row, grid, place) for row, grid in enumerate(grids.values()) for place in grid.tried]
    for row, grid, place in tqdm(settings, desc=title, unit="setting", leave=False, disable=not title):
        parameters = grid.at(place)
        merged = merges(grid.method, **parameters)
        for scale, scores in zip(grid.scales, each(lambda scale: score(merged(scale)), grid.scales)):  # noqa: B023
            held[row, place, scales.index(scale)] = scores
        value[row, place] = parameters.get(grid.other, np.nan)
    coords = {"searched": list(grids), "place": range(places), "scale": scales, "task": list(tasks)}
    return xarray.Dataset({"held": (("searched", "place", "scale", "task"), held),
                           "value": (("searched", "place"), value)}, coords, resting_on(examples))


def best(held: xarray.DataArray, *over: str) -> dict[str, xarray.DataArray]:
    """Where a held-out score is highest: {dimension: its coordinate there}, as `sel` takes it.

    Args:
        held: the scores; NaN is what was not tried.
        over: the dimensions of what is chosen; other dimensions stay, each with a choice of its own. Of equally good
            ones it is the first, the last of `over` running fastest.

    Raises:
        ValueError: nothing was tried.
    """
    places = held.argmax(list(over))
    return {str(name): held[name].isel({name: place.reset_coords(drop=True)}).drop_vars([name])
            for name, place in places.items()}


def tuned(tried: xarray.Dataset, grids: Mapping[str, Grid], merges: Merges, *over: str) -> dict[str, State | PerTask]:
    """{name: merged where the mean over tasks of `searched` is highest}; `over` as `best` takes it, "place" and "scale"
    in some order, in this one if left out."""
    highest = best(tried.held.mean("task", skipna=False), *(over or ("place", "scale")))
    places, scales = highest["place"].values, highest["scale"].values
    return {name: merges(grid.method, **grid.at(int(place)))(float(scale))
            for (name, grid), place, scale in zip(grids.items(), places, scales)}


# -- what a choice rests on ------------------------------------------------------------------------

def resting_on(*examples: int) -> dict[str, int]:
    """The attribute `held_out` of a Dataset: the number of held-out examples that each of its choices was made on.
    Where these differ, it is the most, and `held_out_least` the least."""
    least, most = min(examples), max(examples)
    return {"held_out": most} if least == most else {"held_out": most, "held_out_least": least}


def rests_on(*sweeps: xarray.Dataset) -> str:
    """For captions: "Parameters were chosen on 4,000 held-out examples."; "" where no sweep says how many."""
    counts = [int(sweep.attrs[name]) for sweep in sweeps for name in ("held_out", "held_out_least")
              if name in sweep.attrs]
    if not counts:
        return ""
    least_and_most = dict.fromkeys(f"{count:,}" for count in (min(counts), max(counts)))
    return f"Parameters were chosen on {' to '.join(least_and_most)} held-out examples."
