"""The numbers that the ledger keeps of the chapter's measurements. What each means stands in claims.yaml."""
import numpy as np
import xarray

from lessons.cart.experiment import bell, peak, plane, resnet, storage, tasks, theorem
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import (
    along_the_ranks,
    chosen,
    envelope,
    height,
    normalised,
    one,
    plateau,
    row_space,
)

RESNET = "ResNet"  # with which the names of the ResNets' numbers begin
QUICK = {  # numbers for which a few images of small networks are enough
    "CART-1": ("largest_difference_at_the_ends",),
    "CART-2": ("height_same_inputs",),
    "CART-3": ("rank_0",),
    "CART-4": ("predicted_rank",),
    "CART-5": ("centred_over_uncentred_disjoint",),
    "CART-6": ("error_at_3_percent",),
    "CART-7": ("largest_share_of_the_bound", "square_V_bound", "I_k_bound"),
    "CART-10": ("inside_plane_of_networks", "away_at_the_ends"),
    "CART-11": (),
    "CART-12": ("low_rank_over_mask", "in_all_8_tasks_over_mask"),
    "CART-14": (),
}


def claims(profile: str = "quick", seed: int = 0, device: str = "auto") -> dict[str, dict[str, float]]:
    """What the chapter shows at its end: the MLPs' numbers; of profile "quick" those that it is enough for."""
    numbers = of_mlps(profile, seed, device)
    if profile == "quick":
        numbers = {id: {name: numbers[id][name] for name in names} for id, names in QUICK.items()}
    return numbers


def of_mlps(profile: str, seed: int, device: str = "auto") -> dict[str, dict[str, float]]:
    """CART-1 to 7, 10 to 12 and 14 on MLPs."""
    sweep = bell.run(profile, seed, device)
    widths = bell.run_widths(profile, seed, device)
    disjoint = one(sweep, setting=bell.name_of(1.0))
    same = one(sweep, setting=bell.name_of(0.0))
    rotated = one(sweep, setting=bell.ROTATED)
    by_direction = peak.run(profile, seed, device)
    heights = {"height": height(disjoint),
               "height_same_inputs": height(same),
               "height_half_permuted": height(one(sweep, setting=bell.name_of(0.5))),
               "height_rotated": height(rotated)}
    if bell.SEVERAL in sweep.setting.values:
        heights["height_two_data_sets"] = height(one(sweep, setting=bell.SEVERAL))
    test = disjoint.sel(part="test")
    levels = {"best": chosen(disjoint, HOWS[0]).accuracy.mean().item(),
              "average": test.average.mean().item(),
              "task_arithmetic": chosen(disjoint, HOWS[1], True).accuracy.mean().item(),
              "own": test.own.mean().item()}
    return {"CART-1": invariance(disjoint),
            "CART-2": heights | levels | truncated_over_cart(by_direction),
            "CART-3": truncation(disjoint) | gained_by_cutting(by_direction),
            "CART-4": peaks(sweep, widths) | by_case(by_direction),
            "CART-5": lower_when_centred(disjoint, same, rotated),
            "CART-6": over_the_ranks(disjoint),
            "CART-7": of_the_theorem(theorem.run(profile, seed, device)),
            "CART-10": of_the_plane(plane.run(profile, seed, device)),
            "CART-11": of_the_tasks(tasks.run(profile, seed, device)),
            "CART-12": of_storage(storage.run(profile, seed, device)),
            "CART-14": of_widths(widths)}


def of_resnets(seed: int, device: str = "auto") -> dict[str, dict[str, float]]:
    """CART-2 to 5, 11 and 12 on ResNets; the names of the numbers begin with `RESNET`."""
    eight = one(resnet.run("full", seed, device), setting=resnet.SETTING)
    test = eight.sel(part="test")
    best = chosen(eight, HOWS[0])
    interference = eight.interference.sel(reading="meant", rank=1.0)
    lower = interference.sel(how=HOWS[0]) < interference.sel(how=HOWS[1])
    numbers = {"CART-2": {"height": height(eight),
                          "own": test.own.mean().item(),
                          "average": test.average.mean().item(),
                          "task_arithmetic": chosen(eight, HOWS[1], True).accuracy.mean().item()},
               "CART-3": truncation(eight),
               "CART-4": {"best_rank": best.attrs["rank"],
                          "at_8_percent": envelope(eight, HOWS[0]).sel(rank=0.08).item(),
                          "best": best.accuracy.mean().item()},
               "CART-5": {"layers_lower_when_centred": lower.mean().item()},
               "CART-11": of_the_tasks(resnet.run_tasks("full", seed, device)),
               "CART-12": of_storage(resnet.run_storage("full", seed, device))}
    return {id: {f"{RESNET} {name}": value for name, value in of_claim.items()} for id, of_claim in numbers.items()}


