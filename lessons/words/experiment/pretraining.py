"""How much the encoder was pretrained, and how well finetuned copies of it add up: the same tasks and the same
finetuning from four starts."""
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray

from data import threads
from lessons import suites
from lessons.cart.algorithms.spectra import decomposed_once
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging.search import Grid, tuned
from lessons.suites import Loaded, Suite
from lessons.words.experiment import merges, setting
from lessons.words.pretrained import Several
from toy_models import Recipe

AMOUNTS = {"none": (0, None), "25,600 sentences": (1, 25_600), "all once": (1, None), "all three times": (3, None)}
SEARCHES = merges.GRIDS | {"cart": Grid("cart", (1.0, 1.5, 2.0, 3.0), "rank_ratio", (0.02, 0.04, 0.08, 0.16, 0.32))}


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured; as in profile "quick" of the other measurements of this encoder."""
    tasks: tuple[str, ...] = setting.QUICK
    size: int = 1500
    epochs: int = 3
    sentences: int = 400


PROFILES = Profiles(quick=None, full=Settings())


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Every method with the parameters that held-out sentences choose, for every start anew.

    Returns:
        A Dataset with
        test (amount, reported, task): share correct on test sentences of each method, of the start without finetuning
        under the finetuned heads ("θ₀"), and of every task's own encoder ("single");
        length (amount, task): ‖τ_t‖/‖θ₀‖;
        cosine (amount): of two task vectors, mean over pairs.
    """
    rows = [tested(suite.load(device, settings.sentences)) for suite in of_amounts(settings, seed)]
    amounts = xarray.DataArray(list(AMOUNTS), dims="amount", name="amount")
    return xarray.concat(rows, amounts).assign_attrs(
        rows[0].attrs, images=f"{settings.sentences} held-out and {settings.sentences} test sentences a task")


def tested(loaded: Loaded | Several, searches: Mapping[str, Grid] = SEARCHES) -> xarray.Dataset:
    """`measure` of one start.

    Args:
        loaded: the encoders.
        searches: what is tried of each method.
    """
    ways = decomposed_once(loaded.base, loaded.finetuned)
    tried = loaded.searched(searches, ways, threads.side_by_side)
    candidates = [*tuned(tried, searches, ways).values(), loaded.base]
    test = [*threads.side_by_side(loaded.accuracy, candidates), loaded.own()]
    lengths, cosine = merges.geometry(loaded.base, loaded.finetuned)
    return xarray.Dataset({"test": (("reported", "task"), np.array(test)), "length": ("task", lengths),
                           "cosine": cosine},
                          {"reported": [*searches, "θ₀", "single"], "task": loaded.suite.tasks}, tried.attrs)


def of_amounts(settings: Settings, seed: int = 0) -> list[Suite]:
    """The tasks, finetuned from each start."""
    return [suites.sentences(seed, settings.size, settings.epochs, settings.tasks, pretraining=amount)
            for amount in AMOUNTS.values()]


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every encoder that is trained."""
    return [recipe for suite in of_amounts(settings, seed) for recipe in suite.all_recipes]


EXPERIMENT = Experiment("words-pretraining", measure, PROFILES, setting.source, setting.DATASET, recipes=recipes)
run = EXPERIMENT.run
