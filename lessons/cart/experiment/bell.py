"""Accuracy on a grid of ranks and λ for tasks whose inputs overlap more or less: the chapter's panel, and when its bell appears.

`run` trains (through the zoo), measures, and returns one xarray Dataset; the second time all of it comes from disk.
"""
from collections.abc import Callable
from dataclasses import asdict, dataclass

import xarray

from lessons.cart.experiment import grid
from lessons import suites
from lessons.suites import Suite
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached
from toy_models import training, zoo

WIDTH = 400  # of the one hidden layer
ROTATED, SEVERAL = "rotated MNIST, 8 angles", "two data sets, 8 tasks"
SECONDS = {"quick": 30, "full": 300}  # rough, on 2 cores, nothing cached: the whole chapter but for the ResNets


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured.

    Attributes:
        size: training images a task.
        test_images: per task and part.
        shares: of the pixels that change places.
        num_tasks: how many permutations.
        widths: of the hidden layer, at share 1.
        several: also look at two data sets.
        rotated_size: training images of the rotated tasks, None for all (chapter 4's networks).
        ranks: the ratios.
    """
    size: int
    test_images: int
    shares: tuple[float, ...]
    num_tasks: int
    widths: tuple[int, ...]
    several: bool
    rotated_size: int | None
    ranks: tuple[float, ...]


PROFILES = Profiles(quick=Settings(4000, 120, (0.0, 0.5, 0.875, 1.0), 4, (50, 200, WIDTH), False, 10_000, (0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.16, 0.32, 0.64, 1.0)),
                    full=Settings(10_000, 500, (0.0, 0.25, 0.5, 0.75, 0.875, 0.95, 1.0), 4, (25, 50, 100, 200, WIDTH, 800), True, None, grid.RANKS))


def name_of(share: float) -> str:
    """What the tasks with that share of permuted pixels are called: "75 % of the pixels permuted"."""
    return f"{100 * share:g} % of the pixels permuted"


def permuted(profile: str, seed: int, share: float = 1.0, width: int = WIDTH) -> Suite:
    """The profile's tasks with that share of permuted pixels."""
    settings = PROFILES[profile]
    return suites.permuted(settings.num_tasks, share, seed, settings.size, width)


def suites_of(profile: str, seed: int = 0) -> dict[str, Suite]:
    """{name: suite}, the permuted ones by their share first."""
    settings = PROFILES[profile]
    made = {name_of(share): permuted(profile, seed, share) for share in settings.shares} | {ROTATED: suites.rotated(seed, settings.rotated_size)}
    return made | ({SEVERAL: suites.several(seed, settings.size)} if settings.several else {})


def widths_of(profile: str, seed: int = 0) -> dict[int, Suite]:
    """{width: suite} of the tasks with all pixels permuted."""
    return {width: permuted(profile, seed, 1.0, width) for width in PROFILES[profile].widths}


def estimate(profile: str, seed: int = 0) -> str:
    """A sentence that says what the chapter's MLPs will take on two cores."""
    wanted = {recipe for made in (suites_of, widths_of) for suite in made(profile, seed).values() for recipe in (suite.base, *suite.recipes.values())}
    missing = sum(not zoo.path_of(recipe).exists() for recipe in wanted)
    return f"{missing} of {len(wanted)} MLPs have to be trained: about {SECONDS[profile]} s on two cores, once." if missing else "All MLPs of this chapter are in the zoo: this takes seconds."


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure every suite.

    Returns:
        What `grid.measured` gives, with a dimension `setting`; settings with fewer tasks or layers than others hold NaN behind their own. Attributes: those of
        `lessons.kit.sweep.caption`.
    """
    return _over("cart-bell", "setting", suites_of(profile, seed), profile, seed, device)


def run_widths(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """As `run`, over `width` instead of `setting`, all pixels permuted."""
    return _over("cart-widths", "width", widths_of(profile, seed), profile, seed, device)


def _over(name, dimension, made, profile, seed, device):
    settings = PROFILES[profile]

    def measure():
        with training.one_thread():
            found = [grid.measured(suite.load(device, settings.test_images), settings.ranks) for suite in made.values()]
        return xarray.concat(found, xarray.DataArray(list(made), dims=dimension, name=dimension), join="outer").assign_attrs(attributes(profile, seed, next(iter(made.values()))))

    return kept(name, made, asdict(settings), measure)


def kept(name: str, made: dict, settings: dict, measure: Callable[[], xarray.Dataset]) -> xarray.Dataset:
    """`lessons.kit.sweep.cached` under the suites' recipes, the settings, and the code that all of the chapter's sweeps run through."""
    ingredients = {"settings": settings, "recipes": [recipe.key for suite in made.values() for recipe in (suite.base, *suite.recipes.values())]}
    return cached(name, ingredients, measure)


def attributes(profile: str, seed: int, suite: Suite) -> dict:
    """What `lessons.kit.sweep.caption` needs, for the chapter's MLPs."""
    settings, source = PROFILES[profile], suite.source
    name = source.text.split(",")[0]
    return dict(source=name, source_kind=source.kind, dataset="MNIST", network=f"MLP 784–{WIDTH}–10", profile=profile, seed=seed,
                images=f"{settings.size:,} training and {settings.test_images:,} test images a task")

