"""The chapter's measurements, and the numbers that the ledger keeps of them.

Profiles "quick" and "full" are the MLPs'; "ResNet" is the ResNet-18s', which take long to train.
"""
import numpy as np
import xarray

from lessons.cart.experiment import bell, plane, resnet, storage, tasks, theorem
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import along_the_ranks, chosen, envelope, height, one, row_space
from lessons.cart.experiment.readings import normalised
from lessons.kit.profiles import SEEDS

RESNET = "ResNet"
LEDGER = {"full": SEEDS, RESNET: (0, 1, 2)}  # profile: seeds that `make claims` measures
QUICK = {"CART-1": ("largest_difference_at_the_ends",), "CART-2": ("height_same_inputs",), "CART-3": ("rank_0",), "CART-4": ("predicted_rank",), "CART-5": ("centred_over_uncentred_disjoint",),
         "CART-6": ("error_at_3_percent",), "CART-7": ("largest_share_of_the_bound", "square_V_bound", "I_k_bound"), "CART-10": ("inside_plane_of_networks", "away_at_the_ends"),
         "CART-11": (), "CART-12": ("low_rank_over_mask", "in_all_8_tasks_over_mask"), "CART-14": ()}  # numbers for which a few images of small networks are enough


def source(profile: str, seed: int = 0) -> str:
    """What the chapter's data are: the official files, or what stands in for them and why."""
    return "\n".join(dict.fromkeys(f"{suite.source.text.split(',')[0]}{f' — {suite.source.reason}' if suite.source.reason else ''}" for suite in bell.suites_of(profile, seed).values()))


def estimate(profile: str, seed: int = 0) -> str:
    """What has to be trained and about how long that takes, in sentences."""
    return bell.estimate(profile, seed) if profile == "quick" else f"{bell.estimate(profile, seed)}\n{resnet.estimate(seed)}"


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All of the chapter's sweeps, and of each claim the numbers: variables "CART-2 height", … without dimensions; `claims` sorts them."""
    found = of_resnets(seed, device) if profile == RESNET else of_mlps(profile, seed, device)
    source = (resnet.run("full", seed, device) if profile == RESNET else bell.run(profile, seed, device)).attrs
    return xarray.Dataset({f"{id} {name}": value for id, numbers in found.items() for name, value in numbers.items()}, attrs=source | {"profile": profile})


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """{claim: {number: value}} of what `run` gives; of profile "quick" those that it is enough for. What each number means stands in claims.yaml."""
    found = {}
    for name, value in sweep.items():
        id, _, number = str(name).partition(" ")
        found.setdefault(id, {})
        if sweep.attrs["profile"] != "quick" or number in QUICK[id]:
            found[id][f"{RESNET} {number}" if sweep.attrs["profile"] == RESNET else number] = value.item()
    return found


def of_mlps(profile: str, seed: int, device: str = "auto") -> dict[str, dict[str, float]]:
    """CART-1 to 7, 10 to 12 and 14 on MLPs."""
    sweep, widths = bell.run(profile, seed, device), bell.run_widths(profile, seed, device)
    disjoint, same, rotated = (one(sweep, setting=name) for name in (bell.name_of(1.0), bell.name_of(0.0), bell.ROTATED))
    found = {"CART-1": invariance(disjoint), "CART-2": {"height": height(disjoint), "height_same_inputs": height(same), "height_half_permuted": height(one(sweep, setting=bell.name_of(0.5))),
                                                       "height_rotated": height(rotated), **_below_task_arithmetic(disjoint)},
             "CART-3": truncation(disjoint), "CART-4": peaks(sweep, widths), "CART-5": lower_when_centred(disjoint, same, rotated), "CART-6": over_the_ranks(disjoint),
             "CART-7": of_the_theorem(theorem.run(profile, seed, device)), "CART-10": of_the_plane(plane.run(profile, seed, device)), "CART-11": of_the_tasks(tasks.run(profile, seed, device)),
             "CART-12": of_storage(storage.run(profile, seed, device)), "CART-14": of_widths(widths)}
    if bell.SEVERAL in sweep.setting.values:
        found["CART-2"]["height_two_data_sets"] = height(one(sweep, setting=bell.SEVERAL))
    return found


