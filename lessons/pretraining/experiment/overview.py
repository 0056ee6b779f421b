"""What the whole chapter trains."""
import subprocess

import data
from lessons.pretraining.experiment import curvature, labels, line, resnet, starts
from toy_models import zoo

RESNET_SECONDS_A_STEP = 0.2  # rough, width 16, batch 64, two cores
SECONDS = {"quick": 40, "full": 120}  # rough, on 2 cores, nothing cached


def source(seed: int = 0) -> str:
    """Which digits the chapter uses; a stand-in is named."""
    return str(data.source("rotated_mnist", angle=0.0))


def estimate(profile: str, seed: int = 0) -> str:
    """A sentence that says what the chapter's experiments will have to do and about how long that takes on two cores."""
    missing = line.missing([*starts.recipes(seed).values(), *labels.all_recipes(profile, seed), *curvature.all_recipes(profile, seed)])
    said = f"{missing} MLPs have to be trained: about {SECONDS[profile]} s on two cores, once." if missing else "All MLPs of this chapter are in the zoo: this takes seconds."
    if profile == "full":
        steps = resnet.steps(seed)
        said += f" The ResNets at the end need {steps:,} training steps: about {steps * RESNET_SECONDS_A_STEP / 60:.0f} minutes, once." if steps else " So are the ResNets."
    return said


def prepare(profile: str, seed: int = 0) -> subprocess.Popen | None:
    """Have a second process train the MLPs of `labels` and `curvature` while `starts` is running; see `zoo.train_meanwhile`."""
    first = set(starts.recipes(seed).values())
    return zoo.train_meanwhile([recipe for recipe in [*labels.all_recipes(profile, seed), *curvature.all_recipes(profile, seed)] if recipe not in first])
