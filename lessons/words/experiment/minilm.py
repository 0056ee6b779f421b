"""The same questions asked of a real pretrained encoder, where it is at hand: CART's bell and other merges, features
along the line between two tasks, exchanged heads and forgetting. Without the encoder, the repository has what was
measured."""
from dataclasses import dataclass, field

import xarray

import data
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging.search import Grid
from lessons.vit.algorithms import matrices
from lessons.words.experiment import lines, merges, setting
from lessons.words.minilm import NAME
from lessons.words.pretrained import Several, Training

WIDTH = 384
WAYS = {merges.BY_NAME: matrices.by_dimension}  # every matrix of a layer belongs to attention or the MLP
GRIDS = {grid.method: grid for grid in (
    Grid("average"),
    Grid("task_arithmetic", (0.1, 0.2, 0.3, 0.5, 1.0)),
    Grid("ties", (0.5, 1.0, 1.5, 2.0, 3.0), "density", (0.2,)),
    Grid("tsv", (0.5, 0.75, 1.0, 1.5, 2.0)))}


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured; `directions` are of 384 in every matrix."""
    tasks: tuple[str, ...] = data.sentences.TASKS
    training: Training = field(default_factory=Training)
    held_out: int = 200  # sentences a task that choose
    sentences: int = 400  # a task that report
    features: int = 60  # a task on which features are compared
    directions: tuple[int, ...] = (2, 8, 15, 31, 61, 123)  # 0.5 to 32 %
    lams: tuple[float, ...] = (1.0, 1.5, 2.0)
    taken: tuple[float, ...] = (0.0, 0.5, 1.0)


PROFILES = Profiles(quick=None, full=Settings())


def load(settings: Settings, seed: int = 0) -> Several:
    """The encoders and their sentences."""
    return Several(settings.tasks, settings.training, seed, settings.held_out, settings.sentences)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """What `merges.measure` and `lines.measure` return, of this encoder.

    Raises:
        CheckpointError: the encoder is not here. Says how to get it.
    """
    loaded = load(settings, seed)
    merged = merges.measured(loaded, settings, WIDTH, WAYS, GRIDS)
    between = lines.measured(loaded, settings, settings.taken)
    images = (f"{settings.held_out} held-out and {settings.sentences} test sentences a task, features on "
              f"{settings.features}")
    return merged.merge(between, combine_attrs="override").assign_attrs(images=images)


EXPERIMENT = Experiment("words-minilm", measure, PROFILES, setting.source, setting.DATASET, network=NAME)
run = EXPERIMENT.run
