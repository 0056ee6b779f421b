"""The chapter's questions asked of ResNet-18s of width 16, finetuned on splits of CIFAR-100: the bell, interference,
storage, the number of tasks."""
from dataclasses import dataclass

import xarray

import data
from lessons import suites
from lessons.cart.experiment import bell, grid, storage, tasks
from lessons.kit.experiment import Experiment, missing
from lessons.kit.page import said
from lessons.kit.profiles import Profiles
from lessons.merging import search
from lessons.suites import Suite
from toy_models import Recipe

RANKS = (0.0, 0.08, 0.16, 0.32, 0.64, 1.0)
LAMS = (0.1, 0.2, 0.3, 0.5, 1.0, 1.5, 2.0)
SETTING = "Split CIFAR-100, 8 tasks"
MINUTES = {"training": 25, "measuring": 12}  # rough, on one core
IMAGES = f"{suites.IMAGES['ResNet18']} test images a task, BatchNorm's statistics estimated anew"  # for captions


@dataclass(frozen=True)
class Settings:
    """How many splits there are, and how many test images of each are looked at, per part."""
    num_tasks: int
    images: int


EIGHT = Settings(num_tasks=8, images=suites.IMAGES["ResNet18"])
MANY = tasks.Settings(num_tasks=20, counts=(2, 4, 8, 14, 20), subsets=4, methods=tasks.SOURCE,
                      images=suites.IMAGES["ResNet18"])


def splits(settings: Settings | tasks.Settings, seed: int = 0) -> Suite:
    """The tasks."""
    return suites.split(settings.num_tasks, seed)


def recipes_of(settings: Settings | tasks.Settings, seed: int = 0) -> list[Recipe]:
    """Every network of these."""
    return bell.recipes_of({"": splits(settings, seed)})


def source() -> data.types.Source:
    """Where the images come from."""
    return splits(EIGHT).source


def source_of_many() -> data.types.Source:
    """Where those of all twenty splits come from."""
    return splits(MANY).source


def estimate(seed: int = 0) -> str:
    """A sentence that says what the ResNets will take."""
    to_train = len(missing(recipes_of(MANY, seed)))
    if to_train:
        train = f"{to_train} ResNets have to be trained, about {MINUTES['training']} minutes on one core; "
    else:
        train = "All ResNets are in the zoo; "
    return train + said("""measuring them takes about {minutes} minutes more, once.
                           What is finished is kept.""", minutes=MINUTES["measuring"])


# -- the measurements ------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """What `bell.measure` gives, with one setting, of the splits."""
    loaded = splits(settings, seed).load(device, settings.images)
    sweep = grid.measured(loaded, RANKS, LAMS)
    held_out = search.resting_on(sum(len(y) for _, y in loaded.held_out))
    return sweep.expand_dims(setting=[SETTING]).assign_attrs(images=IMAGES, **held_out)


def measure_storage(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`storage.measured` of the splits."""
    loaded = splits(settings, seed).load(device, settings.images)
    return storage.measured(loaded).assign_attrs(images=IMAGES)


def measure_tasks(settings: tasks.Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`tasks.measured` of 2 to 20 splits with the source's grids."""
    return tasks.measured(splits(settings, seed), settings, seed, device).assign_attrs(images=IMAGES)


BELL = Experiment("cart-resnet", measure, Profiles(quick=None, full=EIGHT), source, "CIFAR-100", recipes=recipes_of)
STORAGE = Experiment("cart-resnet-storage", measure_storage, Profiles(quick=None, full=EIGHT), source, "CIFAR-100",
                     recipes=recipes_of)
TASKS = Experiment("cart-resnet-tasks", measure_tasks, Profiles(quick=None, full=MANY), source_of_many, "CIFAR-100",
                   recipes=recipes_of)
run, run_storage, run_tasks = BELL.run, STORAGE.run, TASKS.run
