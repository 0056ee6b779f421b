"""The two settings of the chapter, and the numbers that the ledger keeps of them.

Profiles "quick" and "full" are the MLP's; "ResNet" is the ResNet-18's, which takes minutes to train.
"""
import xarray

from lessons.task_arithmetic.algorithms import log_slope
from lessons.task_arithmetic.experiment import mlp, resnet
from lessons.task_arithmetic.experiment.mlp import ANGLES, FEATURES, HOW, PAIRS, negation_of
from lessons.kit.profiles import SEEDS

RESNET = "ResNet"
LEDGER = {"full": SEEDS, RESNET: (0, 1, 2)}  # profile: seeds that `make claims` measures
RESNET_NUMBERS = {"CTL-10": ("eq_2_block_1_at_0.2", "eq_2_block_8_at_0.2", "eq_2_block_1_at_0.4", "eq_2_block_8_at_0.4", "own", "two_at_0", "two_at_half", "two_at_one", "four_at_quarter", "four_at_half",
                             "four_at_one", "four_at_one_carried_statistics", "variances_below_zero_four_at_one", "head_elsewhere"),
                  "CTL-11": ("eq_3_block_1_at_0.2", "eq_3_block_8_at_0.2", "eq_3_block_1_at_0.4", "eq_3_block_8_at_0.4"),
                  "CTL-13": ("pretraining_at_0", "pretraining_at_minus_half", "task_at_0", "task_at_minus_half", "pretraining_lost_at_minus_half", "task_lost_at_minus_half",
                             "variances_below_zero_one_at_minus_one")}
READINGS = (0.2, 0.4)  # λ = 0.4 of the source's figures: the sum's coefficient by its definition of cosine_arith, and by Eq. 2


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind the chapter's claims, from one sweep: {claim: {number: value}}; those of the ResNet begin with its name. What each means
    stands in claims.yaml."""
    if sweep.attrs["profile"] == RESNET:
        found = resnet.numbers(sweep) | {"four_at_half": four_at_half(sweep)}
        found |= {f"{which}_lost_at_minus_half": found[f"{which}_at_0"] - found[f"{which}_at_minus_half"] for which in ("pretraining", "task")}
        return {id: {f"{RESNET} {name}": found[name] for name in names} for id, names in RESNET_NUMBERS.items()}
    return {"CTL-10": claim_10(sweep), "CTL-11": claim_11(sweep), "CTL-12": claim_12(sweep), "CTL-13": claim_13(sweep)}


def _equation(part):
    """What Eq. 2 and Eq. 3 have in common: how large the gap is beside the baseline, how short the features, and how the deviation grows."""
    ratio, small = part.gap_mean / part.base_mean, part.sel(step=slice(0, 0.2)).deviation.mean("ends")
    numbers = {"base_least": part.base_mean.sel(step=READINGS[0]).min().item()}
    for lam in (*READINGS, 1.0):
        numbers |= {f"gap_over_base_at_{lam:g}": ratio.sel(step=lam).max().item(), f"coef_at_{lam:g}": part.coef_mean.sel(step=lam).mean("ends").min().item()}
    slopes = [log_slope(small.step.values, small.sel(layer=layer).values) for layer in small.layer.values]
    return numbers | {"exponent_layer_1": slopes[0], "exponent_deepest": slopes[-1]}


SHARE, LENGTH = 0.05, 0.9  # from when on an equation is said to hold no longer: gap over baseline, and coef


def limits(sweep: xarray.Dataset) -> xarray.Dataset:
    """The smallest measured λ at which, in a layer and on average over pairs or tasks, the gap exceeds a twentieth of the baseline, and coef falls below 0.9.

    Returns:
        A Dataset with gap and coef (equation: 2, layer), NaN where that does not happen up to λ = 1.
    """
    found = []
    for names in (list(PAIRS), [negation_of(angle) for angle in ANGLES]):
        part = sweep.sel(ends=names)
        left = {"gap": (part.gap_mean / part.base_mean).mean("ends") > SHARE, "coef": part.coef_mean.mean("ends") < LENGTH}
        found.append(xarray.Dataset({name: sweep.step.where(beyond).min("step") for name, beyond in left.items()}))
    return xarray.concat(found, xarray.DataArray(["Eq. 2", "Eq. 3"], dims="equation", name="equation"))


def claim_10(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-10: Eq. 2 at three λ, and what the sum is worth on both tasks."""
    own = sum(sweep.own.sel(model=angle, task=angle).item() for angle in ANGLES) / len(ANGLES)
    halved, whole = (sum(sweep.accuracy.sel(edit=name, lam=lam, task=list(tasks)).mean().item() for name, tasks in PAIRS.items()) / len(PAIRS) for lam in (0.5, 1.0))
    eight = sweep.many.sel(num_tasks=len(ANGLES))
    return _equation(sweep.sel(ends=list(PAIRS))) | {"own": own, "two_at_half": halved, "two_at_one": whole, "eight_best": eight.max().item(),
                                                     "eight_best_lam": eight.idxmax("many_lam").item(), "eight_before": eight.sel(many_lam=0).item()}


