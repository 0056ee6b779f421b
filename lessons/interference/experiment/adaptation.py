"""Test-time adaptation: AdaMerging and AdaMerging + CART, step by step. λ per layer and task is moved until the predictions on unlabelled images are certain."""
from dataclasses import asdict, dataclass

import numpy as np
import torch
import xarray
from tqdm.auto import tqdm

from lessons.merging import adaptive
from lessons.merging.adaptive import adapted_scales, combined, entropy
from lessons.interference.experiment.comparison import GRIDS, SEARCHES, attributes
from lessons.suites import Loaded, Suite
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached
from toy_models import training

ADAPTED = {"adamerging": "task_arithmetic", "adamerging_cart": "cart"}  # {method: what it is at step 0}


@dataclass(frozen=True)
class Settings:
    """How it is adapted: steps of Adam with this learning rate, batches of so many held-out images a task, looked at every so many steps on test images."""
    steps: int
    lr: float
    batch_size: int
    batches: int
    every: int
    test: int


PROFILES = Profiles(quick={"MLP": Settings(steps=24, lr=0.05, batch_size=32, batches=4, every=4, test=128)},
                    full={"MLP": Settings(steps=300, lr=0.01, batch_size=64, batches=8, every=15, test=1000),
                          "ResNet18": Settings(steps=48, lr=0.01, batch_size=32, batches=8, every=16, test=256)})  # the source's 500 steps of 0.001, in larger ones
SUITES = Profiles(quick=("rotated",), full=("rotated", "several", "split 8"))  # adapting ResNets to more tasks would take too long


def run(suite: Suite, chosen: xarray.Dataset, profile: str, seed: int, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and adapt. Both methods start from the λ, and CART from the rank, that `comparison.run` chose on held-out images.

    Args:
        chosen: what `comparison.run` gave for this suite.

    Returns:
        A Dataset with
        entropy (adapted: 2, step): mean over tasks, in nats, on the batch of that step, after the last on the next; accuracy (adapted, step, task): normalised, on test images;
        collapse (adapted, step): the share of predictions that fall on each task's most frequent class, mean over tasks;
        lam (adapted, layer, task): λ after the last step; start (adapted), rank_ratio.
        Attributes: those of `lessons.kit.sweep.caption`, and suite, its title.
    """
    settings = PROFILES[profile][suite.base.architecture.name]
    place, starts = int(chosen.place_chosen.sel(grid=GRIDS[0], searched="cart")), [float(chosen.scale_chosen.sel(grid=GRIDS[0], searched=name)) for name in ADAPTED.values()]
    rank_ratio = SEARCHES["cart"].values[place]
    ingredients = {"settings": asdict(settings), "starts": starts, "rank_ratio": rank_ratio, "recipes": [recipe.key for recipe in (suite.base, *suite.recipes.values())]}
    return cached("merging-adaptation", ingredients, lambda: measure(suite, settings, starts, rank_ratio, device).assign_attrs(attributes(suite, profile, seed)))


def run_all(suites: dict[str, Suite], chosen: dict[str, xarray.Dataset], profile: str, seed: int, device: str = "auto") -> dict[str, xarray.Dataset]:
    """`run` for those of the suites that a profile adapts; in "quick" that is Rotated MNIST alone."""
    return {name: run(suite, chosen[name], profile, seed, device) for name, suite in suites.items() if name in SUITES[profile]}


def measure(suite: Suite, settings: Settings, starts: list[float], rank_ratio: float, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    if suite.splits:
        return _measure(suite, settings, starts, rank_ratio, device)
    with training.one_thread():
        return _measure(suite, settings, starts, rank_ratio, device)


def _measure(suite, settings, starts, rank_ratio, device):
    loaded, found, lams = suite.load(device, settings.test), [], []
    for method, start in zip(ADAPTED, starts):
        origin, vectors = adaptive.plain(loaded.base, loaded.finetuned) if method == "adamerging" else adaptive.centred(loaded.base, loaded.finetuned, rank_ratio)
        trace, batches = Trace(loaded, settings, f"{suite.title}, {method}"), loaded.unlabelled(settings.batch_size, settings.batches)
        scales, entropies = adapted_scales(origin, vectors, trace.forward, batches, "layer", start, settings.steps, settings.lr, clamp=method == "adamerging")
        trace.look(combined(origin, vectors, scales))
        with torch.no_grad():
            last = [entropy(loaded.forward(combined(origin, vectors, scales), of_task[settings.steps % len(of_task)], task)).item() for task, of_task in enumerate(batches)]
        found.append(trace.dataset([*entropies, sum(last)]))
        lams.append(torch.stack(list(scales.values())).numpy())
    result = xarray.concat(found, xarray.DataArray(list(ADAPTED), dims="adapted", name="adapted"))
    return result.assign(lam=(("adapted", "layer", "task"), np.stack(lams)), start=("adapted", starts), rank_ratio=rank_ratio).assign_coords(layer=list(vectors)).assign_attrs(
        images=f"{settings.batch_size * settings.batches} unlabelled and {len(loaded.test[0][1]):,} test images a task")


class Trace:
    """Watches an adaptation: `forward` is the suite's, and looks at the merged network every so many steps, with a progress bar."""

    def __init__(self, loaded: Loaded, settings: Settings, title: str):
        self.loaded, self.settings, self.seen, self.accuracies, self.collapses = loaded, settings, 0, [], []
        self.bar = tqdm(total=settings.steps, desc=title, unit="step", leave=False)

    def forward(self, state, x, task):
        """The suite's `forward`."""
        logits = self.loaded.forward(state, x, task)
        if task == 0:
            if self.seen % self.settings.every == 0:
                self.look({key: tensor.detach() for key, tensor in state.items()})
            self.seen += 1
            self.bar.update()
            self.bar.set_postfix({"entropy": f"{entropy(logits.detach()).item():.2f}"})
        return logits

    @torch.no_grad()
    def look(self, state):
        """Note accuracy and collapse of a merged network."""
        self.accuracies.append(self.loaded.normalised(state))
        answers = [self.loaded.forward(state, x, task).argmax(1) for task, (x, _) in enumerate(self.loaded.test)]
        self.collapses.append(np.mean([answer.bincount().max().item() / len(answer) for answer in answers]))

    def dataset(self, entropies):
        """What was noted; entropies, summed over tasks, are those before every step and after the last."""
        self.bar.close()
        steps = [*range(0, self.settings.steps, self.settings.every), self.settings.steps]
        each = np.array(entropies)[steps] / len(self.loaded.suite.tasks)
        return xarray.Dataset({"entropy": ("step", each), "accuracy": (("step", "task"), self.accuracies), "collapse": ("step", self.collapses)},
                              coords={"step": steps, "task": self.loaded.suite.tasks})
