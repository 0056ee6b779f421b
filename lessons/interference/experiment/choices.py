"""Where a method's sources and their code differ: the same merge with one choice changed, and what difference it makes."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.merging import PerTask, merge
from lessons.interference.experiment.comparison import attributes
from lessons.suites import Suite
from lessons.kit.sweep import cached
from toy_models import training


@dataclass(frozen=True)
class Choice:
    """One choice.

    Attributes:
        method: that has it.
        what: the choice in words.
        one, other: (who does it so, the parameters), both ways.
        given: the parameters that stay.
    """
    method: str
    what: str
    one: tuple[str, dict]
    other: tuple[str, dict]
    given: dict


_TIES = {"scale": 1.0, "density": 0.2}
CHOICES = (
    Choice("ties", "the share of kept entries is counted over", ("the whole network (paper, its code)", {"trim": "global"}), ("each tensor (PEFT, mergekit)", {"trim": "tensor"}), _TIES),
    Choice("ties", "how many entries a share is", ("⌊share · n⌋ (mergekit)", {"count": "floor"}), ("one more (its code)", {"count": "floor + 1"}), _TIES),
    Choice("ties", "sign where the votes sum to 0", ("none (formula)", {"on_tie": "zero"}), ("that of the majority of entries (its code)", {"on_tie": "majority"}), _TIES),
    Choice("ties", "those who agree are", ("averaged (TIES)", {"agree": "elected mean"}), ("added (“dis-sum”)", {"agree": "elected sum"}), {"scale": 0.4, "density": 0.2}),
    Choice("dare", "what is left is", ("divided by 1 − p (paper)", {"rescale": "rate"}), ("given its old L1 norm (mergekit)", {"rescale": "norm"}), {"scale": 0.2, "drop_rate": 0.9}),
    Choice("dare", "the random draw", ("seed 0", {"seed": 0}), ("seed 1", {"seed": 1}), {"scale": 0.2, "drop_rate": 0.9}),
    Choice("breadcrumbs", "shares are counted over", ("each tensor (paper)", {"trim": "tensor"}), ("each row (its code)", {"trim": "row"}), {"scale": 0.3, "density": 0.1}),
    Choice("consensus", "the vector that is masked", ("sum of all (task arithmetic)", {"agree": "sum", "density": 1.0}), ("TIES, added", {"agree": "elected sum", "density": 0.2}), {"scale": 0.3}),
    Choice("emr", "λ_t compares", ("sums over all entries (paper)", {"rescale": "global"}), ("means of tensors (its code)", {"rescale": "tensor"}), {}),
    Choice("cart", "the rank is rounded", ("up (paper)", {"rounding": "ceil"}), ("down (its code)", {"rounding": "floor"}), {"scale": 1.0, "rank_ratio": 0.16}),
    Choice("cart", "which matrices are truncated", ("all", {}), ("names with “attn” or “mlp” (its code): none here", {"rank_ratio": 0.0}), {"scale": 1.0, "rank_ratio": 0.08}))


def run(suite: Suite, images: int, profile: str, seed: int, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and merge both ways.

    Returns:
        A Dataset with, over choice (the position in CHOICES): entries, the share of the merged weights that differ; distance, ‖θ − θ′‖ as a share of
        ‖θ − θ₀‖; one and other, normalised accuracy on test images, mean over tasks.
        Attributes: those of `lessons.kit.sweep.caption`, and suite, its title.
    """
    ingredients = {"choices": [[choice.method, choice.one[1], choice.other[1], choice.given] for choice in CHOICES], "images": images,
                   "recipes": [recipe.key for recipe in (suite.base, *suite.recipes.values())]}
    return cached("merging-choices", ingredients, lambda: measure(suite, images, device).assign_attrs(attributes(suite, profile, seed)))


@training.one_thread()
def measure(suite: Suite, images: int, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    loaded, rows = suite.load(device, images), []
    own, origin = loaded.own(), _flat(loaded.base)
    for choice in CHOICES:
        both = [merge(choice.method, loaded.base, loaded.finetuned, **choice.given | parameters) for _, parameters in (choice.one, choice.other)]
        one, other = (_flat(merged.model(0) if isinstance(merged, PerTask) else merged) for merged in both)
        rows.append([(one != other).double().mean().item(), ((one - other).norm() / (one - origin).norm()).item(), *((loaded.accuracy(merged) / own).mean() for merged in both)])
    return xarray.Dataset({name: ("choice", column) for name, column in zip(("entries", "distance", "one", "other"), np.transpose(rows))}).assign_attrs(
        images=f"{len(loaded.test[0][1]):,} test images a task")


def _flat(state):
    return torch.cat([tensor.flatten() for tensor in state.values() if tensor.is_floating_point()])
