"""Finetuning that stays near θ₀ (LFT's λ), in numbers: what λ does beside shortening alone, what the head does, what
LoRA does, and the slides' own table beside ours."""
import itertools

import numpy as np
import xarray

from lessons.kit.noise import Difference, error_of_share
from lessons.kit.page import Page, bold, in_full_alone, paragraph, quiet, reading, said, table
from lessons.kit.sweep import caption, names
from lessons.words.algorithms.tuning import WHOLE
from lessons.words.experiment.heads import LONG, NEW, PROBE, PULLED, SCALED, relative
from lessons.words.panels import networks
from lessons.words.panels.networks import is_more

# λ = 0 and λ = 50 of the slides' table, RoBERTa with LoRA; all eight λ are in chapter 11
SLIDES = {"SST-2": {"distance": (2.519, 0.292), "gap": (2.791, 1.712), "kl": (0.540, 0.320),
                    "accuracy": (0.916, 0.893)},
          "CoLA": {"distance": (0.960, 0.280), "gap": (1.47, 1.06), "kl": (0.210, 0.1060),
                   "accuracy": (0.7967, 0.7459)}}
LARGEST = 50.0  # λ of the slides
FARTHER = 1.1  # times as far: less is called as far


def with_relative(sweep: xarray.Dataset) -> xarray.Dataset:
    """With `relative`: the gap between the network and its tangent, over how far the answers have moved.

    Args:
        sweep: of `experiment.heads`, of either encoder, here and everywhere in this module.
    """
    return sweep.assign(relative=relative(sweep))


def tuned(rank: int) -> str:
    """What is tuned, in words."""
    return "all weights" if rank == WHOLE else f"LoRA, rank {rank}"


def settings(sweep: xarray.Dataset, heads: tuple[str, ...] = (NEW, PROBE)) -> list[xarray.Dataset]:
    """Every task, rank and head by itself: variables over path and lam."""
    sweep = with_relative(sweep)
    return [sweep.sel(task=task, rank=rank, head=head) for task, rank, head in itertools.product(
        names(sweep.task), map(int, sweep["rank"].values), heads)]


def less_bent(first: xarray.Dataset, second: xarray.Dataset) -> Difference:
    """By how much the relative gap of the second is smaller, with the error of independent sentences."""
    return Difference(float(first.relative - second.relative),
                      float(np.hypot(first.relative_error, second.relative_error)))


def counted(differences: list[Difference]) -> tuple[int, int]:
    """How many are above 0 beyond the noise, and how many below."""
    return sum(map(is_more, differences)), sum(each.is_news and each.value < 0 for each in differences)


# -- tables ------------------------------------------------------------------------------------------------------------

@in_full_alone
def lambda_table(sweep: xarray.Dataset) -> Page:
    """Every λ with both heads, of the first task, tuned with the largest rank of LoRA: distance, gap, relative gap,
    that of finetuning without λ that was shortened to the same distance, KL and accuracy."""
    task, rank = names(sweep.task)[0], max(map(int, sweep["rank"].values))
    part, rows = with_relative(sweep).sel(task=task, rank=rank), []
    for head in (NEW, PROBE):
        for lam in map(float, part.lam.values):
            pulled, shortened = (part.sel(head=head, path=path, lam=lam) for path in (PULLED, SCALED))
            error = error_of_share(float(pulled.accuracy), networks.sentences(sweep))
            rows.append((head, f"{lam:g}", f"{float(pulled.distance):.2f}", f"{float(pulled.gap):.3f}",
                         f"{float(pulled.relative):.3f} ± {float(pulled.relative_error):.3f}",
                         f"{float(shortened.relative):.3f}", f"{float(pulled.kl):.4f}",
                         f"{100 * float(pulled.accuracy):.1f} ± {100 * error:.1f}"))
    head = ("head", "λ", "distance", "gap", "relative gap", "only shortened", "KL", "accuracy, %")
    before = paragraph(bold(f"{task}, {tuned(rank)}."))
    return table(head, rows, before=before, after=quiet(f"{caption(sweep)} After ± one standard error."), left=2)


