"""The numbers that the ledger keeps of networks that read text. Each begins with the network that it is of. What they
mean stands in claims.yaml, here for CART-13, and in other chapters for claims that these measure too.

No measurement imports this module, so a new number asks for no new measurement.
"""
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.sweep import names
from lessons.merging.search import best
from lessons.suites import PARTS
from lessons.words.experiment import (
    heads,
    lines,
    longer,
    merges,
    minilm,
    negation,
    parts,
    poets,
    pretraining,
    texts,
)
from lessons.words.experiment.heads import LONG, NEW, PROBE, PULLED, SCALED, WHOLE

Numbers = dict[str, dict[str, float]]
ENCODER, MINILM, TEXTS, LETTERS = "text encoder", "MiniLM", "text to text", "letters"
SOURCE = 0.08  # the share of directions that CART's authors keep
SAME = 1e-9  # of 1 − cos: what rounding leaves of features that are equal
ALONE = "question"  # the task whose forgetting is told by itself, too
BLOCKS = ("block", "layer", "decoder")  # how the names of what lies deep inside begin


def named(network: str, numbers: Numbers) -> Numbers:
    """With the network before every number's name."""
    return {claim: {f"{network}: {name}": value for name, value in values.items()}
            for claim, values in numbers.items()}


# -- merges ------------------------------------------------------------------------------------------------------------

def of_methods(test: xarray.DataArray) -> dict[str, float]:
    """Accuracy of every method, its lead over the average, and which share it keeps of what finetuning gained over θ₀.

    Args:
        test: accuracies (reported, task), "θ₀", "average" and "single" among them.
    """
    mean = test.mean("task")
    score = {name: float(mean.sel(reported=name)) for name in names(test.reported)}
    gained = score["single"] - score["θ₀"] or np.nan
    merged = [name for name in score if name not in ("θ₀", "single")]
    shares = {f"{name} kept of the gain": (score[name] - score["θ₀"]) / gained for name in merged}
    leads = {f"{name} over average": score[name] - score["average"] for name in merged if name != "average"}
    return score | {"single over θ₀": score["single"] - score["θ₀"]} | shares | leads


def vectors(sweep: xarray.Dataset) -> dict[str, float]:
    """How long task vectors are over θ₀, mean over tasks, and the cosine of two, mean over pairs."""
    return {"length": float(sweep.length.mean()), "cosine": float(sweep.cosine)}


def of_merges(sweep: xarray.Dataset) -> Numbers:
    """CART-13, from the sweep of `merges` or of `minilm`. CART truncates attention's and the MLPs' matrices, as its
    released code does; of the way that truncates all, where it was measured, the lead alone."""
    cart, numbers = by_directions(sweep, merges.BY_NAME), vectors(sweep)
    test = xarray.concat([sweep.test, cart.sel(directions=cart.attrs["chosen"]).expand_dims(reported=["cart"])],
                         "reported", coords="minimal", compat="override")
    numbers |= of_methods(test)
    numbers |= {f"cart over {other}": numbers["cart"] - numbers[other] for other in ("task_arithmetic", "ties")}
    numbers["tsv over cart"] = numbers["tsv"] - numbers["cart"]
    numbers |= of_curve(cart.mean("task", keep_attrs=True), numbers["average"], int(sweep.attrs["width"]))
    if merges.BY_DIMENSION in sweep.way:
        all_matrices = by_directions(sweep, merges.BY_DIMENSION)
        lead = all_matrices.sel(directions=all_matrices.attrs["chosen"]).mean() - numbers["average"]
        numbers["cart over average, all matrices"] = float(lead)
    return {"CART-13": numbers}


def by_directions(sweep: xarray.Dataset, way: str) -> xarray.DataArray:
    """CART's accuracy on test sentences (directions, task), from one direction on, with the λ that held-out sentences
    choose for each number of directions. Its attributes `chosen` and `lam` say which number and λ they choose."""
    accuracy = sweep.accuracy.sel(way=way, directions=sweep.directions > 0).drop_vars("way")
    held, test = (accuracy.sel(part=part).drop_vars("part") for part in PARTS)
    held = held.mean("task")
    place = {name: value.item() for name, value in best(held, "directions", "lam").items()}
    curve = test.sel(best(held, "lam"))
    return curve.assign_attrs(chosen=place["directions"], lam=place["lam"])


