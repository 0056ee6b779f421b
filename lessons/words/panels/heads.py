"""Finetuning that stays near θ₀ (LFT's λ), with a new head and with a probed one: what decides how linear it is?"""
import numpy as np
import xarray

from lessons.kit.noise import with_reach
from lessons.kit.page import said
from lessons.kit.sweep import caption, names
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, chips, key, slider, view
from lessons.words.panels import networks

NEW, PROBE = "new", "probe"  # heads, as the sweep calls them
_NAMES = {NEW: "new", PROBE: "probed"}
CLEARLY = 0.1  # of a number: a smaller change is called none, since every setting was trained once
QUANTITIES = {"relative gap": "relative", "gap": "gap", "accuracy": "accuracy"}  # of the right chart
_ALT = """
    {task}, {tuned} tuned, λ = {lam:g}. New head: distance {new[distance]:.3g}, gap {new[gap]:.3g}, relative gap
    {new[relative]:.2f}{new_right}. Probed head: distance {probe[distance]:.3g}, gap {probe[gap]:.3g}, relative gap
    {probe[relative]:.2f}{probe_right}. {title}, by λ: new {by_new}; probed {by_probe}."""


@view
def heads(sweep: xarray.Dataset):
    """Left, the distance from θ₀ against λ; right, the relative gap, the gap itself or the accuracy; a black line with
    a new head, a green one with a head that was probed first.

    Args:
        sweep: distance, gap and relative (head: 2, lam, task, tuned), as `finetuning` in chapter 11 defines them, and
            accuracy with the same dimensions, where it was measured.

    Controls: lam; quantity, of the right chart; task and tuned.
    """
    lams, tasks, tuned_parts = list(map(float, sweep.lam.values)), names(sweep.task), names(sweep.tuned)
    quantities = {text: name for text, name in QUANTITIES.items() if name in sweep}
    places = tuple(map(float, range(len(lams))))

    def draw(lam, quantity, task, tuned):
        part, step = sweep.sel(task=task, tuned=tuned), lams.index(lam)
        curves = {head: {name: part[name].sel(head=head).values for name in ("distance", *quantities.values())}
                  for head in (NEW, PROBE)}
        values = {}
        for head, lines in curves.items():
            values |= {f"distance, {head}": lines["distance"], f"right, {head}": lines[quantity],
                       f"sure, {head}": _reach(sweep, quantity, lines[quantity])}
        numbers = {head: {name: line[step] for name, line in lines.items()} for head, lines in curves.items()}
        right = {f"{head}_right": said(", accuracy {value:.3f}", value=each["accuracy"]) if "accuracy" in each else ""
                 for head, each in numbers.items()}
        title = next(text for text, name in quantities.items() if name == quantity)
        alt = said(_ALT, task=task, tuned=tuned, lam=lam, title=title.capitalize(), **right, **numbers,
                   **{f"by_{head}": ", ".join(f"{each:g}: {value:.3g}" for each, value in zip(lams, lines[quantity]))
                      for head, lines in curves.items()})
        about = key(("single", "New head, drawn at random"), ("merged", "Probed head: fitted to θ₀’s features first"),
                    ("", f"right: {title}"))
        return Frame(finding_of_heads(curves), alt, values, about)

    of_lam = slider("λ", {f"{lam:g}": lam for lam in lams}, lams[0], words=lambda lam: f"λ = {lam:g}", places=places)
    return {"kicker": "Chapter 14: staying near θ₀, and the head",
            "tries": ("Move λ to the right: the distance falls. Does the relative gap fall, too?",
                      "Compare the two lines at the same λ."),
            "charts": _charts(sweep, lams, quantities, places), "draw": draw,
            "controls": {"lam": of_lam, "quantity": chips("right", quantities),
                         "task": chips("task", tasks, more=True), "tuned": chips("tuned", tuned_parts, more=True)},
            "caption": f"{caption(sweep)} Every setting was trained once, on one seed; a change below "
                       f"{CLEARLY:.0%} of a number counts as none. Bands of accuracies: two standard errors of the "
                       "sentences."}


def _reach(sweep, quantity, line):
    """Two standard errors around accuracies; nothing around what was measured once."""
    if quantity != "accuracy":
        return np.full((2, len(line)), np.nan)
    return with_reach(line, networks.sentences(sweep))[1:]


def _charts(sweep, lams, quantities, places):
    """The distance, and what is chosen, over λ, with room for every setting."""
    across = Axis("λ", -0.2, len(lams) - 0.8, "places", ticks={place: f"{lam:g}" for place, lam in zip(places, lams)})
    most = max(float(sweep[name].max()) for name in quantities.values())
    left = Chart(across, Axis("distance from θ₀", 0, 1.1 * float(sweep.distance.max()), digits=2),
                 (Line(f"distance, {NEW}", "single", "new head", dots=True),
                  Line(f"distance, {PROBE}", "merged", "probed head", dots=True), Handle("lam")))
    right = Chart(across, Axis("relative gap, gap or accuracy", 0, max(1.02, 1.1 * most), digits=2),
                  (*(Band(f"sure, {head}", role) for head, role in ((NEW, "single"), (PROBE, "merged"))),
                   Line(f"right, {NEW}", "single", "new head", dots=True),
                   Line(f"right, {PROBE}", "merged", "probed head", dots=True), Handle("lam")))
    return [left, right]


def finding_of_heads(curves: dict[str, dict[str, np.ndarray]]) -> str:
    """Whether the largest λ makes the way shorter and straighter, and whether the head matters more for that: whether
    at every λ the probed head has a smaller relative gap than the new one, by a larger factor than λ makes of either.
    What changes by less than `CLEARLY` of itself has not changed.

    Args:
        curves: {head: {"distance" and "relative": (λ,)}}.
    """
    shorter = [head for head in (NEW, PROBE) if _factor(curves[head]["distance"]) < 1 - CLEARLY]
    by_lam = {head: _factor(curves[head]["relative"]) for head in (NEW, PROBE)}
    by_head = float((curves[PROBE]["relative"] / curves[NEW]["relative"]).max())
    straighter = [head for head, factor in by_lam.items() if factor < 1 - CLEARLY]
    length = "λ makes the way shorter" if shorter else "λ does not make the way shorter"
    if len(shorter) == 1:
        length += f" with the {_NAMES[shorter[0]]} head alone"
    if by_head < min(1 - CLEARLY, *by_lam.values()):
        return f"{length}, but how straight it is depends more on the head"
    if len(straighter) == 2:
        return f"{length}{', and' if shorter else ', but'} straighter"
    if straighter:
        return f"{length}, but straighter with the {_NAMES[straighter[0]]} head alone"
    return f"{length}, but no straighter" if shorter else f"{length}, nor straighter"


def _factor(line):
    """What the largest λ makes of a number."""
    return float(line[-1] / line[0])