@in_full_alone
def heads_table(sweep: xarray.Dataset) -> Page:
    """Without λ, every rank and head: distance from θ₀, relative gap, accuracy before and after, and that of the
    tangent; means over the tasks."""
    at_zero, rows = with_relative(sweep).sel(path=PULLED, lam=0.0).mean("task"), []
    for rank in map(int, sweep["rank"].values):
        for head in names(sweep["head"]):
            part = at_zero.sel(rank=rank, head=head)
            rows.append((tuned(rank), head, f"{float(part.distance):.2f}", f"{float(part.relative):.2f}",
                         *(f"{100 * float(part[name]):.1f}" for name in
                           ("start_accuracy", "accuracy", "linear_accuracy"))))
    head = ("tuned", "head", "distance", "relative gap", "before, %", "after, %", "tangent, %")
    return table(head, rows, after=quiet(f"{caption(sweep)} Means over {sweep.sizes['task']} tasks, λ = 0."), left=2)


@in_full_alone
def beside_the_slides(sweep: xarray.Dataset) -> Page:
    """What the largest λ leaves of the distance, the gap and KL, and what it does to the accuracy: of the slides'
    RoBERTa, and of our encoder with LoRA of the largest rank."""
    rows = [(f"slides: RoBERTa, {task}", *(f"{row[name][1] / row[name][0]:.3f}" for name in ("distance", "gap", "kl")),
             "–", _points(row["accuracy"][1] - row["accuracy"][0])) for task, row in SLIDES.items()]
    rank, count = max(map(int, sweep["rank"].values)), networks.sentences(sweep)
    for part in settings(sweep):
        if int(part["rank"]) == rank:
            first, last = (part.sel(path=PULLED, lam=lam) for lam in (0.0, LARGEST))
            ratios = (float(last[name] / first[name]) for name in ("distance", "gap", "kl", "relative"))
            rows.append((f"here: {part.task.item()}, {part['head'].item()} head", *(f"{ratio:.3f}" for ratio in ratios),
                         f"{Difference.of(float(last.accuracy), float(first.accuracy), count)}"))
    head = ("", "distance", "gap", "KL", "relative gap", "accuracy, points")
    return table(head, rows, after=quiet(said("""{caption} At λ = {lam:g}, over that at λ = 0; the last column is a
        difference. The slides print neither how far the answers move nor errors. Their text gives no η, and not whether
        they pulled at every step, so a row of theirs may have another pull than a row of ours.""",
                                                     caption=caption(sweep), lam=LARGEST)))


def _points(share):
    return f"{100 * share:+.1f}".replace("-", "−")


# -- readings ----------------------------------------------------------------------------------------------------------

@in_full_alone
def reading_of_lambda(sweep: xarray.Dataset) -> Page:
    """Does λ make finetuning more linear, and more so than shortening alone?"""
    parts, largest = settings(sweep), float(sweep.lam.values[-1])
    falling = sum(bool((part.relative.sel(path=PULLED).diff("lam") < 0).all()) for part in parts)
    shorter = np.mean([float(part.distance.sel(path=PULLED, lam=largest) / part.distance.sel(path=PULLED, lam=0.0))
                       for part in parts])
    less, more = counted([less_bent(*(part.sel(path=path, lam=largest) for path in (SCALED, PULLED)))
                          for part in parts])
    title = "λ does not make the relative gap smaller at every step" if falling < len(parts) else \
        "λ makes finetuning shorter, and the relative gap smaller at every step" if shorter < 1 else \
        "λ makes the relative gap smaller at every step"
    return reading(title, """
        The relative gap falls with every larger λ in {falling} of {count} settings of task, rank and head. At the
        largest λ, the distance is {shorter:.2f} of that without, on average. Compared with finetuning without λ that we
        only shorten to the same distance, the relative gap is then smaller in {less} of them, and larger in {more},
        beyond the noise. {told}""", falling=falling, count=len(parts), shorter=shorter, less=less, more=more,
                   told=_beside_shortening(less, more, len(parts)))


