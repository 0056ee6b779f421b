"""Finetuning that stays near θ₀ (LFT's λ), with a new head and with a probed one: what decides how linear it is?"""
import numpy as np
import xarray

from lessons.kit.noise import WIDE, Difference, error_of_share
from lessons.kit.page import said
from lessons.kit.sweep import caption, names
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, chips, key, slider, view
from lessons.words.experiment.heads import NEW, PROBE, PULLED, SCALED, relative
from lessons.words.panels import networks
from lessons.words.panels.networks import is_more

ROLES = {NEW: "single", PROBE: "merged"}
QUANTITIES = {"relative gap": "relative", "gap": "gap", "accuracy": "accuracy"}  # of the right chart
CLEARLY = 0.1  # of a distance, which has no error: a smaller change is called none
_ALT = """
    {task}, {rank} tuned, λ = {lam:g}. New head: distance {new[distance]:.3g}, gap {new[gap]:.3g}, relative gap
    {new[relative]:.2f} ± {new[error]:.2f}, accuracy {new[accuracy]:.3f}. Probed head: distance {probe[distance]:.3g},
    gap {probe[gap]:.3g}, relative gap {probe[relative]:.2f} ± {probe[error]:.2f}, accuracy {probe[accuracy]:.3f}.
    {title}, by λ: new {by_new}; probed {by_probe}. As short without λ: new {short_new:.3g}, probed
    {short_probe:.3g}."""


@view
def heads(sweep: xarray.Dataset):
    """Left, the distance from θ₀ against λ; right, the relative gap, the gap itself or the accuracy; a black line with
    a new head, a green one with a head that was probed first. Dashed: tuned without λ, then shortened to the distance
    that λ gives.

    Args:
        sweep: of `experiment.heads`, of either encoder. The relative gap is how far the answers are from those of the
            tangent, over how far they have moved.

    Controls: lam; quantity, of the right chart; task and rank.
    """
    sweep = sweep.assign(relative=relative(sweep)).sel(head=[NEW, PROBE])
    lams, ranks = list(map(float, sweep.lam.values)), list(map(int, sweep["rank"].values))
    count = networks.sentences(sweep)
    places = tuple(map(float, range(len(lams))))

    def draw(lam, quantity, task, rank):
        part, step, values = sweep.sel(task=task, rank=rank), lams.index(lam), {}
        for head in ROLES:
            pulled, scaled = (part[quantity].sel(head=head, path=path).values for path in (PULLED, SCALED))
            far = WIDE * _errors(part.sel(head=head, path=PULLED), quantity, count)
            values |= {f"distance, {head}": part.distance.sel(head=head, path=PULLED).values, f"right, {head}": pulled,
                       f"as short, {head}": scaled, f"sure, {head}": (pulled - far, pulled + far)}
        title = next(text for text, name in QUANTITIES.items() if name == quantity)
        alt = said(_ALT, task=task, rank=_tuned(rank), lam=lam, title=title.capitalize(),
                   **{head: _numbers(part.sel(head=head, path=PULLED, lam=lam)) for head in ROLES},
                   **{f"by_{head}": _listed(lams, values[f"right, {head}"]) for head in ROLES},
                   **{f"short_{head}": values[f"as short, {head}"][step] for head in ROLES})
        about = key(("single", "New head, drawn at random"), ("merged", "Probed head: fitted to θ₀’s features first"),
                    ("", f"right: {title}; dashed: tuned without λ, then made as short"))
        return Frame(finding_of_heads(part), alt, values, about)

    of_lam = slider("λ", {f"{lam:g}": lam for lam in lams}, lams[-1], words=lambda lam: f"λ = {lam:g}", places=places)
    return {"kicker": "Chapter 14: staying near θ₀, and the head",
            "tries": ("Move λ to the right: the distance falls. Does the relative gap fall, too?",
                      "Compare the two lines at the same λ, and each with its dashed one."),
            "charts": _charts(sweep, lams, places), "draw": draw,
            "controls": {"lam": of_lam, "quantity": chips("right", QUANTITIES),
                         "task": chips("task", names(sweep.task), more=True),
                         "rank": chips("tuned", {_tuned(rank): rank for rank in ranks}, more=True)},
            "caption": f"{caption(sweep)} Bands: two standard errors of the sentences. Every setting was trained once."}


