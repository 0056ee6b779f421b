"""Test-time adaptation of a merged ViT: AdaMerging and AdaMerging + CART, on unlabelled held-out images."""
import numpy as np
import xarray

from lessons.kit.experiment import Experiment
from lessons.merging import adaptive
from lessons.suites import Loaded
from lessons.vit.experiment import setting
from lessons.vit.experiment.setting import FIRST, Settings

STARTS = {"AdaMerging": 0.1, "AdaMerging + CART": 1.0}
RANK = 0.16
STEPS, LR, BATCH = 40, 0.01, 32


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The first width.

    Returns:
        A Dataset with accuracy (adapted: 2, when: 2, task), at first and in the end, on test images; entropy (adapted,
        step), the mean over tasks, in nats, on the batch of a step.
    """
    loaded = setting.load(settings, seed, settings.widths[0], device)
    results = [adapted(loaded, name) for name in STARTS]
    return xarray.Dataset({"accuracy": (("adapted", "when", "task"), np.array([result[0] for result in results])),
                           "entropy": (("adapted", "step"), np.array([result[1] for result in results]))},
                          {"adapted": list(STARTS), "when": ["at first", "in the end"], "task": loaded.suite.tasks},
                          {"images": f"{2 * BATCH} unlabelled and {settings.images} test images a task"})


def adapted(loaded: Loaded, name: str) -> tuple[list[np.ndarray], list[float]]:
    """Accuracy (tasks,) at first and in the end, and the entropies."""
    plain = name == "AdaMerging"
    if plain:
        origin, vectors = adaptive.plain(loaded.base, loaded.finetuned)
    else:
        origin, vectors = adaptive.centred(loaded.base, loaded.finetuned, RANK)
    batches = loaded.unlabelled(BATCH, 2)
    seen = []
    for steps in (0, STEPS):
        scales, entropies = adaptive.adapted_scales(origin, vectors, loaded.forward, batches, "layer", STARTS[name],
                                                    steps, LR, clamp=plain)
        seen.append(loaded.accuracy(adaptive.combined(origin, vectors, scales)))
    return seen, [float(value) / len(batches) for value in entropies]


EXPERIMENT = Experiment("vit-adapting", measure, setting.of_width(FIRST), setting.source, setting.DATASET,
                        recipes=setting.recipes, network=f"TinyViT of width {FIRST}")
run = EXPERIMENT.run
