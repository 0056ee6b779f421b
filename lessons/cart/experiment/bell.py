"""Accuracy on a grid of ranks and λ for tasks whose inputs overlap more or less: the chapter's panel, and when its bell
appears.

`run` trains (through the zoo), measures, and returns one xarray Dataset; the second time all of it comes from disk.
"""
from dataclasses import dataclass

import xarray

import data
from lessons import suites
from lessons.cart.experiment import grid
from lessons.kit import experiment
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging import search
from lessons.suites import Loaded, Suite
from toy_models import Recipe

WIDTH = 400  # of the one hidden layer
ROTATED, SEVERAL = "rotated MNIST, 8 angles", "two data sets, 8 tasks"
SECONDS = {"quick": 30, "full": 300}  # rough, on 2 cores, nothing cached: the whole chapter but for the ResNets


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    size: int  # training images a task
    test_images: int  # per task and part
    shares: tuple[float, ...]  # shares of the pixels that change places
    num_tasks: int  # how many permutations
    widths: tuple[int, ...]  # of the hidden layer, at share 1
    several: bool  # also look at two data sets
    rotated_size: int | None  # training images of the rotated tasks, None for all (chapter 4's networks)
    directions: tuple[int, ...] = grid.DIRECTIONS  # how many directions of layer 1 are kept; all of them come last

    @property
    def ranks(self) -> tuple[float, ...]:
        """The same as shares of the full rank, in a layer of `WIDTH` units."""
        return grid.shares(WIDTH, self.directions)


PROFILES = Profiles(
    quick=Settings(size=10_000, test_images=500, shares=(0.0, 0.5, 0.875, 1.0), num_tasks=4, widths=(50, 200, WIDTH),
                   several=False, rotated_size=10_000),
    full=Settings(size=10_000, test_images=1000, shares=(0.0, 0.25, 0.5, 0.75, 0.875, 0.95, 1.0), num_tasks=4,
                  widths=(25, 50, 100, 200, WIDTH, 800), several=True, rotated_size=None))


def name_of(share: float) -> str:
    """What the tasks with that share of permuted pixels are called: "75 % of the pixels permuted"."""
    return f"{100 * share:g} % of the pixels permuted"


def permuted(settings: Settings, seed: int, share: float = 1.0, width: int = WIDTH) -> Suite:
    """The tasks with that share of permuted pixels."""
    return suites.permuted(settings.num_tasks, share, seed, settings.size, width)


def suites_of(settings: Settings, seed: int = 0) -> dict[str, Suite]:
    """{name: suite}, the permuted ones by their share first."""
    made = {name_of(share): permuted(settings, seed, share) for share in settings.shares}
    made[ROTATED] = suites.rotated(seed, settings.rotated_size)
    if settings.several:
        made[SEVERAL] = suites.several(seed, settings.size)
    return made


def widths_of(settings: Settings, seed: int = 0) -> dict[int, Suite]:
    """{width: suite} of the tasks with all pixels permuted."""
    return {width: permuted(settings, seed, 1.0, width) for width in settings.widths}


def recipes_of(made: dict[object, Suite]) -> list[Recipe]:
    """Every network of these suites."""
    return [recipe for suite in made.values() for recipe in (suite.base, *suite.recipes.values())]


def permuted_recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network of the tasks with all pixels permuted."""
    return recipes_of({1.0: permuted(settings, seed)})


def estimate(profile: str, seed: int = 0) -> str:
    """A sentence that says what the chapter's MLPs will take on two cores."""
    settings = PROFILES[profile]
    recipes = recipes_of(suites_of(settings, seed)) + recipes_of(widths_of(settings, seed))
    return experiment.estimate(recipes, SECONDS[profile])


def networks(profile: str = "quick", seed: int = 0, device: str = "auto") -> Loaded:
    """The networks of the tasks with all pixels permuted, and their images, to take in hand."""
    settings = PROFILES[profile]
    return permuted(settings, seed).load(device, settings.test_images)


# -- the measurement -------------------------------------------------------------------------------

def source() -> data.types.Source:
    """Where the digits come from; the tasks are made of them."""
    return data.source("mnist")


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Every suite.

    Returns:
        What `grid.measured` gives, with a dimension `setting`; settings with fewer tasks or layers than others hold NaN
        behind their own. A rank times the attribute `directions` is the number of directions kept in layer 1.
    """
    made = suites_of(settings, seed)
    sweeps = [grid.measured(suite.load(device, settings.test_images), settings.ranks) for suite in made.values()]
    said = about(next(iter(made.values())), settings.size, settings.test_images)
    return _side_by_side("setting", made, sweeps).assign_attrs(said | _held_out(made, settings) | {"directions": WIDTH})


def measure_widths(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """As `measure`, over `width` instead of `setting`, all pixels permuted. Here a rank is a number of directions, and
    the largest width stands for all."""
    made = widths_of(settings, seed)
    counts = [*map(float, settings.directions), float(max(settings.widths))]
    sweeps = []
    for width, suite in made.items():
        ranks = grid.shares(width, settings.directions)
        sweeps.append(grid.measured(suite.load(device, settings.test_images), ranks).assign_coords(rank=counts))
    said = about(next(iter(made.values())), settings.size, settings.test_images)
    return _side_by_side("width", made, sweeps).assign_attrs(said | _held_out(made, settings) | {"directions": 1})


def _side_by_side(dimension, names, sweeps):
    return xarray.concat(sweeps, xarray.DataArray(list(names), dims=dimension, name=dimension), join="outer")


def _held_out(made, settings):
    return search.resting_on(*(settings.test_images * len(suite.tasks) for suite in made.values()))


def about(suite: Suite, size: int, images: int) -> dict[str, str]:
    """What captions say of the chapter's MLPs: which data, which network, how many images a task for training and for
    the test."""
    source = suite.source
    return {"source": source.text.split(",")[0],
            "source_kind": source.kind,
            "network": f"MLP 784–{WIDTH}–10",
            "images": f"{size:,} training and {images:,} test images a task",
            "test_images": images}


BELL = Experiment("cart-bell", measure, PROFILES, source, "MNIST",
                  recipes=lambda settings, seed: recipes_of(suites_of(settings, seed)))
WIDTHS = Experiment("cart-widths", measure_widths, PROFILES, source, "MNIST",
                    recipes=lambda settings, seed: recipes_of(widths_of(settings, seed)))
run = BELL.run
run_widths = WIDTHS.run