def _beside_shortening(less, more, count):
    """What that says of λ."""
    if less == count:
        return "So λ does more than shorten."
    if not less + more:
        return "So nothing is seen that λ does beyond shortening."
    if not less:
        return "So λ shortens the way, and where a difference is seen, the way that is only shortened is less bent."
    return "So λ shortens the way, and whether it does more than that depends on the setting."


@in_full_alone
def reading_of_the_cost(sweep: xarray.Dataset) -> Page:
    """What the largest λ does to the accuracy, with a new head and with a probed one, means over tasks and ranks, and
    of all weights alone with a probed one."""
    new, probe = (_cost(sweep.sel(head=head)) for head in (NEW, PROBE))
    title = "The largest λ costs accuracy" if any(cost.is_news and cost.value < 0 for cost in (new, probe)) else \
        "That the largest λ costs accuracy is within the noise"
    alone = ""
    if WHOLE in sweep["rank"] and len(sweep["rank"]) > 1:
        all_weights = _cost(sweep.sel(head=PROBE, rank=[WHOLE]))
        alone = " " + said("With a probed one and all weights tuned, it is {whole:+.1f}{doubt}.", whole=all_weights,
                           doubt=all_weights.doubt())
    return reading(title, """
        What the largest λ in place of none changes in the accuracy: with a new head {new:+.1f} points{new_doubt}, and
        with a probed one {probe:+.1f}{probe_doubt}.{alone}""", new=new, probe=probe, new_doubt=new.doubt(),
                   probe_doubt=probe.doubt(), alone=alone)


def _cost(sweep):
    """The accuracy at the largest λ less that at none, mean over tasks and ranks."""
    of_tasks = sweep.accuracy.sel(path=PULLED).mean("rank").transpose("lam", "task")
    return networks.difference(*(of_tasks.sel(lam=lam).values for lam in (float(sweep.lam.values[-1]), 0.0)),
                               networks.sentences(sweep))


def along_the_way(part: xarray.Dataset, key: str, place: float) -> tuple[float, float]:
    """The relative gap and its standard error where finetuning without λ, shortened, has gone so far; interpolated
    between the lengths that were measured, and 0 at θ₀.

    Args:
        part: one setting, over path and lam.
        key: "distance", of the weights, or "move", of the answers.
        place: how far; NaN comes back where the whole way is shorter.
    """
    way = part.sel(path=SCALED)
    order = np.argsort(way[key].values)
    far = [0.0, *way[key].values[order]]
    return tuple(float(np.interp(place, far, [0.0, *way[name].values[order]], right=np.nan))
                 for name in ("relative", "relative_error"))


def at_equal(first: xarray.Dataset, second: xarray.Dataset, key: str) -> Difference:
    """By how much the first is more bent where both have gone as far as the shorter of the two ways."""
    place = min(float(part[key].sel(path=SCALED, lam=0.0)) for part in (first, second))
    (bent, error), (bent_less, its_error) = (along_the_way(part, key, place) for part in (first, second))
    return Difference(bent - bent_less, float(np.hypot(error, its_error)))


def _at_zero(parts):
    return [part.sel(path=PULLED, lam=0.0) for part in parts]


