"""What all measurements of the small ViT share: how much is trained and looked at, and how a merge is looked at."""
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import xarray

import data
from data import threads
from data.types import Source
from lessons import suites
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging.storage import PerTask
from lessons.suites import Loaded, Suite
from toy_models import Recipe
from toy_models.weights import State

DATASET = "MNIST and Fashion-MNIST"
Merge = State | PerTask | Callable[[], State]  # a function merges when it is looked at
PAIRS = ((0, 1), (2, 3), (4, 5), (6, 7), (0, 4), (1, 5), (2, 6), (3, 7))


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    widths: tuple[int, ...]  # of the ViTs
    size: int  # training images a task
    epochs: int  # passes over them
    images: int  # looked at, a task and part
    features: int  # images a task on which features are compared
    alphas: tuple[float, ...]  # along the line between two networks
    ranks: tuple[float, ...]  # with lams, CART's grid
    lams: tuple[float, ...]
    way_ranks: tuple[float, ...]  # with way_lams, the same for every way to choose matrices
    way_lams: tuple[float, ...]
    counts: tuple[int, ...]  # how many tasks are merged


PROFILES = Profiles(
    quick=Settings(widths=(64,), size=3000, epochs=3, images=150, features=40, alphas=(0.0, 0.25, 0.5, 0.75, 1.0),
                   ranks=(0.04, 0.08, 0.16, 0.32, 0.64), lams=(0.5, 1.0, 1.5, 2.0, 3.0), way_ranks=(0.08, 0.32),
                   way_lams=(1.0, 2.0), counts=(2, 4, 8)),
    full=Settings(widths=(64, 128), size=5000, epochs=3, images=500, features=100,
                  alphas=tuple(round(0.1 * step, 1) for step in range(11)),
                  ranks=(0.02, 0.04, 0.08, 0.16, 0.32, 0.64), lams=(0.5, 1.0, 1.5, 2.0, 3.0),
                  way_ranks=(0.08, 0.16, 0.32), way_lams=(1.0, 1.5, 2.0), counts=(2, 4, 6, 8)))


FIRST = PROFILES["full"].widths[0]  # what is measured at one width alone is measured at this


def of_width(width: int) -> Profiles:
    """Both profiles, of this width alone."""
    return Profiles({profile: replace(settings, widths=(width,)) for profile, settings in PROFILES.items()})


class ByWidth:
    """An experiment that measures every width by itself, so that a seed may be measured at one of them.

    Attributes:
        of: {width: the experiment}.
    """

    def __init__(self, name: str, measure: Callable[..., xarray.Dataset], network: str = "TinyViT of width {width}"):
        self.of = {}
        for width in PROFILES["full"].widths:
            self.of[width] = Experiment(name, measure, of_width(width), source, DATASET, recipes=recipes,
                                        network=network.format(width=width))

    def shown(self, profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
        """As `Experiment.shown`: profile full where the repository has all its widths, else the profile.

        Raises:
            ValueError: there is no such profile.
        """
        PROFILES[profile]  # an error where there is none
        known = [self.of[width].archived("full", seed) for width in PROFILES["full"].widths]
        return self.run("full" if all(sweep is not None for sweep in known) else profile, seed, device)

    def is_there(self, profile: str, seed: int) -> bool:
        """As `Experiment.is_there`, of all widths of the profile."""
        return all(self.of[width].is_there(profile, seed) for width in PROFILES[profile].widths)

    def run(self, profile: str = "quick", seed: int = 0, device: str = "auto", fresh: bool = False) -> xarray.Dataset:
        """As `Experiment.run`, all widths of the profile in one Dataset."""
        sweeps = [self.of[width].run(profile, seed, device, fresh) for width in PROFILES[profile].widths]
        together = {"network": "TinyViT", "digest": " ".join(str(sweep.attrs["digest"]) for sweep in sweeps)}
        return xarray.concat(sweeps, "width").assign_attrs(together)


def suite(settings: Settings, seed: int = 0, width: int | None = None) -> Suite:
    """The eight tasks, with networks of this width, or of the first."""
    return suites.altered(width or settings.widths[0], seed, settings.size, settings.epochs)


def load(settings: Settings, seed: int, width: int, device: str = "auto") -> Loaded:
    """The networks and their images."""
    return suite(settings, seed, width).load(device, settings.images)


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network of all widths."""
    return [recipe for width in settings.widths for recipe in suite(settings, seed, width).all_recipes]


def source() -> Source:
    """Where the images come from, before they are altered; a stand-in if one of the two data sets is."""
    return data.source("medley")


def images_of(settings: Settings) -> str:
    """For captions."""
    return f"{settings.images} held-out and {settings.images} test images a task"


def in_threads(function: Callable, items: Iterable) -> list:
    """[function(item), …], on all cores."""
    return threads.side_by_side(function, items)


def looked_at(loaded: Loaded, merges: Iterable[Merge], part: str) -> np.ndarray:
    """The share correct of every merge on every task, (merges, tasks), on all cores."""
    loaded.images_of(part)  # once, before the threads ask for them
    return np.array(in_threads(lambda one: loaded.accuracy(one() if callable(one) else one, part), merges))