def of_curve(curve: xarray.DataArray, average: float, width: int) -> dict[str, float]:
    """CART against the number of directions kept: where it is best, and its lead over the average at the source's 8 %
    and with the fewest; what the most directions lose against the best.

    Args:
        curve: accuracy (directions,), with the attributes of `by_directions`.
        average: of the average.
        width: how many directions a matrix has.
    """
    counts = curve.directions.values.tolist()
    near = min(counts, key=lambda count: abs(count / width - SOURCE))
    peak = curve.attrs["chosen"]
    accuracies = {count: float(curve.sel(directions=count)) for count in (near, peak, counts[0], counts[-1])}
    return {"best share": peak / width, "best λ": curve.attrs["lam"], "8 % over average": accuracies[near] - average,
            "fewest over average": accuracies[counts[0]] - average,
            "best over fewest": accuracies[peak] - accuracies[counts[0]],
            "best over most": accuracies[peak] - accuracies[counts[-1]]}


def of_pretraining(sweep: xarray.Dataset) -> Numbers:
    """CART-13: the same methods from every start."""
    return {"CART-13": in_rows((f"pretrained {amount}", sweep.sel(amount=amount)) for amount in names(sweep.amount))}


def of_parts(sweep: xarray.Dataset) -> Numbers:
    """CART-13: the same methods, from both starts and for every part of the weights that is trained."""
    return {"CART-13": in_rows((f"{start}, {trained}", sweep.sel(start=start, trained=trained))
                               for start in names(sweep.start) for trained in names(sweep.trained))}


def of_longer(sweep: xarray.Dataset) -> Numbers:
    """CART-13: the same methods after every way to finetune."""
    return {"CART-13": in_rows((f"finetuned for {training}", sweep.sel(training=training))
                               for training in names(sweep.training))}


def in_rows(rows: Iterable[tuple[str, xarray.Dataset]]) -> dict[str, float]:
    """`of_methods` and `vectors` of every row, with its name behind."""
    return {f"{number}, {name}": value for name, row in rows
            for number, value in (of_methods(row.test) | vectors(row)).items()}


# -- lines -------------------------------------------------------------------------------------------------------------

def of_lines(sweep: xarray.Dataset) -> Numbers:
    """CTL-18 and CTL-13, from the sweep of `lines` or of `minilm`."""
    taken = sweep.taken.rename(taken_lam="lam")
    both = (taken.sel(effect=effect) for effect in ("its own task", "the others"))
    return {"CTL-18": of_line(sweep), "CTL-13": forgotten(*both)}


def of_line(sweep: xarray.Dataset) -> dict[str, float]:
    """Half-way between two networks: the gap over the distance between them, in the last block and wherever it is
    largest, and coef. Layers in which two networks are equal, such as embeddings that stay, do not count."""
    middle = sweep.sel(alpha=0.5)
    share, deep = over_own(middle), last_block(sweep)
    return {"gap over own, last block": float(share.sel(layer=deep).mean()), "gap over own, most": float(share.max()),
            "own, last block": float(sweep.own_mean.sel(layer=deep).mean()),
            "coef least": float(middle.coef_mean.min()), "coef most": float(middle.coef_mean.max())}


def over_own(sweep: xarray.Dataset) -> xarray.DataArray:
    """The gap over the distance between both ends; NaN where they do not differ."""
    return sweep.gap_mean / sweep.own_mean.where(sweep.own_mean > SAME)


def last_block(sweep: xarray.Dataset) -> str:
    """The name of the last block."""
    return [layer for layer in names(sweep.layer) if layer.startswith(BLOCKS)][-1]


