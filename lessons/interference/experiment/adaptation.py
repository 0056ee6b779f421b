"""Test-time adaptation: AdaMerging and AdaMerging + CART, step by step. λ per layer and task is moved until the
predictions on unlabelled images are certain."""
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray
from tqdm.auto import tqdm

from lessons.interference.experiment import comparison, results
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging import adaptive
from lessons.merging.adaptive import adapted_scales, combined, entropy
from lessons.suites import Loaded, Suite

ADAPTED = {"adamerging": "task_arithmetic", "adamerging_cart": "cart"}  # {method: what it is at step 0}


@dataclass(frozen=True)
class Settings:
    """How it is adapted."""
    steps: int  # steps of Adam
    lr: float  # Adam's learning rate
    batch_size: int  # unlabelled held-out images in a batch, of each task
    batches: int  # batches of each task
    every: int  # after so many steps the merged network is looked at
    test: int  # test images a task
    starts: tuple[float, ...] = ()  # λ before the first step, one for each of ADAPTED
    rank_ratio: float = 0.0  # of CART's vectors


# These steps are larger than the sources'. Starts and rank come from the comparison.
# How far a λ can move in the sources' 500 steps of 0.001: a step of Adam is about as long as the learning rate.
REACH = 0.5
QUICK = Settings(steps=24, lr=0.05, batch_size=32, batches=4, every=2, test=400)
FULL = Settings(steps=300, lr=0.01, batch_size=64, batches=8, every=15, test=1000)
RESNETS = Settings(steps=48, lr=0.01, batch_size=32, batches=8, every=16, test=256)
PROFILES = {"MLP": Profiles(quick=QUICK, full=FULL), "ResNet18": Profiles(full=RESNETS)}  # kind of network: profiles
SUITES = Profiles(quick=("rotated",), full=("rotated", "several", "split 8"))  # more tasks with ResNets take too long


def of_suite(suite: Suite, chosen: xarray.Dataset) -> Experiment:
    """The adaptation on a suite; see `measure`.

    Args:
        suite: the tasks.
        chosen: what `comparison.run` gave for this suite: both methods start from the λ, and CART from the rank, that
            it chose on held-out images.
    """
    starts = tuple(results.chosen(chosen, method)["scale"] for method in ADAPTED.values())
    rank_ratio = results.chosen(chosen, "cart")["rank_ratio"]
    profiles = Profiles()
    for profile, settings in PROFILES[suite.kind].items():
        profiles[profile] = replace(settings, starts=starts, rank_ratio=rank_ratio)
    return comparison.on_suite(suite, "interference-adaptation",
                               lambda settings, seed, device: measure(suite, settings, device), profiles)


def run(suite: Suite, chosen: xarray.Dataset, profile: str, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and adapt; from disk where that was done before. See `of_suite` and `measure`."""
    return of_suite(suite, chosen).run(profile, seed, device)


def run_all(suites: dict[str, Suite], chosen: dict[str, xarray.Dataset], profile: str, seed: int = 0,
            device: str = "auto") -> dict[str, xarray.Dataset]:
    """`run` for those of the suites that a profile adapts; in "quick" that is Rotated MNIST alone."""
    wanted = [name for name in suites if name in SUITES[profile]]
    return {name: run(suites[name], chosen[name], profile, seed, device) for name in wanted}


def measure(suite: Suite, settings: Settings, device: str = "auto") -> xarray.Dataset:
    """Adapt with every method of ADAPTED.

    Returns:
        A Dataset with
        entropy (adapted: 2, step): mean over tasks, in nats, on the batch of that step, after the last on the next;
        accuracy (adapted, step, task): normalised, on test images;
        collapse (adapted, step): the share of predictions that fall on each task's most frequent class, mean over
        tasks;
        lam (adapted, layer, task): λ after the last step;
        start (adapted), rank_ratio, lr;
        own (task): the single models' accuracy on test images.
    """
    loaded = suite.load(device, settings.test)
    methods = xarray.DataArray(list(ADAPTED), dims="adapted", name="adapted")
    traces = [_adapted(loaded, settings, method, start) for method, start in zip(ADAPTED, settings.starts)]
    unlabelled = settings.batch_size * settings.batches
    return xarray.concat(traces, methods).assign(
        start=("adapted", list(settings.starts)),
        rank_ratio=settings.rank_ratio,
        lr=settings.lr,
        own=("task", loaded.own()),
    ).assign_attrs(images=f"{unlabelled} unlabelled and {len(loaded.test[0][1]):,} test images a task")


def _adapted(loaded, settings, method, start):
    """One method's trace: entropy, accuracy and collapse by step, and λ in the end."""
    plain = method == "adamerging"
    if plain:
        origin, vectors = adaptive.plain(loaded.base, loaded.finetuned)
    else:
        origin, vectors = adaptive.centred(loaded.base, loaded.finetuned, settings.rank_ratio)
    trace = Trace(loaded, settings, f"{loaded.suite.title}, {method}")
    batches = loaded.unlabelled(settings.batch_size, settings.batches)
    scales, entropies = adapted_scales(origin, vectors, trace.forward, batches, "layer", start, settings.steps,
                                       settings.lr, clamp=plain)
    merged = combined(origin, vectors, scales)
    trace.look(merged)
    following = [of_task[settings.steps % len(of_task)] for of_task in batches]
    with torch.no_grad():
        last = sum(entropy(loaded.forward(merged, x, task)).item() for task, x in enumerate(following))
    lam = torch.stack(list(scales.values())).numpy()
    dataset = trace.dataset([*entropies, last])
    return dataset.assign(lam=(("layer", "task"), lam)).assign_coords(layer=list(vectors))


class Trace:
    """Watches an adaptation: `forward` is the suite's, and looks at the merged network every so many steps, with a
    progress bar."""

    def __init__(self, loaded: Loaded, settings: Settings, title: str):
        self.loaded = loaded
        self.settings = settings
        self.own = loaded.own()
        self.seen = 0
        self.accuracies = []
        self.collapses = []
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
        self.accuracies.append(results.share_of(self.loaded.accuracy(state), self.own))
        shares = []
        for task, (x, _) in enumerate(self.loaded.test):
            answers = self.loaded.forward(state, x, task).argmax(1)
            shares.append(answers.bincount().max().item() / len(answers))
        self.collapses.append(np.mean(shares))

    def dataset(self, entropies):
        """What was noted; entropies, summed over tasks, are those before every step and after the last."""
        self.bar.close()
        steps = [*range(0, self.settings.steps, self.settings.every), self.settings.steps]
        tasks = self.loaded.suite.tasks
        return xarray.Dataset(
            {"entropy": ("step", np.array(entropies)[steps] / len(tasks)),
             "accuracy": (("step", "task"), self.accuracies),
             "collapse": ("step", self.collapses)},
            coords={"step": steps, "task": tasks})


def within_reach(sweep: xarray.Dataset) -> int:
    """The last step looked at by which no λ has moved further than REACH, as far as the sources' can."""
    steps = sweep.step.values
    return int(steps[steps * float(sweep.lr) <= REACH + 1e-9].max())


def at_the_border(sweep: xarray.Dataset) -> float:
    """The share of AdaMerging's λ that end at 0 or 1, where they are held."""
    lam = sweep.lam.sel(adapted="adamerging")
    return float(((lam <= 0) | (lam >= 1)).mean())
