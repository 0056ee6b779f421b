"""The numbers that the ledger keeps of the small ViT. What each means stands in claims.yaml; those of claims that other
chapters measure too begin with `VIT`."""
import xarray

from lessons.vit.experiment import adapting, counts, lines, merges, ranks

VIT = "ViT"


def all_of(profile: str, seed: int, device: str = "auto") -> dict[str, dict[str, float]]:
    """{claim: {number: value}} of CTL-18 and of the ViT's rows of CART-4, 8, 9, 11, 12, 14 and TVG-8."""
    merged = merges.run(profile, seed, device)
    found = {"CART-4": peak(ranks.run(profile, seed, device)), "CART-8": leads(merged), "CART-12": stored(merged),
             "CART-9": adapted(adapting.run(profile, seed, device)),
             "CART-11": as_tasks_are_added(counts.run(profile, seed, device)), "CART-14": by_width(merged),
             "TVG-8": by_passes(counts.run_passes(profile, seed, device))}
    named = {claim: {f"{VIT} {name}": value for name, value in numbers.items()} for claim, numbers in found.items()}
    return lines.claims(lines.run(profile, seed, device)) | named


def peak(found: xarray.Dataset) -> dict[str, float]:
    """CART-4: where CART is best on held-out images, how high, and what 8 % loses against it, on test images."""
    numbers = {}
    for width in map(int, found.width.values):
        one = found.sel(width=width)
        rank, lam = ranks.chosen(one)
        test = one.accuracy.sel(part="test").mean("task")
        at_8 = one.accuracy.sel(rank=0.08)
        lam_8 = float(at_8.sel(part="held-out").mean("task").idxmax("lam"))
        best = float(test.sel(rank=rank, lam=lam))
        numbers |= {f"best_rank_{width}": rank, f"best_lam_{width}": lam,
                    f"height_{width}": best - float(one.average.sel(part="test").mean()),
                    f"lost_at_8_percent_{width}": best - float(test.sel(rank=0.08, lam=lam_8))}
    return numbers


def leads(found: xarray.Dataset) -> dict[str, float]:
    """CART-8: accuracy of every method, and CART's lead over each of Table 1; TSV-M's over CART."""
    numbers = {}
    for width in map(int, found.width.values):
        mean = found.test.sel(width=width).mean("task")
        score = {str(name): float(mean.sel(reported=name)) for name in found.reported.values}
        numbers |= {f"{name}_{width}": value for name, value in score.items()}
        for other in ("consensus", "ties", "task_arithmetic", "average"):
            numbers[f"cart_over_{other}_{width}"] = score["cart"] - score[other]
        numbers[f"tsv_over_cart_{width}"] = score["tsv"] - score["cart"]
        numbers[f"task_arithmetic_over_average_{width}"] = score["task_arithmetic"] - score["average"]
    return numbers


def stored(found: xarray.Dataset) -> dict[str, float]:
    """CART-12: accuracy over the single network's, and bytes a task over a mask's, one bit a number."""
    numbers = {}
    for width in map(int, found.width.values):
        one = found.sel(width=width)
        alone = float(one.test.sel(reported="single").mean())
        for method in merges.STORING:
            numbers[f"{method}_kept_{width}"] = float(one.test.sel(reported=method).mean()) / alone
            numbers[f"{method}_bytes_{width}"] = float(one.task_bytes.sel(storing=method) / (one.model_bytes / 32))
    return numbers


def adapted(found: xarray.Dataset) -> dict[str, float]:
    """CART-9: both methods at first and in the end."""
    mean = found.accuracy.mean("task")
    numbers = {}
    for name, key in zip(map(str, found.adapted.values), ("adamerging", "adamerging_cart")):
        first, last = map(float, mean.sel(adapted=name).values)
        numbers |= {f"{key}_first": first, f"{key}_last": last, f"{key}_gained": last - first}
    numbers["with_cart_over_without"] = numbers["adamerging_cart_last"] - numbers["adamerging_last"]
    return numbers


def as_tasks_are_added(found: xarray.Dataset) -> dict[str, float]:
    """CART-11: what each method keeps with few tasks and with all, and CART's lead in what it loses from few to all."""
    numbers = {}
    few, many = int(found["count"].min()), int(found["count"].max())
    for width in map(int, found.width.values):
        kept = found.kept.sel(width=width).mean("subset")
        lost = {}
        for name in map(str, found.merged_by.values):
            key = name.replace(" ", "_")
            ends = [float(kept.sel(count=count, merged_by=name)) for count in (few, many)]
            numbers |= {f"{key}_few_{width}": ends[0], f"{key}_many_{width}": ends[1]}
            lost[name] = ends[0] - ends[1]
        others = min(value for name, value in lost.items() if name != "CART")
        numbers[f"cart_lost_more_than_least_{width}"] = lost["CART"] - others
    return numbers


def by_width(found: xarray.Dataset) -> dict[str, float]:
    """CART-14: the share of the single networks' accuracy that each method loses."""
    numbers = {}
    for width in map(int, found.width.values):
        mean = found.test.sel(width=width).mean("task")
        for method in ("average", "task_arithmetic", "ties", "consensus", "tsv", "cart"):
            numbers[f"{method}_lost_{width}"] = 1 - float(mean.sel(reported=method) / mean.sel(reported="single"))
    return numbers


def by_passes(found: xarray.Dataset) -> dict[str, float]:
    """TVG-8: what the merge and the single networks gain from the first pass to the last."""
    merged, single = found.merged.mean("task"), found.single.mean("task")
    first, last = (int(passes) for passes in (found.passes[0], found.passes[-1]))
    numbers = {"single_gained": float(single.sel(passes=last) - single.sel(passes=first))}
    for name in map(str, found.merged_by.values):
        of = merged.sel(merged_by=name)
        numbers[f"{name.replace(' ', '_')}_gained"] = float(of.sel(passes=last) - of.sel(passes=first))
    return numbers