def forgotten(itself: xarray.DataArray, others: xarray.DataArray) -> dict[str, float]:
    """CTL-13: accuracy of θ₀ and of θ₀ − λτ on the task that was taken away and on the others, mean over tasks, and of
    one task alone.

    Args:
        itself, others: (lam, task), on the task that was taken away and, mean, on the others.
    """
    numbers = {}
    for lam, when in ((0.0, "before"), (0.5, "at 0.5"), (1.0, "at 1")):
        for values, mean, alone in ((itself, "task", ALONE), (others, "other tasks", f"other tasks than {ALONE}")):
            numbers |= {f"{mean} {when}": float(values.sel(lam=lam).mean("task")),
                        f"{alone} {when}": float(values.sel(lam=lam, task=ALONE))}
    return numbers


def of_minilm(sweep: xarray.Dataset) -> Numbers:
    """CART-13, CTL-18 and CTL-13."""
    return of_merges(sweep) | of_lines(sweep)


def of_negation(sweep: xarray.Dataset) -> Numbers:
    """CTL-11: the gap of θ₀ over the distance between θ₀ + λτ and θ₀ − λτ, and coef, as in `of_line`, over tasks."""
    share, deep, numbers = over_own(sweep), last_block(sweep), {}
    for lam in map(float, sweep.lam.values):
        numbers |= {f"gap over own at {lam:g}, last block": float(share.sel(lam=lam, layer=deep).mean()),
                    f"gap over own at {lam:g}, most": float(share.sel(lam=lam).max()),
                    f"coef at {lam:g}": float(sweep.coef_mean.sel(lam=lam).mean("task").min())}
    return {"CTL-11": numbers}


# -- text to text ------------------------------------------------------------------------------------------------------

def of_texts(sweep: xarray.Dataset) -> Numbers:
    """CART-13, CTL-18 and CTL-13 of the network that answers in words."""
    shares = sweep.right.sel(way=texts.WAYS[0]).drop_vars("way") / sweep.attrs["test"]
    forgets = texts.forgetting(sweep).rename(taken="task")
    deep = last_block(sweep)
    of_all = {"all eight: gap over own, last block": float((sweep.gap_all / sweep.own_all).sel(layer=deep))}
    return {"CART-13": of_methods(shares) | vectors(sweep) | of_answers(sweep, shares),
            "CTL-18": of_line(sweep) | of_all, "CTL-13": forgotten(forgets.own, forgets.others)}


def of_answers(sweep: xarray.Dataset, shares: xarray.DataArray) -> dict[str, float]:
    """CART-13: what two averaged networks keep of the gain, mean over pairs; what the mean of all networks' logits is
    above θ₀, on the same questions; and how many of the average's answers are one of the task's.

    Args:
        sweep: of `texts`.
        shares: right (reported, task).
    """
    pairs = [pair.split(" and ") for pair in names(sweep.pair)]
    ends = {name: np.array([[float(shares.sel(reported=name, task=task)) for task in pair] for pair in pairs])
            for name in ("θ₀", "single")}
    middle = float((sweep.between / sweep.attrs["test"]).sel(alpha=0.5).mean())
    before = sweep.negated.sel(lam=0.0).isel(taken=0)
    of_task = sweep.said.sel(kind=texts.SAID[0], reported="average").mean() / sweep.attrs["test"]
    start, single = (float(ends[name].mean()) for name in ("θ₀", "single"))
    return {"pairs kept of the gain": (middle - start) / (single - start or np.nan),
            "mean of logits over θ₀": float((sweep.outputs - before).mean() / sweep.attrs["negated"]),
            "average: answers of the task": float(of_task)}


# -- λ and LoRA --------------------------------------------------------------------------------------------------------

def of_heads(sweep: xarray.Dataset) -> Numbers:
    """LFT-11 and LFT-14, from a sweep of `heads`; rows are tasks, what is tuned, and both heads that λ was tried on."""
    return {"LFT-11": of_lams(sweep) | of_stopping(sweep) | of_start(sweep), "LFT-14": of_ranks(sweep)}


