"""Sweeps: numbers measured on a grid, as an xarray Dataset, kept on disk under a digest of all that went into them."""
import hashlib
import io
import json
import re
import struct
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import torch
import xarray

from data import store
from data.code import behind
from data.pinning import pinned
from toy_models import training


def cached(name: str, ingredients: dict, measure, module: str = "") -> xarray.Dataset:
    """The sweep, from disk if it is there, else measured now and kept.

    Args:
        name: for the file's name, for example "linearity".
        ingredients: everything that the numbers depend on, as JSON can hold it: recipe keys, grids, sample sizes.
        measure: () -> xarray.Dataset, a function of the module that measures: the code `behind` this module is an
            ingredient too, so old numbers are not shown under new code. The result also gets the attribute `digest`, of
            its numbers.
        module: the module that measures, where it is not the one that `measure` is written in.

    Raises:
        ValueError: the name would lead to another folder.
    """
    if not re.fullmatch(r"\w[\w .-]*", name):
        raise ValueError(f"a sweep's name must be the beginning of a file's name, such as \"linearity\", not {name!r}")
    path = _path_of(name, ingredients, module or measure.__module__)
    return store.once(path, lambda: _signed(_undisturbed(measure)), read=read, write=_write)


def is_kept(name: str, ingredients: dict, module: str) -> bool:
    """Whether `cached` would find this sweep on disk."""
    return store.has(_path_of(name, ingredients, module))


def _path_of(name, ingredients, module):
    ingredients = json.dumps([ingredients, behind(module)], sort_keys=True)
    return store.root() / "sweeps" / f"{name}-{hashlib.sha256(ingredients.encode()).hexdigest()[:20]}.nc"


def _undisturbed(measure):
    """What is measured whatever a notebook's cell set globally in torch."""
    with pinned(), training.all_threads(), torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(0)  # experiments have generators of their own: this is for what they would forget
        return measure()


def at(sweep: xarray.Dataset, **where) -> xarray.Dataset:
    """The part of a sweep at given coordinates, for example `at(sweep, pair="22.5° and 90°", layer="output")`.

    Raises:
        ValueError: an unknown dimension, pair, layer or value; the message lists the known ones.
    """
    for name, value in where.items():
        if name not in sweep.coords:
            raise ValueError(f"unknown dimension {name!r}: choose from {', '.join(map(str, sweep.coords))}")
        if value not in sweep[name].values:
            raise ValueError(f"unknown {name} {value!r}: choose one of {', '.join(map(str, sweep[name].values))}")
    return sweep.sel(where)


def position(grid, value, name: str = "alpha") -> int:
    """Where a value stands on a grid of numbers.

    Raises:
        ValueError: it is not on the grid.
    """
    places = np.flatnonzero(np.isclose(grid, value))
    if not len(places):
        raise ValueError(f"unknown {name} {value!r}: choose one of {', '.join(f'{known:g}' for known in grid)}")
    return places[0]


BINS = np.linspace(0.0, 1.5, 151)  # of distributions, for ratios near 1; what lies outside is in the outermost bins


def summarise(values: dict, distributions: Collection[str] = ()) -> dict[str, float | np.ndarray]:
    """Per name of {name: tensor (samples,)}: name_mean, name_low and name_high (the quartiles), over samples that have
    a direction (not NaN).

    Args:
        distributions: names that also get name_median and name_count (150,), how many samples lie between `BINS`.
    """
    summary = {}
    for name, value in values.items():
        value = value[~value.isnan()].numpy()
        low, median, high = np.quantile(value, [0.25, 0.5, 0.75])
        summary |= {f"{name}_mean": value.mean(), f"{name}_low": low, f"{name}_high": high}
        if name in distributions:
            inside = value.clip(BINS[0], BINS[-1])
            summary |= {f"{name}_median": median, f"{name}_count": np.histogram(inside, BINS)[0]}
    return summary


def on_grid(summaries: Sequence[dict], **coords) -> xarray.Dataset:
    """One `summarise`d dict for every point of a grid, as a Dataset. (To join as many Datasets takes xarray longer than
    most measurements.)

    Args:
        summaries: in the order of the grid's points, the last coordinate running fastest; a dict may hold further
            numbers, and arrays as (dimensions, values), such as ("task", [0.9, 0.8]).
        coords: the grid, for example alpha=(0.0, 0.5, 1.0), layer=("layer 1", "output"); distributions also have the
            dimension `bin`.
    """
    shape, variables = [len(values) for values in coords.values()], {}
    for name, first in summaries[0].items():
        dims, first = first if isinstance(first, tuple) else ("bin" if np.ndim(first) else (), first)
        dims = (dims,) if isinstance(dims, str) else tuple(dims)
        values = [summary[name][1] if isinstance(summary[name], tuple) else summary[name] for summary in summaries]
        variables[name] = ((*coords, *dims), np.reshape(values, (*shape, *np.shape(first))))
    counted = any("bin" in dims for dims, _ in variables.values())
    bins = {"bin": (BINS[:-1] + BINS[1:]) / 2} if counted else {}
    return xarray.Dataset(variables, {name: list(values) for name, values in coords.items()} | bins)


