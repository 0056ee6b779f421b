"""What the encoders learned that add up: the same tasks, finetuned from random weights and from pretrained ones, with
all weights, with the vectors of words alone, and with all but these."""
import xarray

from lessons import suites
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.suites import Suite
from lessons.words.experiment import pretraining, setting
from lessons.words.experiment.pretraining import Settings
from toy_models import Recipe

STARTS = {"random weights": (0, None), "pretrained": (3, None)}  # passes over the sentences without labels
FROZEN = {"all weights": (), "word vectors alone": ("position", "blocks.", "norm.", "guess"),
          "all but word vectors": ("embedding.",)}
PROFILES = Profiles(quick=None, full=Settings())


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Every method with the parameters that held-out sentences choose, for every start and trained part anew.

    Returns:
        A Dataset with test (start, trained, reported, task), length (start, trained, task) and cosine (start, trained),
        as `pretraining.measure` has them.
    """
    trained = xarray.DataArray(list(FROZEN), dims="trained", name="trained")
    rows = [xarray.concat([pretraining.tested(suite.load(device, settings.sentences)) for suite in of_parts], trained)
            for of_parts in of_starts(settings, seed)]
    starts = xarray.DataArray(list(STARTS), dims="start", name="start")
    return xarray.concat(rows, starts).assign_attrs(
        rows[0].attrs, images=f"{settings.sentences} held-out and {settings.sentences} test sentences a task")


def of_starts(settings: Settings, seed: int = 0) -> list[list[Suite]]:
    """The tasks, from each of `STARTS` with each part of `FROZEN`."""
    return [[suites.sentences(seed, settings.size, settings.epochs, settings.tasks, pretraining=start, frozen=frozen)
             for frozen in FROZEN.values()] for start in STARTS.values()]


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every encoder that is trained."""
    return [recipe for of_parts in of_starts(settings, seed) for suite in of_parts for recipe in suite.all_recipes]


EXPERIMENT = Experiment("words-parts", measure, PROFILES, setting.source, setting.DATASET, recipes=recipes)
run = EXPERIMENT.run
