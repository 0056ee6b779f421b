"""The experiments: `starts` (what two networks have in common before they are finetuned; matching), `labels`
(pretraining on shuffled labels), `curvature` (Theorem 1 and its regression), `resnet` (the first of these on
ResNet-18), and the measurement along a `line` that they share."""
from lessons.kit import experiment
from lessons.pretraining.experiment import curvature, labels, line, resnet, starts

SECONDS = {"quick": 60, "full": 180}  # rough, on 2 cores, nothing kept
RESNET_SECONDS_A_STEP = 0.2  # rough, width 16, batch 64, two cores


def announce(profile: str = "quick", seed: int = 0, deeper: bool = True) -> None:
    """Say which data there are, and what the chapter's experiments will have to do.

    Args:
        deeper: whether with `resnet`, which the deeper notebook alone shows.

    Raises:
        ValueError: there is no such profile.
    """
    said = experiment.estimate(_wanted(profile, seed), SECONDS[profile])
    if profile == "full" and deeper and experiment.to_measure([resnet.RESNET], profile, seed):
        steps = resnet.steps(seed)
        minutes = steps * RESNET_SECONDS_A_STEP / 60
        said += (f" The ResNets at the end need {steps:,} training steps: about {minutes:.0f} minutes, once."
                 if steps else " So are the ResNets.")
    experiment.announce(line.source(), said)


def _wanted(profile, seed):
    """The MLPs that cells ask for, and those of what is not measured yet."""
    of_cells = [*starts.all_recipes(seed), *line.common(seed).values()]
    to_measure = experiment.to_measure((labels.LABELS, curvature.CURVATURE), profile, seed)
    return [*of_cells, *(recipe for sweep in to_measure for recipe in sweep.recipes(sweep.profiles[profile], seed))]


def all_recipes(profile: str = "quick", seed: int = 0) -> list:
    """Every MLP of the chapter."""
    of_labels = labels.all_recipes(labels.PROFILES[profile].starts, seed)
    of_curvature = curvature.all_recipes(curvature.PROFILES[profile].checkpoints, seed)
    return [*starts.all_recipes(seed), *of_labels, *of_curvature]
