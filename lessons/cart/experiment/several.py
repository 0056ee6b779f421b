"""CART direction by direction on the eight tasks of chapter 7, digits and clothes, with the output layer cut as every
layer is and left whole; task arithmetic and TIES beside it."""
from dataclasses import dataclass

import xarray

from data.types import Source
from lessons import suites
from lessons.cart.experiment import bell, grid, peak
from lessons.kit import experiment
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging import search
from lessons.merging.search import Grid
from lessons.suites import Loaded, Suite
from toy_models import Recipe

CASE = "digits and clothes, 8 tasks"
TIES = {"ties": Grid("ties", (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0), "density", (0.05, 0.1, 0.2, 0.4, 0.7))}
SECONDS = 30  # rough, on 2 cores, nothing cached


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    size: int  # training images a task
    images: int  # for the test, a task and part
    directions: tuple[int, ...] = grid.DIRECTIONS  # how many directions of layer 1 are kept; all of them come last


PROFILES = Profiles(quick=Settings(size=5_000, images=500), full=Settings(size=10_000, images=1000))


def suite_of(settings: Settings, seed: int = 0) -> Suite:
    """The eight tasks."""
    return suites.several(seed, settings.size, bell.WIDTH)


def recipes_of(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network of these."""
    return bell.recipes_of({CASE: suite_of(settings, seed)})


def source() -> Source:
    """Where digits and clothes come from, in one."""
    return suite_of(PROFILES["quick"]).joint_source


def estimate(profile: str, seed: int = 0) -> str:
    """A sentence that says what these networks will take on two cores."""
    return experiment.estimate(recipes_of(PROFILES[profile], seed), SECONDS, "MLPs on digits and clothes")


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The eight tasks as the one case of a Dataset like that of `peak.measure`, with
    ties (case): mean accuracy over tasks of TIES, density and λ chosen on held-out images."""
    suite = suite_of(settings, seed)
    loaded = suite.load(device, settings.images)
    trained = peak.Trained(loaded.base, loaded.finetuned, *(loaded.images_of(part) for part in suites.PARTS))
    case = peak.measured(trained, bell.WIDTH, settings.directions).assign(ties=ties(loaded))
    of_data = source()
    said = bell.about(suite, settings.size, settings.images) | {"source": of_data.text, "source_kind": of_data.kind}
    held_out = search.resting_on(settings.images * len(suite.tasks))
    return xarray.concat([case], xarray.DataArray([CASE], dims="case", name="case")).assign_attrs(
        said | held_out | {"directions": 1})


def ties(loaded: Loaded) -> float:
    """The mean accuracy over tasks of TIES, density and λ chosen on held-out images."""
    merges = search.on_lines(loaded.base, loaded.finetuned)
    tried = loaded.searched(TIES, merges)
    return float(loaded.accuracy(search.tuned(tried, TIES, merges)["ties"]).mean())


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """CART-2: the levels that chapter 8 opens on, output layer whole, and what CART is ahead by with it whole and cut,
    each at the number of directions that is best on the test images."""
    part = sweep.sel(case=CASE)
    cut, uncut = (part.accuracy.sel(head=head) for head in peak.HEADS)
    inside = {"cut": cut.isel(rank=slice(1, -1)).max("rank"), "whole": uncut.isel(rank=slice(1, -1)).max("rank")}
    numbers = {"average": part.average,
               "own": part.own,
               "cart": inside["whole"].sel(how=grid.HOWS[0]),
               "truncated": inside["whole"].sel(how=grid.HOWS[1]),
               "task_arithmetic": uncut.sel(how=grid.HOWS[1]).isel(rank=-1),
               "ties": part.ties}
    numbers |= {f"cart_over_truncated_head_{name}": best.sel(how=grid.HOWS[0]) - best.sel(how=grid.HOWS[1])
                for name, best in inside.items()}
    return {"CART-2": {f"eight_{name}": float(value) for name, value in numbers.items()}}


SEVERAL = Experiment("cart-several", measure, PROFILES, source, "MNIST and Fashion-MNIST", recipes=recipes_of,
                     claims=claims)
run = SEVERAL.run
LEDGER = (SEVERAL,)