def both_paths(sweep: xarray.Dataset) -> tuple[xarray.DataArray, xarray.DataArray]:
    """The relative gap (task, rank, head, lam) with λ, and without, shortened to the same distance."""
    relative = heads.relative(sweep).sel(head=[NEW, PROBE])
    return tuple(relative.sel(path=path).drop_vars("path") for path in (PULLED, SCALED))


def of_lams(sweep: xarray.Dataset) -> dict[str, float]:
    """LFT-11: at how many steps of λ distance, gap and relative gap fall; what the largest λ leaves of the relative gap
    and costs, for each head; and the relative gap with λ less that at the same distance without."""
    pulled, scaled = both_paths(sweep)
    along_lam = sweep.sel(path=PULLED, head=[NEW, PROBE])
    falling = {"distance": along_lam.distance, "gap": along_lam.gap, "relative gap": pulled}
    numbers = {f"steps at which the {name} falls": float((values.diff("lam") < 0).mean())
               for name, values in falling.items()}
    first, *others = map(float, sweep.lam.values)
    last = others[-1]
    for head in (NEW, PROBE):
        bent, seen = pulled.sel(head=head), along_lam.sel(head=head)
        lost = seen.accuracy.sel(lam=first) - seen.accuracy.sel(lam=last)
        numbers |= {f"{head} head: relative gap at 0": float(bent.sel(lam=first).mean()),
                    f"{head} head: relative gap at {last:g}": float(bent.sel(lam=last).mean()),
                    f"{head} head: accuracy lost at {last:g}": float(lost.mean())}
    for lam in others:
        beside = (pulled - scaled).sel(lam=lam)
        numbers |= {f"relative gap less as short at {lam:g}": float(beside.mean()),
                    f"relative gap less as short at {lam:g}, most": float(abs(beside).max())}
    return numbers


def of_stopping(sweep: xarray.Dataset) -> dict[str, float]:
    """LFT-11: the relative gap with λ less that of tuning without λ that stopped at the same distance, mean over rows
    in which it was that far at a time that was looked at."""
    if "moment" not in sweep.dims:
        return {}
    pulled, _ = both_paths(sweep)
    numbers = {}
    for lam in map(float, sweep.lam.values[1:]):
        stopped = np.array([heads.stopped_early(sweep, lam, task=task, rank=rank, head=head)
                            for task in names(sweep.task) for rank in sweep["rank"].values for head in (NEW, PROBE)])
        beside = pulled.sel(lam=lam).transpose("task", "rank", "head").values.flatten() - stopped
        if np.isfinite(beside).any():
            numbers[f"relative gap less stopped early at {lam:g}"] = float(np.nanmean(beside))
    return numbers


def of_start(sweep: xarray.Dataset) -> dict[str, float]:
    """LFT-11, without λ: how much more bent tuning is under a new head than under the probe's, and how much farther it
    goes; the same of a new head as long as the probe's."""
    plain = sweep.sel(path=PULLED, lam=0.0)
    bent, far = plain.gap / plain.move, plain.distance
    probe, numbers = {"head": PROBE, "drop": True}, {}
    for head in (NEW, LONG):
        if head in names(sweep["head"]):
            less = bent.sel(head=head, drop=True) - bent.sel(**probe)
            over = far.sel(head=head, drop=True) / far.sel(**probe)
            numbers |= {f"{head}: relative gap less the probe's": float(less.mean()),
                        f"{head}: distance over the probe's": float(over.mean())}
    return numbers