def _tuned(rank):
    """What is tuned, in words."""
    return f"LoRA, rank {rank}" if rank else "all weights"


def _errors(line, quantity, count):
    """The standard error of every number; NaN of the gap, which is not compared."""
    if quantity == "accuracy":
        return np.array([error_of_share(float(share), count) for share in line.accuracy])
    return line.relative_error.values if quantity == "relative" else np.full(line.sizes["lam"], np.nan)


def _numbers(at_lam):
    return {name: float(at_lam[name]) for name in ("distance", "gap", "relative", "accuracy")} | {
        "error": float(at_lam.relative_error)}


def _listed(lams, line):
    return ", ".join(f"{lam:g}: {value:.3g}" for lam, value in zip(lams, line))


def _charts(sweep, lams, places):
    """The distance, and what is asked for, over λ, with room for every setting."""
    across = Axis("λ", -0.2, len(lams) - 0.8, "places", ticks={place: f"{lam:g}" for place, lam in zip(places, lams)})
    most = max(float(sweep[name].max()) for name in QUANTITIES.values())
    left = Chart(across, Axis("distance from θ₀", 0, 1.1 * float(sweep.distance.max()), digits=2),
                 (*(Line(f"distance, {head}", role, f"{_name(head)} head", dots=True) for head, role in ROLES.items()),
                  Handle("lam")))
    right = Chart(across, Axis("relative gap, gap or accuracy", 0, max(1.02, 1.05 * most), digits=2),
                  (*(Band(f"sure, {head}", role) for head, role in ROLES.items()),
                   *(Line(f"as short, {head}", role, dashed=True) for head, role in ROLES.items()),
                   *(Line(f"right, {head}", role, f"{_name(head)} head", dots=True) for head, role in ROLES.items()),
                   Handle("lam")))
    return [left, right]


def _name(head):
    return {NEW: "new", PROBE: "probed"}[head]


def finding_of_heads(part: xarray.Dataset) -> str:
    """Whether the largest λ makes the way shorter, and straighter beyond two standard errors; and whether the head
    matters more for that: whether at every λ the relative gap is smaller with the probed head, beyond two standard
    errors, and by more than the largest λ changes it with either. Where λ makes it straighter with both heads, whether
    shortening alone does as much.

    Args:
        part: distance, relative and relative_error (head, path, lam), of one task.
    """
    pulled, last = part.sel(path=PULLED), part.isel(lam=-1)
    by_lam = {head: _less(pulled.isel(lam=0).sel(head=head), last.sel(head=head, path=PULLED)) for head in ROLES}
    by_head = [_less(*(pulled.sel(head=head, lam=lam) for head in (NEW, PROBE))) for lam in part.lam]
    factors = pulled.distance.isel(lam=-1) / pulled.distance.isel(lam=0)
    shorter = [head for head in ROLES if float(factors.sel(head=head)) < 1 - CLEARLY]
    straighter = [head for head, less in by_lam.items() if is_more(less)]
    length = "λ makes the way shorter" if shorter else "λ does not make the way shorter"
    if len(shorter) == 1:
        length += f" with the {_name(shorter[0])} head alone"
    most = max(less.value for less in by_lam.values())
    if all(is_more(less) and less.value > most for less in by_head):
        return f"{length}, but how straight it is depends more on the head"
    if len(straighter) == 2:
        beyond = [_less(*(last.sel(head=head, path=path) for path in (SCALED, PULLED))) for head in ROLES]
        return f"{length}{', and' if shorter else ', but'} straighter{_alone(beyond)}"
    if straighter:
        return f"{length}, but straighter with the {_name(straighter[0])} head alone"
    return f"{length}, but is not seen to make it straighter" if shorter else f"{length}, nor straighter"


def _alone(beyond):
    """What shortening alone does, given by how much less the relative gap is with λ than after that, for both heads."""
    signs = {less.is_news * np.sign(less.value) for less in beyond}
    words = {1.0: "less", -1.0: "more", 0.0: "as much, within the noise"}
    return f"; shortening alone does {words[signs.pop()]}" if len(signs) == 1 else \
        "; whether more than by shortening alone depends on the head"


def _less(first, second):
    """By how much the relative gap of the second is smaller. Both are of the same sentences; the error is that of
    independent ones."""
    return Difference(float(first.relative - second.relative),
                      float(np.hypot(first.relative_error, second.relative_error)))