def claim_11(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-11: Eq. 3 at three λ."""
    return _equation(sweep.sel(ends=[negation_of(angle) for angle in ANGLES]))


def claim_12(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-12: the worse of two tasks with averaged features, and with the better of the two single ones."""
    worse, numbers = sweep.stitched.min("two"), {}
    both, alone = worse.sel(features=FEATURES[0]), worse.sel(features=list(FEATURES[1:])).max("features")
    deep = {"layer": ["layer 2", "layer 3", "output"]}
    for lam in (0.4, 1.0):
        numbers |= {f"worse_with_average_at_{lam:g}": both.sel(step=lam, **deep).mean("pair").min().item(), f"worse_with_one_at_{lam:g}": alone.sel(step=lam, **deep).mean("pair").max().item(),
                    f"share_of_pairs_at_{lam:g}": (both > alone).sel(step=lam, **deep).mean("pair").min().item()}
    own = (sweep.stitched.sel(features=FEATURES[1], two="i") + sweep.stitched.sel(features=FEATURES[2], two="j")) / 2
    return numbers | {"one_on_its_own_at_1": own.sel(step=1.0, **deep).mean("pair").min().item(), "layer_1_with_average_at_1": both.sel(step=1.0, layer="layer 1").mean().item(),
                      "layer_1_share_of_pairs_at_1": (both > alone).sel(step=1.0, layer="layer 1").mean().item()}


def claim_13(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-13: what negation costs on the pretraining task and on the task, in features and in weights."""
    mean, numbers = sweep.negated.mean("angle"), {"before_pretraining": sweep.negated.isel(lam0=0).sel(which="pretraining").mean().item(), "before_task": sweep.negated.isel(lam0=0).sel(which="i").mean().item()}
    for lam in (0.5, 1.0):
        for how, name in zip(HOW, ("features", "weights")):
            here = mean.sel(lam0=lam, how=how)
            numbers |= {f"{name}_pretraining_at_{lam:g}": here.sel(which="pretraining").min().item(), f"{name}_task_at_{lam:g}": here.sel(which="i").max().item()}
    near = sweep.negated.sel(angle=22.5, which="i", how=HOW[0], layer="layer 2")
    return numbers | {"near_task_before": near.sel(lam0=0).item(), "near_task_at_1": near.sel(lam0=1.0).item()}


def four_at_half(sweep: xarray.Dataset) -> float:
    """The ResNet's accuracy with all four task vectors at λ = ½, mean over the four tasks."""
    return sweep.accuracy.sel(treatment=resnet.TREATMENTS[1], edit="all four", lam=0.5).isel(task=slice(1, None)).mean().item()


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`mlp.run`, or, in profile "ResNet", `resnet.run`."""
    return resnet.run("full", seed, device).assign_attrs(profile=RESNET) if profile == RESNET else mlp.run(profile, seed, device)
