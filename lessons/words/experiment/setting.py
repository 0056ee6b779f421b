"""What all measurements of the small text encoder share: how much is trained and looked at."""
from dataclasses import dataclass

import data
from data.types import Source
from lessons import suites
from lessons.kit.profiles import Profiles
from lessons.suites import Loaded, Suite
from toy_models import Recipe

DATASET = "eight tasks of sentences"
QUICK = data.sentences.TASKS[:6]  # six, so that it stays quick


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    tasks: tuple[str, ...]  # of `data.sentences`
    size: int  # training sentences a task, where there are as many
    epochs: int  # passes over them
    sentences: int  # looked at, a task and part; at most half of the test part
    features: int  # sentences a task on which features are compared
    directions: tuple[int, ...]  # that CART keeps of every matrix of the encoder's 64
    lams: tuple[float, ...]  # of CART


PROFILES = Profiles(
    quick=Settings(tasks=QUICK, size=1500, epochs=3, sentences=400, features=100, directions=(1, 2, 3, 5, 8, 16, 32),
                   lams=(0.5, 1.0, 1.5, 2.0, 3.0)),
    full=Settings(tasks=data.sentences.TASKS, size=5000, epochs=3, sentences=500, features=200,
                  directions=(1, 2, 3, 4, 5, 6, 8, 11, 16, 24, 32, 48), lams=(0.5, 1.0, 1.5, 2.0, 3.0, 4.0)))


def suite(settings: Settings, seed: int = 0) -> Suite:
    """The tasks, with an encoder finetuned on each."""
    return suites.sentences(seed, settings.size, settings.epochs, settings.tasks)


def load(settings: Settings, seed: int = 0, device: str = "auto") -> Loaded:
    """The encoders and their sentences."""
    return suite(settings, seed).load(device, settings.sentences)


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every encoder that is trained."""
    return suite(settings, seed).all_recipes


def source() -> Source:
    """Where the sentences come from."""
    return data.sentences.all_tasks()


def sentences_of(settings: Settings) -> str:
    """For captions."""
    return f"{settings.sentences} held-out and {settings.sentences} test sentences a task"
