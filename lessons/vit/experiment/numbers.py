"""The numbers that the ledger keeps of the small ViT. What each means stands in claims.yaml; those of claims that other
chapters measure too begin with `VIT`."""
import xarray

from lessons.kit.sweep import names
from lessons.merging.search import best
from lessons.vit.experiment import adapting, causes, counts, lines, merges, parts, ranks
from lessons.vit.experiment.setting import FIRST

VIT = "ViT"
Numbers = dict[str, dict[str, float]]


def of_width(width: int, profile: str, seed: int, device: str = "auto") -> Numbers:
    """{claim: {number: value}} of CTL-18 and of the ViT's rows of CART-4, 8, 9, 11, 12, 14 and TVG-8, at one width;
    what is measured at one width alone, with the first."""
    def of(experiment):
        return experiment.of[width].run(profile, seed, device)

    numbers = of_notebook(of(lines.EXPERIMENT), of(ranks.EXPERIMENT), of(merges.EXPERIMENT))
    numbers["CTL-18"] |= in_parts(of(parts.EXPERIMENT))
    numbers |= named({"CART-11": as_tasks_are_added(of(counts.EXPERIMENT))})
    if width == FIRST:
        numbers["CTL-18"] |= by_length(causes.run(profile, seed, device))
        numbers |= named({"CART-9": adapted(adapting.run(profile, seed, device)),
                          "TVG-8": by_passes(counts.run_passes(profile, seed, device))})
    return numbers


def of_notebook(line: xarray.Dataset, grid: xarray.Dataset, every: xarray.Dataset) -> Numbers:
    """{claim: {number: value}} of what the notebook measures: the sweeps of `lines`, `ranks` and `merges`."""
    return {"CTL-18": lines.claims(line) | regained(line)} | named({"CART-4": peak(grid), "CART-8": leads(every),
                                                   "CART-12": stored(every), "CART-14": by_width(every)})


def regained(line: xarray.Dataset) -> dict[str, float]:
    """CTL-18: of what averaged weights lose against the single networks, the share that averaged features and averaged
    answers do not lose."""
    numbers = {}
    for width in map(int, line.width.values):
        mean = line.averaged.sel(width=width).mean("task")
        lost = mean.sel(what="single") - mean.sel(what="weights")  # arrays: of nothing lost the share is not a number
        for what in ("features", "answers"):
            numbers[f"{what}_regain_{width}"] = float((mean.sel(what=what) - mean.sel(what="weights")) / lost)
    return numbers


def named(numbers: Numbers) -> Numbers:
    """With `VIT` before every number's name."""
    return {claim: {f"{VIT} {name}": value for name, value in values.items()} for claim, values in numbers.items()}


