"""Every method of the registry on a suite: hyper-parameters chosen on held-out images, accuracy on test images as a share of the single model's.

All methods that take a scale λ move along a straight line, origin + λ · direction, so that a method is merged once for every value of its other
parameter and then only looked at for every λ.
"""
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import xarray
from tqdm.auto import tqdm

import data
from lessons.merging import merge
from lessons import suites
from lessons.suites import Loaded, Suite
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached
from toy_models import training, zoo
from toy_models.weights import State


@dataclass(frozen=True)
class Search:
    """What is tried of a method.

    Attributes:
        other: its other parameter besides λ, None where it has none.
        values: of that.
        source_values, source_scales: what the sources try: CART, app. B (CART itself) and app. D (task arithmetic and TIES); for the others what
            their own papers recommend, with task arithmetic's λ where they add as it does.
        few_values, few_scales: of these, what is tried on ResNets, where looking takes seconds.
        end: the value of `other` at which the method becomes another one that is also tried, so that its grid needs no edge there.
    """
    other: str | None
    values: tuple[float, ...]
    source_values: tuple[float, ...]
    source_scales: tuple[float, ...]
    few_values: tuple[float, ...]
    few_scales: tuple[float, ...]
    end: float | None = None


_AS_TASK_ARITHMETIC = (0.1, 0.2, 0.3)
SEARCHES = {
    "task_arithmetic": Search(None, (), (), _AS_TASK_ARITHMETIC, (), (0.05, 0.1, 0.15, 0.2, 0.3)),
    "ties": Search("density", (0.05, 0.1, 0.2, 0.4, 0.7), (0.05, 0.1, 0.2), (1.0,), (0.1, 0.2, 0.4), (0.5, 1.0, 1.4)),
    "consensus": Search("mask_strength", (0.1, 0.2, 0.3, 0.4, 0.6), (0.2, 0.3, 0.4, 0.6), _AS_TASK_ARITHMETIC, (0.2, 0.4), (0.1, 0.2, 0.3, 0.5), end=0.1),
    "dare": Search("drop_rate", (0.1, 0.5, 0.7, 0.9, 0.99), (0.9,), _AS_TASK_ARITHMETIC, (0.5, 0.9), (0.1, 0.2), end=0.1),
    "breadcrumbs": Search("density", (0.02, 0.05, 0.1, 0.3, 0.6), (0.1,), _AS_TASK_ARITHMETIC, (0.1, 0.3), (0.1, 0.3, 0.5)),
    "tsv": Search(None, (), (), (1.0,), (), (0.4, 0.8, 1.0, 1.4)),
    "cart": Search("rank_ratio", (0.02, 0.04, 0.08, 0.16, 0.32), (0.04, 0.08, 0.16, 0.32), tuple(round(1 + step / 5, 1) for step in range(11)), (0.04, 0.08, 0.16),
                   (0.3, 0.6, 1.0, 1.4))}
SEARCHED = tuple(SEARCHES)
STORING = {"emr": {}, "tall_masks": {}, "cart_indexing": {}}  # one model a task; as they are by default
REPORTED = ("average", *SEARCHED, *STORING)
CLAIMED = ("cart", "consensus", "ties", "task_arithmetic", "average")  # best first, CART's Table 1
SCALES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, *(round(1 + step / 5, 1) for step in range(11)), 3.5, 4.0)
GRIDS = ("wide", "source")


@dataclass(frozen=True)
class Settings:
    """How much is tried and looked at.

    Attributes:
        held_out, test: images per task.
        scales, places: λ that are tried, and which of a search's five values; None for its `few_scales` and `few_values`.
    """
    held_out: int
    test: int
    scales: tuple[float, ...] | None = None
    places: tuple[int, ...] | None = None


PROFILES = Profiles(quick={"MLP": Settings(128, 128, (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0), (1, 2, 3))},
                    full={"MLP": Settings(500, 2000, SCALES, (0, 1, 2, 3, 4)), "ResNet18": Settings(40, 120)})
TRAINED = Profiles(quick={"rotated": {"size": 20_000}, "several": {"size": 5_000, "epochs": 2}}, full={"rotated": {}, "several": {}})  # how, where not as the suite says
SPLITS = (8, 14, 20)


class Kept(Suite):
    """A suite that keeps what it has loaded: turning and permuting the test images of eight tasks takes a second, and a chapter needs them several times."""

    def load(self, device: str = "auto", images: int | None = None) -> Loaded:
        """As `Suite.load`."""
        loaded = vars(self).setdefault("_loaded", {})
        if (device, images) not in loaded:
            loaded[device, images] = super().load(device, images)
        return loaded[device, images]


def suites_of(profile: str, seed: int = 0) -> dict[str, Suite]:
    """{name: suite} of a profile.

    Raises:
        ValueError: there is no such profile.
    """
    found = {name: {"rotated": suites.rotated, "several": suites.several}[name](seed, **how) for name, how in TRAINED[profile].items()}
    found |= {f"split {count}": suites.split(count, seed) for count in SPLITS} if profile == "full" else {}
    return {name: Kept(**vars(suite)) for name, suite in found.items()}