def invariance(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-1: how far the accuracies at rank 0 and at full rank are from the average's, at any λ, largest."""
    centred = sweep.accuracy.sel(how=HOWS[0])
    ends = centred.sel(rank=[0.0, 1.0])
    return {"largest_difference_at_the_ends": abs(ends - sweep.average).max().item(),
            "largest_difference_between": abs(centred - sweep.average).max().item()}


def truncation(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-3: what truncated task vectors from θ₀ gain over whole ones, λ and rank chosen on held-out images, and what
    they lose at 8 %."""
    whole = chosen(sweep, HOWS[1], True).accuracy.mean().item()
    truncated = chosen(sweep, HOWS[1], False).accuracy.mean().item()
    best = envelope(sweep, HOWS[1])
    return {"whole": whole,
            "truncated": truncated,
            "gain_by_truncation": truncated - whole,
            "lost_at_8_percent": (best.sel(rank=1.0) - best.sel(rank=0.08)).item(),
            "rank_0": best.sel(rank=0.0).item()}


def peaks(sweep: xarray.Dataset, widths: xarray.Dataset) -> dict[str, float]:
    """CART-4: the rank at which CART is best, as a share and as a number of directions in layer 1; and by how much 8 %
    is below the best."""
    disjoint = one(sweep, setting=bell.name_of(1.0))
    rotated = one(sweep, setting=bell.ROTATED)
    best = envelope(disjoint, HOWS[0])
    numbers = {"best_rank": chosen(disjoint, HOWS[0]).attrs["rank"],
               "best_rank_rotated": chosen(rotated, HOWS[0]).attrs["rank"],
               "lost_at_8_percent": (best.max() - best.sel(rank=0.08)).item(),
               "predicted_rank": disjoint.top.isel(layer=0).mean().item()}
    for width in widths.width.values[-2:]:
        numbers[f"best_directions_at_width_{width}"] = chosen(one(widths, width=width), HOWS[0]).attrs["rank"]
    return numbers


def by_case(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-4: for every case how many singular values are large, with how many directions CART is best and how many
    cannot be told from that, and what share of the bell's height is left at 8 % of the rank of 400 units."""
    numbers = {}
    for name in map(str, sweep.case.values):
        case = sweep.sel(case=name)
        top = plateau(case, peak.HEADS[0])
        curve = case.accuracy.sel(how=HOWS[0], head=peak.HEADS[0]) - case.average
        values = {"large": case.large.item(),
                  "best": top.best,
                  "first": top.first,
                  "last": top.last,
                  "best_head_whole": plateau(case, peak.HEADS[1]).best,
                  "height": curve.max().item(),
                  "left_at_32": (curve.sel(rank=32.0) / curve.max()).item()}
        numbers |= {f"{plain(name)}_{number}": float(value) for number, value in values.items()}
    return numbers


def plain(case: str) -> str:
    """How the ledger spells a case's name."""
    return case.replace(",", "").replace(" ", "_")


def truncated_over_cart(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-2: task vectors from θ₀ at their best number of directions minus CART at its, for both ways to treat the
    output layer, of the chapter's tasks."""
    case = sweep.sel(case=peak.USUAL)
    best = case.accuracy.isel(rank=slice(1, -1)).max("rank")
    lead = best.sel(how=HOWS[1]) - best.sel(how=HOWS[0])
    return {f"truncated_over_cart_{short}": lead.sel(head=head).item()
            for head, short in zip(peak.HEADS, ("head_cut", "head_whole"))}


def gained_by_cutting(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-3: task vectors from θ₀ cut to 12 directions in layer 1 minus all directions, for both ways to treat the
    output layer."""
    case = sweep.sel(case=peak.USUAL).sel(how=HOWS[1])
    gained = case.accuracy.sel(rank=12.0) - case.accuracy.isel(rank=-1)
    return {f"gained_by_cutting_{short}": gained.sel(head=head).item()
            for head, short in zip(peak.HEADS, ("head_cut", "head_whole"))}


def lower_when_centred(disjoint, same, rotated) -> dict[str, float]:
    """CART-5: I(8 %) a pair of tasks in layer 1, centred over uncentred, as meant; and as printed."""
    def ratio(part, reading):
        return row_space(part, HOWS[0], reading) / row_space(part, HOWS[1], reading)

    return {"centred_over_uncentred_disjoint": ratio(disjoint, "meant"),
            "centred_over_uncentred_same": ratio(same, "meant"),
            "centred_over_uncentred_rotated": ratio(rotated, "meant"),
            "printed_disjoint": ratio(disjoint, "printed")}


def over_the_ranks(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-6: R(k)/R(0) and I(k)/I(full) at 3 %, centred, layer 1; which measure goes with accuracy over the ranks."""
    layer = sweep.isel(layer=0).sel(how=HOWS[0])
    interference = layer.interference.sel(reading="meant")
    share = interference / interference.sel(rank=1.0)
    numbers = {"error_at_3_percent": layer.error.sel(rank=0.03).item(),
               "interference_at_3_percent": share.sel(rank=0.03).item(),
               "interference_at_1_percent": share.sel(rank=0.01).item()}
    for name, value in along_the_ranks(sweep).items():
        numbers[f"accuracy_with_{name.replace(' ', '_').replace('(k)', '')}"] = value
    return numbers


def of_the_theorem(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-7."""
    square = sweep.literal.sel(which="square V")
    i_k = sweep.literal.sel(which="I(k)")
    printed = sweep.bound.sel(reading="printed")
    return {"largest_share_of_the_bound": sweep.ratio.max().item(),
            "square_V_loss": square.sel(side="L").item(),
            "square_V_bound": square.sel(side="bound").item(),
            "I_k_loss": i_k.sel(side="L").item(),
            "I_k_bound": i_k.sel(side="bound").item(),
            "printed_bound_spread": (printed.max() / printed.min()).item(),
            "log10_slack_of_a_real_layer": float(np.log10(sweep.slack.item()))}


def of_the_plane(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-10: the losses on the way and on the plane of the finetuned networks, and what that plane holds of the
    way."""
    networks, path = plane.PLANES
    losses = sweep.path_loss.mean("task")
    on_plane = sweep.loss.mean("task").min(["row", "column"])
    inside = sweep.inside.sel(plane=[networks, path]).isel(rank=slice(1, -1))
    lowest = losses.sel(lam=4.0).values.argmin()
    lower = sweep.path_loss.sel(lam=4.0).isel(rank=lowest) < sweep.path_loss.isel(rank=0, lam=0)
    return {"average": losses.isel(rank=0, lam=0).item(),
            "lowest_on_the_way": losses.min().item(),
            "lowest_on_the_plane": on_plane.sel(plane=networks).item(),
            "tasks_with_lower_loss": lower.mean().item(),
            "inside_plane_of_networks": inside.sel(plane=networks).max().item(),
            "inside_plane_of_path": inside.sel(plane=path).max().item(),
            "away_at_the_ends": (sweep.away.isel(rank=[0, -1]).max() / sweep.tuned_away.mean()).item()}


_SHORT = {"average": "average", "task arithmetic": "task_arithmetic", "TIES": "ties", "CART": "cart",
          "task arithmetic, tuned": "task_arithmetic_tuned", "CART, tuned": "cart_tuned"}


def of_the_tasks(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-11: normalised accuracy at the smallest number of tasks that more than a pair are, and at the largest."""
    mean = sweep.normalised.mean("subset")
    counts = sweep["count"].values
    ends = {"few": int(counts[counts > 2][0]), "many": int(counts[-1])}
    numbers = {}
    for name, short in _SHORT.items():
        if name in mean.merged_by.values:
            for which, count in ends.items():
                numbers[f"{short}_{which}"] = mean.sel(merged_by=name, count=count).item()
    for name in ("average", "task_arithmetic", "ties"):
        numbers[f"cart_behind_{name}_many"] = numbers[f"{name}_many"] - numbers["cart_many"]
    return numbers


def of_storage(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-12: accuracy and bytes."""
    low = sweep.sel(rank=0.08)
    mask = sweep.sel(peer="EMR")
    mask_bytes = mask.peer_task_bytes.item()
    fits = sweep.sel(rank=sweep["rank"][sweep.task_bytes <= 1.1 * mask_bytes])
    of_8_tasks = low.shared_bytes + 8 * low.task_bytes
    masks_of_8_tasks = mask.peer_shared_bytes + 8 * mask.peer_task_bytes
    return {"own": sweep.own.mean().item(),
            "average": sweep.average.mean().item(),
            "at_8_percent": low.accuracy.mean().item(),
            "EMR": mask.peer_accuracy.mean().item(),
            "TALL_masks": sweep.peer_accuracy.sel(peer="TALL masks").mean().item(),
            "low_rank_over_mask": low.task_bytes.item() / mask_bytes,
            "at_the_size_of_a_mask": fits.accuracy.mean("task").max().item(),
            "in_all_8_tasks_over_mask": (of_8_tasks / masks_of_8_tasks).item()}


def of_widths(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-14: the share of the own networks' accuracy that is lost, narrowest and widest."""
    kept_shares = normalised(sweep)
    numbers = {}
    for name, short in (("average", "average"), ("CART", "cart"), ("task arithmetic", "task_arithmetic")):
        for which, place in (("narrow", 0), ("wide", -1)):
            numbers[f"{short}_lost_{which}"] = 1 - kept_shares[name][place]
    return numbers