def by_length(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-18: gap over own distance in the ViT, in its parts and in MLPs, for task vectors as long as they are, at
    equal own distance, and at equal length over θ₀'s, that of the MLP with ReLU as it was trained; and how far the
    average of each gets."""
    numbers = {}
    for kind in names(sweep.kind):
        of_kind = sweep.sel(kind=kind)
        share = of_kind.gap / of_kind.own
        numbers |= {f"{kind}: share as long as it is": float(share.sel(length=1.0)),
                    f"{kind}: own distance as long as it is": float(of_kind.own.sel(length=1.0)),
                    f"{kind}: relative length": float(of_kind.relative)}
        numbers |= {f"{kind}: share at own distance {own:g}": causes.share_at(sweep, kind, "own", own)
                    for own in causes.EQUAL}
    for own in causes.EQUAL:
        share = {kind: numbers[f"{kind}: share at own distance {own:g}"] for kind in causes.KINDS}
        for kind in causes.KINDS[1:]:
            numbers[f"{kind} over ViT: share at own distance {own:g}"] = share[kind] / share[causes.VIT]
        for kind, other in ((causes.SMOOTH, causes.MLP), (causes.RESIDUAL, causes.SMOOTH),
                            (causes.RESIDUAL, causes.FIXED)):
            numbers[f"{kind} over {other}: share at own distance {own:g}"] = share[kind] / share[other]
    length = numbers[f"{causes.MLP}: relative length"]
    of_vit = causes.share_at(sweep, causes.VIT, "relative", length)
    for kind in causes.NETWORKS:
        numbers[f"ViT over {kind}: share at equal length"] = of_vit / causes.share_at(sweep, kind, "relative", length)
    for kind in names(sweep.network):
        network = sweep.sel(network=kind)
        way = (network.average - network.base) / (network.single - network.base)
        numbers |= {f"{kind}: average over single": float(network.average / network.single),
                    f"{kind}: way of the average": float(way)}
    return numbers


def in_parts(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-18: what a part of the network has of what is gained from θ₀ to the task's own network; what it loses when
    it alone is averaged, and what comes back when all but it is."""
    numbers = {}
    for width in map(int, sweep.width.values):
        accuracies = sweep.sel(width=width).mean("task")
        gained, lost = accuracies.single - accuracies.base, accuracies.single - accuracies.average
        for place in names(sweep.place):
            of_place = accuracies.sel(place=place)
            numbers |= {f"{place}: alone over all_{width}": float((of_place.alone - accuracies.base) / gained),
                        f"{place}: lost when averaged_{width}": float((accuracies.single - of_place.spoiled) / lost),
                        f"{place}: brought back_{width}": float((of_place.rescued - accuracies.average) / lost),
                        f"{place}: squares_{width}": float(of_place.squares)}
    return numbers


def peak(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-4: where CART is best on held-out images, how high, and what 8 % loses against it, on test images."""
    numbers = {}
    for width in map(int, sweep.width.values):
        at_width = sweep.sel(width=width)
        rank, lam = ranks.chosen(at_width)
        test = at_width.accuracy.sel(part="test").mean("task")
        at_8 = at_width.accuracy.sel(rank=0.08)
        lam_8 = best(at_8.sel(part="held-out").mean("task"), "lam")["lam"]
        highest = float(test.sel(rank=rank, lam=lam))
        numbers |= {f"best_rank_{width}": rank, f"best_lam_{width}": lam,
                    f"height_{width}": highest - float(at_width.average.sel(part="test").mean()),
                    f"lost_at_8_percent_{width}": highest - float(test.sel(rank=0.08, lam=lam_8))}
    return numbers


def leads(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-8: accuracy of every method, and CART's lead over each of Table 1; TSV-M's over CART."""
    numbers = {}
    for width in map(int, sweep.width.values):
        mean = sweep.test.sel(width=width).mean("task")
        score = {str(name): float(mean.sel(reported=name)) for name in sweep.reported.values}
        numbers |= {f"{name}_{width}": value for name, value in score.items()}
        for other in ("consensus", "ties", "task_arithmetic", "average"):
            numbers[f"cart_over_{other}_{width}"] = score["cart"] - score[other]
        numbers[f"tsv_over_cart_{width}"] = score["tsv"] - score["cart"]
        numbers[f"task_arithmetic_over_average_{width}"] = score["task_arithmetic"] - score["average"]
    return numbers


def stored(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-12: accuracy over the single network's, and bytes a task over a mask's, one bit a number."""
    numbers = {}
    for width in map(int, sweep.width.values):
        at_width = sweep.sel(width=width)
        alone = float(at_width.test.sel(reported="single").mean())
        for method in merges.STORING:
            numbers[f"{method}_kept_{width}"] = float(at_width.test.sel(reported=method).mean()) / alone
            bytes_of_task = at_width.task_bytes.sel(storing=method)
            numbers[f"{method}_bytes_{width}"] = float(bytes_of_task / (at_width.model_bytes / 32))
    return numbers


def adapted(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-9: both methods at first and in the end."""
    mean = sweep.accuracy.mean("task")
    numbers = {}
    for name, key in zip(names(sweep.adapted), ("adamerging", "adamerging_cart")):
        first, last = map(float, mean.sel(adapted=name).values)
        numbers |= {f"{key}_first": first, f"{key}_last": last, f"{key}_gained": last - first}
    numbers["with_cart_over_without"] = numbers["adamerging_cart_last"] - numbers["adamerging_last"]
    return numbers


def as_tasks_are_added(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-11: what each method keeps with few tasks and with all, and what CART loses from few to all over the least
    that another method loses. Few are more than two: the centred vectors of two tasks are opposite, so that CART is
    their average at every rank and λ."""
    numbers = {}
    few, many = min(count for count in sweep["count"].values.tolist() if count > 2), int(sweep["count"].max())
    for width in map(int, sweep.width.values):
        shares = sweep.kept.sel(width=width).mean("subset")
        lost = {}
        for name in names(sweep.merged_by):
            key = name.replace(" ", "_")
            ends = [float(shares.sel(count=count, merged_by=name)) for count in (few, many)]
            numbers |= {f"{key}_few_{width}": ends[0], f"{key}_many_{width}": ends[1]}
            lost[name] = ends[0] - ends[1]
        others = min(value for name, value in lost.items() if name != "CART")
        numbers[f"cart_lost_more_than_least_{width}"] = lost["CART"] - others
    return numbers


def by_width(sweep: xarray.Dataset) -> dict[str, float]:
    """CART-14: the share of the single networks' accuracy that each method loses, and how much of the way from θ₀'s to
    theirs it goes."""
    numbers = {}
    for width in map(int, sweep.width.values):
        mean = sweep.test.sel(width=width).mean("task")
        start, single = mean.sel(reported="θ₀"), mean.sel(reported="single")
        for method in ("average", "task_arithmetic", "ties", "consensus", "tsv", "cart"):
            reached = mean.sel(reported=method)
            numbers |= {f"{method}_lost_{width}": 1 - float(reached / single),
                        f"{method}_way_{width}": float((reached - start) / (single - start))}
    return numbers


def by_passes(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-8: what the merge and the single networks gain from the first pass to the last."""
    merged, single = sweep.merged.mean("task"), sweep.single.mean("task")
    first, last = (int(passes) for passes in (sweep.passes[0], sweep.passes[-1]))
    numbers = {"single_gained": float(single.sel(passes=last) - single.sel(passes=first))}
    for name in names(sweep.merged_by):
        of_method = merged.sel(merged_by=name)
        numbers[f"{name.replace(' ', '_')}_gained"] = float(of_method.sel(passes=last) - of_method.sel(passes=first))
    return numbers