def settings_of(suite: Suite, profile: str) -> Settings:
    """The settings of a suite's kind of network in a profile."""
    return PROFILES[profile][suite.base.architecture.name]


# -- the measurement -------------------------------------------------------------------------------

@dataclass(frozen=True)
class Line:
    """θ(λ) = origin + λ · direction: what a method gives for every scale."""
    origin: State
    direction: State

    @classmethod
    def of(cls, method: str, base: State, finetuned: Sequence[State], **parameters) -> "Line":
        """The line of a method that takes a scale."""
        origin, unit = (merge(method, base, finetuned, scale=scale, **parameters) for scale in (0.0, 1.0))
        return cls(origin, {key: unit[key] - tensor for key, tensor in origin.items() if tensor.is_floating_point()})

    def at(self, scale: float) -> State:
        """The merged state dict at λ = scale; whole-number tensors are those of the origin."""
        return {key: tensor + scale * self.direction[key] if key in self.direction else tensor for key, tensor in self.origin.items()}


def run(suite: Suite, profile: str, seed: int, device: str = "auto") -> xarray.Dataset:
    """Train what is missing, try all methods and look at the chosen ones.

    Returns:
        A Dataset with
        tried (searched: 7, place: 5, scale, task): accuracy on held-out images, NaN where it was not tried; value (searched, place): of the method's other
        parameter; own_tried (task): of the single models on the same images;
        place_chosen, scale_chosen (grid: 2, searched: 7): the position of the best, by normalised accuracy, in all that was tried and in the sources' grid;
        accuracy (grid, reported: 11, task): on test images; own (task): of the single models; base (task): of the pretrained one.
        Attributes: those of `lessons.kit.sweep.caption`, and suite, its title.
    """
    settings = settings_of(suite, profile)
    ingredients = {"settings": asdict(settings), "searches": {name: asdict(search) for name, search in SEARCHES.items()}, "stored": STORING,
                   "recipes": [recipe.key for recipe in (suite.base, *suite.recipes.values())]}
    return cached("merging", ingredients, lambda: measure(suite, settings, device).assign_attrs(attributes(suite, profile, seed)))


def attributes(suite: Suite, profile: str, seed: int) -> dict:
    """The attributes of a suite's sweeps that `lessons.kit.sweep.caption` reads, all but the images, and suite, its title."""
    sources = _sources(suite)
    network = dict(suite.base.architecture.arguments)
    return {"source": " and ".join(source.text for source in sources), "source_kind": sources[0].kind, "dataset": "CIFAR-100" if suite.splits else "MNIST",
            "network": f"ResNet-18 of width {network['width']}" if suite.splits else f"MLP {'–'.join(map(str, network['widths']))}", "profile": profile, "seed": seed, "suite": suite.title}


def _sources(suite):
    """Of a suite's data sets, without what was done to the images."""
    said = [{name: 0.0 if name == "angle" else value for name, value in recipe.options if name in ("of", "angle")} | ({"splits": suite.splits} if suite.splits else {})
            for recipe in suite.recipes.values()]
    return [data.source(suite.base.dataset, **options) for number, options in enumerate(said) if options not in said[:number]]


def sources(suites: dict[str, Suite]) -> str:
    """Which data the suites are made of; a stand-in is named."""
    return "; ".join(dict.fromkeys(str(source) for suite in suites.values() for source in _sources(suite)))