def of_ranks(sweep: xarray.Dataset) -> dict[str, float]:
    """LFT-14: for LoRA of every rank at how many steps of λ the relative gap falls, and how much it is below that at
    the same distance without λ; beside the tuning of all weights, where that was measured."""
    pulled, scaled = both_paths(sweep)
    moved = sweep.moved.sel(path=PULLED, head=[NEW, PROBE], lam=0.0)
    numbers = {}
    for rank in map(int, sweep["rank"].values):
        what, of_rank = tuned(rank), pulled.sel(rank=rank, drop=True)
        numbers[f"{what}: steps at which the relative gap falls"] = float((of_rank.diff("lam") < 0).mean())
        for lam in map(float, sweep.lam.values[1:]):
            beside = of_rank - scaled.sel(rank=rank, drop=True)
            numbers[f"{what}: relative gap less as short at {lam:g}"] = float(beside.sel(lam=lam).mean())
        if rank != WHOLE and WHOLE in sweep["rank"]:
            less = of_rank - pulled.sel(rank=WHOLE, drop=True)
            far = moved.sel(rank=rank, drop=True) / moved.sel(rank=WHOLE, drop=True)
            numbers |= {f"{what}: relative gap less that of all weights": float(less.sel(lam=0.0).mean()),
                        f"{what}: moved over all weights": float(far.mean())}
    return numbers


def tuned(rank: int) -> str:
    """What is tuned."""
    return "all weights" if rank == WHOLE else f"rank {rank}"


# -- two writers -------------------------------------------------------------------------------------------------------

def of_writers(sweep: xarray.Dataset) -> Numbers:
    """CTL-1, in nats a letter: the loss along α between two writers, on the text of each and on both together, and the
    mean of their logits beside the middle."""
    between = sweep.loss.sel(alpha=(sweep.alpha >= 0) & (sweep.alpha <= 1)).mean("piece")
    both = between.mean("text")
    ends = [both.sel(alpha=alpha) for alpha in (0.0, 1.0)]
    straight = (1 - both.alpha) * ends[0] + both.alpha * ends[1]
    middle = float(both.sel(alpha=0.5))
    logits = float(sweep.mixed.sel(way=poets.WAYS[0]).mean())
    return {"CTL-1": {"barrier on both texts": float((both - straight).max()),
                      "middle gain": float(min(ends)) - middle, "mean of logits less middle": logits - middle,
                      "loss ratio least": float((between.max("alpha") / between.min("alpha")).min())} | vectors(sweep)}


# -- the ledger --------------------------------------------------------------------------------------------------------

SIX, THREE, ONE = tuple(range(6)), tuple(range(3)), (0,)  # seeds; what carries a verdict has six


def for_ledger(measurement: Experiment, network: str, claims: Callable[[xarray.Dataset], Numbers],
               seeds: tuple[int, ...] = ONE, long: bool = False) -> Experiment:
    """The same measurement, for the ledger."""
    return replace(measurement, claims=lambda sweep: named(network, claims(sweep)), ledger={"full": seeds}, long=long)


of_encoder, of_real = partial(for_ledger, network=ENCODER), partial(for_ledger, network=MINILM)
LEDGER = (of_encoder(merges.EXPERIMENT, claims=of_merges, seeds=SIX),
          of_encoder(lines.EXPERIMENT, claims=of_lines, seeds=THREE),
          of_encoder(negation.EXPERIMENT, claims=of_negation, seeds=THREE),
          of_encoder(heads.EXPERIMENT, claims=of_heads),
          of_encoder(pretraining.EXPERIMENT, claims=of_pretraining), of_encoder(parts.EXPERIMENT, claims=of_parts),
          of_real(minilm.EXPERIMENT, claims=of_minilm, seeds=THREE, long=True),
          of_real(longer.EXPERIMENT, claims=of_longer, long=True), of_real(negation.MINILM, claims=of_negation),
          of_real(heads.MINILM, claims=of_heads),
          for_ledger(texts.EXPERIMENT, TEXTS, of_texts, SIX), for_ledger(negation.TEXTS, TEXTS, of_negation, THREE),
          for_ledger(poets.EXPERIMENT, LETTERS, of_writers, THREE))


def archived(seed: int = 0) -> Numbers:
    """{claim: {number: value}} of what the repository has of profile "full", for a page that shows the claims."""
    together = {}
    for measurement in LEDGER:
        sweep = measurement.archived("full", seed)
        for claim, numbers in (measurement.claims(sweep) if sweep is not None else {}).items():
            together[claim] = together.get(claim, {}) | numbers
    return together