def of_resnets(seed: int, device: str = "auto") -> dict[str, dict[str, float]]:
    """CART-2 to 5, 11 and 12 on ResNets."""
    sweep, kept, many = (function("full", seed, device) for function in (resnet.run, resnet.run_storage, resnet.run_tasks))
    eight = one(sweep, setting=resnet.SETTING)
    own, test = eight.own.sel(part="test").mean().item(), eight.sel(part="test")
    best = chosen(eight, HOWS[0])
    interference = eight.interference.sel(reading="meant", rank=1.0)
    return {"CART-2": {"height": height(eight), "own": own, "average": test.average.mean().item(), "task_arithmetic": chosen(eight, HOWS[1], True).accuracy.mean().item()},
            "CART-3": truncation(eight), "CART-4": {"best_rank": best.attrs["rank"], "at_8_percent": envelope(eight, HOWS[0]).sel(rank=0.08).item(), "best": best.accuracy.mean().item()},
            "CART-5": {"layers_lower_when_centred": (interference.sel(how=HOWS[0]) < interference.sel(how=HOWS[1])).mean().item()},
            "CART-11": of_the_tasks(many), "CART-12": of_storage(kept)}


def invariance(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-1: how far the accuracies at rank 0 and at full rank are from the average's, at any λ, largest."""
    ends = sweep.accuracy.sel(how=HOWS[0], rank=[0.0, 1.0])
    return {"largest_difference_at_the_ends": abs(ends - sweep.average).max().item(), "largest_difference_between": abs(sweep.accuracy.sel(how=HOWS[0]) - sweep.average).max().item()}


def _below_task_arithmetic(sweep):
    centred, plain = (chosen(sweep, how, how == HOWS[1]).accuracy.mean().item() for how in HOWS)
    return {"best": centred, "average": sweep.average.sel(part="test").mean().item(), "task_arithmetic": plain, "own": sweep.own.sel(part="test").mean().item()}


def truncation(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-3: what truncated task vectors from θ₀ gain over whole ones, λ and rank chosen on held-out images, and what they lose at 8 %."""
    whole, truncated = (chosen(sweep, HOWS[1], full).accuracy.mean().item() for full in (True, False))
    best = envelope(sweep, HOWS[1])
    return {"whole": whole, "truncated": truncated, "gain_by_truncation": truncated - whole, "lost_at_8_percent": (best.sel(rank=1.0) - best.sel(rank=0.08)).item(), "rank_0": best.sel(rank=0.0).item()}


def peaks(sweep: xarray.Dataset, widths: xarray.Dataset) -> dict[str, float]:
    """CART-4: the rank at which CART is best, as a share and as a number of directions in layer 1; and by how much 8 % is below the best."""
    disjoint, rotated = one(sweep, setting=bell.name_of(1.0)), one(sweep, setting=bell.ROTATED)
    best = envelope(disjoint, HOWS[0])
    numbers = {"best_rank": chosen(disjoint, HOWS[0]).attrs["rank"], "best_rank_rotated": chosen(rotated, HOWS[0]).attrs["rank"], "lost_at_8_percent": (best.max() - best.sel(rank=0.08)).item(),
               "predicted_rank": disjoint.top.isel(layer=0).mean().item()}
    for width in widths.width.values[-2:]:
        numbers[f"best_directions_at_width_{width}"] = float(np.ceil(chosen(one(widths, width=width), HOWS[0]).attrs["rank"] * width))
    return numbers


def lower_when_centred(disjoint, same, rotated) -> dict[str, float]:
    """CART-5: I(8 %) a pair of tasks in layer 1, centred over uncentred, as meant; and as printed."""
    return {f"centred_over_uncentred_{name}": row_space(part, HOWS[0], "meant") / row_space(part, HOWS[1], "meant") for name, part in
            (("disjoint", disjoint), ("same", same), ("rotated", rotated))} | {"printed_disjoint": row_space(disjoint, HOWS[0], "printed") / row_space(disjoint, HOWS[1], "printed")}


def over_the_ranks(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-6: R(k)/R(0) and I(k)/I(full) at 3 %, centred, layer 1; and which measure goes with accuracy over the ranks."""
    layer = sweep.isel(layer=0).sel(how=HOWS[0])
    interference = layer.interference.sel(reading="meant")
    return {"error_at_3_percent": layer.error.sel(rank=0.03).item(), "interference_at_3_percent": (interference.sel(rank=0.03) / interference.sel(rank=1.0)).item(),
            "interference_at_1_percent": (interference.sel(rank=0.01) / interference.sel(rank=1.0)).item(),
            **{f"accuracy_with_{name.replace(' ', '_').replace('(k)', '')}": value for name, value in along_the_ranks(sweep).items()}}


def of_the_theorem(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-7."""
    return {"largest_share_of_the_bound": sweep.ratio.max().item(), "square_V_loss": sweep.literal.sel(which="square V", side="L").item(),
            "square_V_bound": sweep.literal.sel(which="square V", side="bound").item(), "I_k_loss": sweep.literal.sel(which="I(k)", side="L").item(),
            "I_k_bound": sweep.literal.sel(which="I(k)", side="bound").item(), "printed_bound_spread": (sweep.bound.sel(reading="printed").max() / sweep.bound.sel(reading="printed").min()).item(),
            "log10_slack_of_a_real_layer": float(np.log10(sweep.slack.item()))}


def of_the_plane(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-10: the losses on the way and on the plane of the finetuned networks, and what that plane holds of the way."""
    losses = sweep.path_loss.mean("task")
    on_plane = sweep.loss.mean("task").min(["row", "column"])
    inside = sweep.inside.sel(plane=list(plane.PLANES)).isel(rank=slice(1, -1))
    way = losses.sel(lam=4.0)
    return {"average": losses.isel(rank=0, lam=0).item(), "lowest_on_the_way": losses.min().item(), "lowest_on_the_plane": on_plane.sel(plane=plane.PLANES[0]).item(),
            "tasks_with_lower_loss": (sweep.path_loss.sel(lam=4.0).isel(rank=way.values.argmin()) < sweep.path_loss.isel(rank=0, lam=0)).mean().item(),
            "inside_plane_of_networks": inside.sel(plane=plane.PLANES[0]).max().item(), "inside_plane_of_path": inside.sel(plane=plane.PLANES[1]).max().item(),
            "away_at_the_ends": (sweep.away.isel(rank=[0, -1]).max() / sweep.tuned_away.mean()).item()}


def of_the_tasks(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-11: normalised accuracy at the smallest number of tasks that more than a pair are, and at the largest."""
    mean = sweep.normalised.mean("subset")
    counts = sweep["count"].values
    few, many = int(counts[counts > 2][0]), int(counts[-1])
    short = {"average": "average", "task arithmetic": "task_arithmetic", "TIES": "ties", "CART": "cart", "task arithmetic, tuned": "task_arithmetic_tuned", "CART, tuned": "cart_tuned"}
    found = {f"{short[name]}_{which}": mean.sel(merged_by=name, count=count).item() for name in short if name in mean.merged_by.values for which, count in (("few", few), ("many", many))}
    return found | {f"cart_behind_{name}_many": found[f"{name}_many"] - found["cart_many"] for name in ("average", "task_arithmetic", "ties")}


def of_storage(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-12: accuracy and bytes."""
    low, own = sweep.sel(rank=0.08), sweep.own.mean().item()
    mask = sweep.peer_task_bytes.sel(peer="EMR").item()
    fits = sweep.sel(rank=sweep["rank"][sweep.task_bytes <= 1.1 * mask])
    return {"own": own, "average": sweep.average.mean().item(), "at_8_percent": low.accuracy.mean().item(), "EMR": sweep.peer_accuracy.sel(peer="EMR").mean().item(),
            "TALL_masks": sweep.peer_accuracy.sel(peer="TALL masks").mean().item(), "low_rank_over_mask": low.task_bytes.item() / mask,
            "at_the_size_of_a_mask": fits.accuracy.mean("task").max().item(),
            "in_all_8_tasks_over_mask": ((low.shared_bytes + 8 * low.task_bytes) / (sweep.peer_shared_bytes + 8 * sweep.peer_task_bytes).sel(peer="EMR")).item()}


def of_widths(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-14: the share of the own networks' accuracy that is lost, narrowest and widest."""
    found = normalised(sweep)
    return {f"{short}_lost_{which}": 1 - found[name][place] for name, short in (("average", "average"), ("CART", "cart"), ("task arithmetic", "task_arithmetic"))
            for which, place in (("narrow", 0), ("wide", -1))}