def measure(suite: Suite, settings: Settings, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    if suite.splits:
        return _measure(suite, settings, device)
    with training.one_thread():
        return _measure(suite, settings, device)


def _measure(suite, settings, device):
    some, many = (suite.load(device, images) for images in (settings.held_out, settings.test))
    tried = _tried(some, settings)
    best = tried.assign(place_chosen=(("grid", "searched"), np.zeros((len(GRIDS), len(SEARCHED)), int)), scale_chosen=(("grid", "searched"), np.zeros((len(GRIDS), len(SEARCHED)))))
    accuracy = np.zeros((len(GRIDS), len(REPORTED), len(suite.tasks)))
    fixed = {"average": merge("average", many.base, many.finetuned)} | {name: merge(name, many.base, many.finetuned, **given) for name, given in STORING.items()}
    for name, merged in fixed.items():
        accuracy[:, REPORTED.index(name)] = many.accuracy(merged)
    known = {}
    for row, grid in enumerate(GRIDS):
        for column, method in enumerate(SEARCHED):
            place, scale = best_of(tried, method, grid)
            best.place_chosen[row, column], best.scale_chosen[row, column] = place, scale
            if (method, place, scale) not in known:
                known[method, place, scale] = many.accuracy(merge(method, many.base, many.finetuned, scale=scale, **_other(method, place)))
            accuracy[row, REPORTED.index(method)] = known[method, place, scale]
    found = xarray.Dataset({"accuracy": (("grid", "reported", "task"), accuracy), "own": ("task", many.own()), "base": ("task", many.accuracy(many.base))},
                           coords={"grid": list(GRIDS), "reported": list(REPORTED), "task": suite.tasks})
    return xarray.merge([best, found]).assign_attrs(images=f"{len(many.test[0][1]):,} test and {len(some.held_out[0][1]):,} held-out images a task")


def _other(method, place):
    """{the method's other parameter: its value at a place}."""
    search = SEARCHES[method]
    return {search.other: search.values[place]} if search.other else {}


def _places(search, settings):
    return (0,) if not search.other else settings.places or tuple(search.values.index(value) for value in search.few_values)


def _tried(loaded, settings):
    values, tried = np.full((len(SEARCHED), 5), np.nan), np.full((len(SEARCHED), 5, len(SCALES), len(loaded.suite.tasks)), np.nan)
    chosen = [(row, place) for row, method in enumerate(SEARCHED) for place in _places(SEARCHES[method], settings)]
    for row, place in tqdm(chosen, desc=loaded.suite.title, unit="setting", leave=False):
        method, search = SEARCHED[row], SEARCHES[SEARCHED[row]]
        if search.other:
            values[row, place] = search.values[place]
        line = Line.of(method, loaded.base, loaded.finetuned, **_other(method, place))
        for step, scale in enumerate(SCALES):
            if scale in (settings.scales or search.few_scales):
                tried[row, place, step] = loaded.accuracy(line.at(scale), "held-out")
    return xarray.Dataset({"tried": (("searched", "place", "scale", "task"), tried), "value": (("searched", "place"), values), "own_tried": ("task", loaded.own("held-out"))},
                          coords={"searched": list(SEARCHED), "place": range(5), "scale": list(SCALES), "task": loaded.suite.tasks})


def best_of(tried: xarray.Dataset, method: str, grid: str) -> tuple[int, float]:
    """(place, λ) of the highest normalised accuracy on held-out images, in all that was tried ("wide") or in the sources' part of it ("source")."""
    search = SEARCHES[method]
    share = (tried.tried.sel(searched=method) / tried.own_tried).mean("task", skipna=False)
    if grid == "source":
        share = share.where(share.scale.isin(search.source_scales))
        if search.other:
            share = share.where(tried.value.sel(searched=method).isin(search.source_values))
    place, step = np.unravel_index(np.nanargmax(share.transpose("place", "scale").values), (share.sizes["place"], share.sizes["scale"]))
    return int(place), float(share.scale[step])


class Sweeps(dict):
    """{name of a suite: what `run` gave}; like a sweep it has `attrs` with a digest, so that figures of all suites together are kept."""

    @property
    def attrs(self) -> dict:
        """Those of `lessons.kit.sweep.caption`, for all suites together."""
        parts = [sweep.attrs for sweep in self.values()]
        together = {name: "; ".join(dict.fromkeys(str(part[name]) for part in parts)) for name in ("source", "network", "images", "digest")}
        stand_in = any(part["source_kind"] == "stand-in" for part in parts)
        datasets = [part["dataset"] for part in parts if part["source_kind"] == "stand-in"] or [part["dataset"] for part in parts]
        return parts[0] | together | {"source_kind": "stand-in" if stand_in else parts[0]["source_kind"], "dataset": datasets[0]}


def run_all(suites: dict[str, Suite], profile: str, seed: int, device: str = "auto") -> Sweeps:
    """`run` for every suite. Every suite is kept by itself, so that an interrupted run goes on where it stopped."""
    return Sweeps({name: run(suite, profile, seed, device) for name, suite in suites.items()})


SECONDS = {"quick": {"MLP": 8, "ResNet18": 0}, "full": {"MLP": 70, "ResNet18": 160}}  # rough, a suite, on one core: everything that the chapter measures on it
TRAINING_SECONDS = {"MLP": 1.5, "ResNet18": 35}  # a network


def estimate(profile: str, seed: int = 0) -> str:
    """A sentence that says what the chapter will have to train and measure, and about how long that takes."""
    seconds, missing = 0.0, {}
    for suite in suites_of(profile, seed).values():
        kind = suite.base.architecture.name
        seconds += SECONDS[profile][kind]
        missing |= {recipe.key: TRAINING_SECONDS[kind] for recipe in (suite.base, *suite.recipes.values()) if not zoo.path_of(recipe).exists()}  # suites share networks
    seconds += sum(missing.values()) * (1.0 if profile == "full" else 0.3)
    said = f"{len(missing)} networks have to be trained" if missing else "All networks of this chapter are in the zoo"
    return f"{said}; with the measurements, where they are not on disk yet, about {f'{seconds / 60:.0f} minutes' if seconds > 90 else f'{seconds:.0f} s'}, once."
