"""Whether longer task vectors put task arithmetic ahead of the average in MiniLM: the same tasks as in `minilm`,
finetuned as there, three times as long, and in steps five times as large."""
from dataclasses import dataclass

import xarray

import data
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging.search import Grid
from lessons.words.experiment import minilm, pretraining, setting
from lessons.words.pretrained import Several, Training

TRAININGS = {"2 passes": Training(), "6 passes": Training(epochs=6), "2 passes, 5 × the rate": Training(lr=5e-4)}
SEARCHES = minilm.GRIDS | {"cart": Grid("cart", (1.0, 1.5, 2.0), "rank_ratio", (0.04, 0.08, 0.16))}


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    tasks: tuple[str, ...] = data.sentences.TASKS
    trainings: tuple[str, ...] = tuple(TRAININGS)
    held_out: int = 200  # sentences a task that choose
    sentences: int = 400  # a task that report


PROFILES = Profiles(quick=None, full=Settings())


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Every method with the parameters that held-out sentences choose, for every way to finetune anew.

    Returns:
        A Dataset with test (training, reported, task), length (training, task) and cosine (training), as
        `pretraining.measure` has them.

    Raises:
        CheckpointError: the encoder is not here. Says how to get it.
    """
    rows = [pretraining.tested(Several(settings.tasks, TRAININGS[name], seed, settings.held_out, settings.sentences),
                               SEARCHES) for name in settings.trainings]
    trainings = xarray.DataArray(list(settings.trainings), dims="training", name="training")
    return xarray.concat(rows, trainings).assign_attrs(
        rows[0].attrs, images=f"{settings.held_out} held-out and {settings.sentences} test sentences a task")


EXPERIMENT = Experiment("words-longer", measure, PROFILES, setting.source, setting.DATASET, network=minilm.NAME)
run = EXPERIMENT.run