def names(values) -> list[str]:
    """The names along a dimension, such as `names(sweep.pair)`, as plain text: xarray gives numpy's."""
    return [str(value) for value in np.asarray(values)]


def edges(sweep: xarray.Dataset) -> np.ndarray:
    """The edges of a sweep's `bin`s, one more than there are bins."""
    step = float(sweep.bin[1] - sweep.bin[0])
    return np.append(sweep.bin.values - step / 2, sweep.bin.values[-1] + step / 2)


def caption(sweep: xarray.Dataset | dict[str, xarray.Dataset]) -> str:
    """What a figure of this sweep was measured on; a stand-in is named first.

    A sweep has the attributes `source` and `source_kind` (of its data), `dataset` (the name of the real thing),
    `network`, `profile`, `seed` and `images` ("20,000 test images a pair"). Of a dict of sweeps everything that they
    were measured on is named.
    """
    attrs = _together([one.attrs for one in sweep.values()]) if isinstance(sweep, dict) else sweep.attrs
    warning = warned(attrs["source_kind"], attrs["dataset"])
    how = f"profile {attrs['profile']}, seed {attrs['seed']}, {attrs['images']}"
    return f"{warning}Measured on {attrs['source']}; {attrs['network']}, {how}.{_archived(attrs)}"


def warned(source_kind: str, dataset: str) -> str:
    """"Not MNIST! " before what was measured on a stand-in for MNIST, "" before the rest."""
    return f"Not {dataset}! " if source_kind == "stand-in" else ""


def _archived(attributes):
    """Where and when a sweep that lies in the repository was measured (`lessons.kit.archive`); "" for others."""
    if "measured_on" not in attributes:
        return ""
    about = json.loads(attributes["measured_on"])
    return (f" Kept in the repository: measured on {about['date']}, {about['processor']}, commit {about['commit']}; "
            "run(…, fresh=True) measures it here.")


def _together(parts):
    """The attributes that a caption needs, of several sweeps; if a stand-in is among them, then its own are said."""
    attributes = next((attrs for attrs in parts if attrs["source_kind"] == "stand-in"), parts[0])
    for name in ("source", "network", "images"):
        words = "; ".join(dict.fromkeys(attrs[name] for attrs in parts))
        attributes = attributes | {name: words}
    return attributes


def _digest(dataset):
    attributes = {key: str(value) for key, value in dataset.attrs.items() if key != "digest"}
    hasher = hashlib.sha256(json.dumps(attributes, sort_keys=True).encode())
    for name in sorted(map(str, dataset.variables)):
        values = dataset[name].values
        hasher.update(f"{name} {dataset[name].dims} {values.shape}".encode())
        hasher.update(json.dumps(values.tolist()).encode())
    return hasher.hexdigest()


def _signed(dataset):
    return dataset.assign_attrs(digest=_digest(dataset))


def write(dataset: xarray.Dataset, path: Path) -> None:
    """Sign a sweep and write it, whole or not at all."""
    with store.lock(path), store.atomic(path) as part:
        _write(_signed(dataset), part)


def _write(dataset, path):
    dataset.to_netcdf(path, engine="scipy")


# as what a flipped byte surfaces, in the parser or after it; a module that cannot be imported is no damage
_OF_FORMAT = (OSError, EOFError, ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError,
              struct.error)


def read(path: Path) -> xarray.Dataset:
    """A signed sweep.

    Raises:
        FileNotFoundError: there is none. store.Damaged: it is not what was written. store.StoreError: it is no file.
    """
    content = store.regular(path).read_bytes()  # mapped into memory, a network disk that goes away ends the kernel
    try:
        with xarray.open_dataset(io.BytesIO(content), engine="scipy") as file:
            dataset = file.load()
        sound = str(dataset.attrs.get("digest")) == _digest(dataset)  # str: a flipped byte can make numbers of it
    except _OF_FORMAT as error:
        raise store.Damaged(f"not readable: {error}") from None
    if not sound:
        raise store.Damaged("its digest does not match its contents")
    return dataset
