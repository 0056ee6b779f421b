"""The chapter's questions asked of ResNet-18s of width 16, finetuned on splits of CIFAR-100: the bell, interference,
storage, the number of tasks."""

import xarray

from lessons.cart.experiment import bell, grid, storage, tasks
from lessons.cart.experiment.bell import kept
from lessons import suites
from toy_models import training, zoo

NUM_TASKS = 8
RANKS = (0.0, 0.08, 0.16, 0.32, 0.64, 1.0)
LAMS = (0.1, 0.2, 0.3, 0.5, 1.0, 1.5, 2.0)
MANY = tasks.Settings(num_tasks=20, counts=(2, 4, 8, 14, 20), subsets=4, methods=tasks.SOURCE, images=100)
SETTING = "Split CIFAR-100, 8 tasks"
MINUTES = {"training": 25, "measuring": 12}  # rough, on one core


def source():
    """Where the images come from."""
    return suites.split(NUM_TASKS).source


def estimate(seed: int = 0) -> str:
    """A sentence that says what the ResNets will take."""
    suite = suites.split(MANY.num_tasks, seed)
    missing = sum(not zoo.path_of(recipe).exists() for recipe in (suite.base, *suite.recipes.values()))
    train = f"{missing} ResNets have to be trained, about {MINUTES['training']} minutes on one core; " if missing else "All ResNets are in the zoo; "
    return f"{train}measuring them takes about {MINUTES['measuring']} minutes more, once. What is finished is kept."


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset | None:
    """`bell.run`'s Dataset with one setting, of eight splits; nothing in "quick"."""
    bell.PROFILES[profile]  # an error where there is no such profile
    if profile == "quick":
        return None
    made = {SETTING: suites.split(NUM_TASKS, seed)}
    return kept("cart-resnet", made, {"ranks": RANKS, "lams": LAMS}, lambda: _measure(made[SETTING], device)).assign_attrs(attributes(made[SETTING], seed))


def _measure(suite, device):
    with training.one_thread():
        return grid.measured(suite.load(device), RANKS, LAMS).expand_dims(setting=[SETTING])


def run_storage(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset | None:
    """`storage.run` of the eight splits; nothing in "quick"."""
    suite = suites.split(NUM_TASKS, seed)
    return None if profile == "quick" else kept("cart-storage", {SETTING: suite}, {}, lambda: storage.measured(suite.load(device))).assign_attrs(attributes(suite, seed))


def run_tasks(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset | None:
    """`tasks.run` of 2 to 20 splits with the source's grids; nothing in "quick"."""
    suite = suites.split(MANY.num_tasks, seed)
    return None if profile == "quick" else tasks.kept(suite, MANY, seed, device).assign_attrs(attributes(suite, seed))


def attributes(suite: suites.Suite, seed: int) -> dict:
    """What `lessons.kit.sweep.caption` needs."""
    source = suite.source
    return dict(source=source.text, source_kind=source.kind, dataset="CIFAR-100", network="ResNet-18 of width 16", profile="full", seed=seed,
                images=f"{suites.IMAGES['ResNet18']} test images a task, BatchNorm's statistics estimated anew")
