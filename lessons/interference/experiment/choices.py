"""Where a method's sources and their code differ: the same merge with one choice changed, and what difference it
makes."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.interference.experiment import comparison, results
from lessons.interference.experiment.searches import Settings
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging import PerTask, merge
from lessons.suites import Suite


@dataclass(frozen=True)
class Choice:
    """One choice."""
    method: str  # of the registry
    what: str  # the choice in words
    one: tuple[str, dict]  # one way: who does it so, the parameters
    other: tuple[str, dict]  # the same of the other way
    given: dict  # the parameters that stay

    @property
    def both(self) -> list[dict]:
        """All parameters, one way and the other."""
        return [self.given | parameters for _, parameters in (self.one, self.other)]


_TIES = {"scale": 1.0, "density": 0.2}
_DARE = {"scale": 0.2, "drop_rate": 0.9}
CHOICES = (
    Choice("ties", "the share of kept entries is counted over",
           one=("the whole network (paper, its code)", {"trim": "global"}),
           other=("each tensor (PEFT, mergekit)", {"trim": "tensor"}),
           given=_TIES),
    Choice("ties", "how many entries a share is",
           one=("⌊share · n⌋ (mergekit)", {"count": "floor"}),
           other=("one more (its code)", {"count": "floor + 1"}),
           given=_TIES),
    Choice("ties", "sign where the votes sum to 0",
           one=("none (formula)", {"on_tie": "zero"}),
           other=("that of the majority of entries (its code)", {"on_tie": "majority"}),
           given=_TIES),
    Choice("ties", "those who agree are",
           one=("averaged (TIES)", {"agree": "elected mean"}),
           other=("added (“dis-sum”)", {"agree": "elected sum"}),
           given={"scale": 0.4, "density": 0.2}),
    Choice("dare", "what is left is",
           one=("divided by 1 − p (paper)", {"rescale": "rate"}),
           other=("given its old L1 norm (mergekit)", {"rescale": "norm"}),
           given=_DARE),
    Choice("dare", "the random draw",
           one=("seed 0", {"seed": 0}),
           other=("seed 1", {"seed": 1}),
           given=_DARE),
    Choice("breadcrumbs", "shares are counted over",
           one=("each tensor (paper)", {"trim": "tensor"}),
           other=("each row (its code)", {"trim": "row"}),
           given={"scale": 0.3, "density": 0.1}),
    Choice("consensus", "the vector that is masked",
           one=("sum of all (task arithmetic)", {"agree": "sum", "density": 1.0}),
           other=("TIES, added", {"agree": "elected sum", "density": 0.2}),
           given={"scale": 0.3}),
    Choice("emr", "λ_t compares",
           one=("sums over all entries (paper)", {"rescale": "global"}),
           other=("means of tensors (its code)", {"rescale": "tensor"}),
           given={}),
    Choice("cart", "the rank is rounded",
           one=("up (paper)", {"rounding": "ceil"}),
           other=("down (its code)", {"rounding": "floor"}),
           given={"scale": 1.0, "rank_ratio": 0.16}),
    Choice("cart", "which matrices are truncated",
           one=("all", {}),
           other=("names with “attn” or “mlp” (its code): none here", {"rank_ratio": 0.0}),
           given={"scale": 1.0, "rank_ratio": 0.08}),
)


def of_suite(suite: Suite, profiles: Profiles | None = None) -> Experiment:
    """Every choice made both ways on a suite; see `measure`. Profiles are the comparison's."""
    return comparison.on_suite(suite, "interference-choices",
                               lambda settings, seed, device: measure(suite, settings, device),
                               profiles or comparison.PROFILES[suite.kind])


def run(suite: Suite, profile: str, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and merge both ways; from disk where that was done before. See `measure`."""
    return of_suite(suite).run(profile, seed, device)


def measure(suite: Suite, settings: Settings, device: str = "auto") -> xarray.Dataset:
    """Make every choice both ways, and look at `settings.test` images a task.

    Returns:
        A Dataset with, over choice (the position in CHOICES):
        entries: the share of the merged weights that differ;
        distance: ‖θ − θ′‖ as a share of ‖θ − θ₀‖;
        one and other (choice, task): normalised accuracy on test images;
        own (task): of the single models.
    """
    loaded = suite.load(device, settings.test)
    own = loaded.own()
    origin = _flat(loaded.base)
    columns = {"entries": [], "distance": [], "one": [], "other": []}
    for choice in CHOICES:
        one, other = (merge(choice.method, loaded.base, loaded.finetuned, **parameters) for parameters in choice.both)
        here = _flat(one)
        there = _flat(other)
        columns["entries"].append((here != there).double().mean().item())
        columns["distance"].append(((here - there).norm() / (here - origin).norm()).item())
        columns["one"].append(results.share_of(loaded.accuracy(one), own))
        columns["other"].append(results.share_of(loaded.accuracy(other), own))
    columns = {name: (("choice", "task")[:np.ndim(column)], column) for name, column in columns.items()}
    return xarray.Dataset(
        columns | {"own": ("task", own)},
        coords={"task": suite.tasks},
        attrs={"images": f"{len(loaded.test[0][1]):,} test images a task"})


def _flat(merged):
    """All weights in one row; of what is kept per task, the first task's."""
    state = merged.model(0) if isinstance(merged, PerTask) else merged
    return torch.cat([tensor.flatten() for tensor in state.values() if tensor.is_floating_point()])