@in_full_alone
def reading_of_the_head(sweep: xarray.Dataset) -> Page:
    """Is finetuning more bent with a new head than with a probed one, and is that because it goes farther?"""
    new, probe = (settings(sweep, (head,)) for head in (NEW, PROBE))
    more, less = counted([less_bent(*pair) for pair in zip(_at_zero(new), _at_zero(probe))])
    farther = np.mean([float(drawn.distance / fitted.distance)
                       for drawn, fitted in zip(_at_zero(new), _at_zero(probe))])
    more_at_equal, less_at_equal = counted([at_equal(*pair, "distance") for pair in zip(new, probe)])
    where = "in every setting" if more == len(new) else "in most settings"
    title = f"With a new head finetuning bends more {where}" if more > len(new) / 2 and not less else \
        "Whether a new head bends finetuning more is within the noise" if not more + less else \
        "Whether a new head bends finetuning more depends on the setting"
    if farther > FARTHER and more > len(new) / 2 and not less:
        title += ", but it goes farther, too"
    return reading(title, """
        Without λ, the relative gap is larger with a new head in {more} of {count} settings of task and rank, and
        smaller in {less}, beyond the noise. With it, θ goes {farther:.1f} times as far, on average. Compared
        where both have gone equally far, it is larger in {more_at_equal}, and smaller in {less_at_equal}.""",
                   more=more, count=len(new), less=less, farther=farther, more_at_equal=more_at_equal,
                   less_at_equal=less_at_equal)


@in_full_alone
def reading_of_the_length(sweep: xarray.Dataset) -> Page:
    """Is it what the probe learned, or that its head is long?"""
    if LONG not in sweep["head"]:
        return reading("A head drawn at random was not made as long here", "Only profile full measures such a head.")
    new, probe, long = (_at_zero(settings(sweep, (head,))) for head in (NEW, PROBE, LONG))
    more, less = counted([less_bent(*pair) for pair in zip(long, probe)])
    more_than_new, less_than_new = counted([less_bent(*pair) for pair in zip(long, new)])
    title = "A drawn head as long as the probe is not seen to be more bent than it" if not more else \
        "A drawn head as long as the probe is more bent than it" if more == len(long) else \
        "Whether a drawn head as long as the probe is more bent than it depends on the setting"
    return reading(title, """
        Without λ, the relative gap is larger with the long drawn head than with the probed one in {more} of {count}
        settings of task and rank, and smaller in {less}, beyond the noise. Compared with the new head, it is larger in
        {more_than_new}, and smaller in {less_than_new}.""", more=more, count=len(long), less=less,
                   more_than_new=more_than_new, less_than_new=less_than_new)


@in_full_alone
def reading_of_lora(sweep: xarray.Dataset) -> Page:
    """Does LoRA bend finetuning more than tuning all weights, without λ, and where the answers moved equally far?"""
    ranks = [rank for rank in map(int, sweep["rank"].values) if rank != WHOLE]
    if not ranks or WHOLE not in sweep["rank"]:
        return reading("LoRA and all weights", "This sweep tuned one of the two alone, so nothing is compared.")
    of_all, pairs = settings(sweep.sel(rank=[WHOLE])), []
    for rank in ranks:
        pairs += list(zip(settings(sweep.sel(rank=[rank])), of_all))
    more, less = counted([less_bent(*_at_zero(pair)) for pair in pairs])
    equal = {head: counted([at_equal(*pair, "move") for pair in pairs if pair[0]["head"] == head])
             for head in (NEW, PROBE)}
    title = "LoRA bends finetuning less than tuning all weights" if less > more == 0 else \
        "LoRA bends finetuning more than tuning all weights" if more > less == 0 else \
        "Whether LoRA bends finetuning more is within the noise" if not more + less else \
        "Whether LoRA bends finetuning more depends on the setting"
    (new_more, new_less), (probe_more, probe_less) = equal.values()
    return reading(title, """
        Without λ, the relative gap is smaller with LoRA in {less} of {count} settings of task, head and rank, beyond
        the noise. Compared where the answers have moved equally far, it is larger in {new_more} and smaller in
        {new_less} with a new head, and larger in {probe_more} and smaller in {probe_less} with a probed one.""",
                   less=less, count=len(pairs), new_more=new_more, new_less=new_less, probe_more=probe_more,
                   probe_less=probe_less)
