"""Panel (c): the bounds of LFT §3 beside what they bound."""
import numpy as np
import xarray

from lessons.kit.page import Page, reading, said, table
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Reference, chips, key, slider, view
from lessons.linearization.algorithms import bounds
from lessons.linearization.experiment import flow

SHOWN_LAMS = (0.0, 1.0, 10.0, 50.0)
LABELS = {"distance": "measured", "distance_energy": "by energy", "distance_proved": "proved",
          "distance_printed": "printed", "gap": "measured", "gap_inside": "put right", "gap_printed": "printed"}
ROLES = {"measured": "single", "by energy": "merged", "put right": "merged"}
_POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_ALT = """
    λ = {lam:g}, t = {t:.3g}: the distance is {distance:.4g}; the printed bound {distance_printed:.3g}, the proved one
    {distance_proved:.3g}, the one by energy {distance_energy:.3g}. The gap to the tangent is {gap:.3g}; ‖r‖ + ‖r̄‖ is
    {gap_trivial:.3g}, 2‖r₀‖ {gap_vacuous:.3g}."""


@view
def sides(sweep: xarray.Dataset):
    """Panel (c): left the distance ‖u‖, right the gap ‖f_θ − f̄_θ̄‖ to the tangent that was trained beside it, each
    with its bounds, against time. Controls: t, lam."""
    later = flow.with_bounds(sweep).isel(t=slice(1, None))
    lams = [lam for lam in SHOWN_LAMS if lam in sweep.lam.values]
    parts = {lam: {name: values.values for name, values in later.sel(lam=lam).items() if "t" in values.dims}
             for lam in lams}
    times = [float(t) for t in later.t.values]
    lows = {name: room * min(float(part[name].min()) for part in parts.values())
            for name, room in (("distance", 0.5), ("gap", 0.02))}

    def draw(t, lam):
        part, place = parts[lam], times.index(t)
        values = {name: np.where(np.isfinite(part[name]), part[name], np.nan).clip(lows[name.split("_")[0]])
                  for name in LABELS}
        numbers = {name: float(along[place]) for name, along in part.items()}
        alt = said(_ALT, lam=lam, t=t, **numbers)
        if lam:
            alt += " " + said("Theorem 3 as printed gives {gap_printed:.2e}, put right {gap_inside:.2e}.", **numbers)
        if numbers["distance_printed"] < numbers["distance"]:
            alt += " The printed bound of the distance is violated."
        return Frame(finding_of_the_bounds(part), alt, values | {"nothing": part["gap_vacuous"][0]},
                     key(("single", "measured"), ("merged", "the bound by energy, and Theorem 3 put right"),
                         ("", "grey: the other bounds, dashed as printed"),
                         ("", "dotted: 2‖r₀‖, above which a bound says nothing")))

    control = slider("time t", {f"{t:.2g}": t for t in times}, times[-1], words=lambda t: f"t = {t:.2g}", places=times)
    return {"kicker": "Chapter 11: bounds beside what they bound", "charts": _charts(times, parts, lows), "draw": draw,
            "controls": {"t": control, "lam": chips("λ", {f"{lam:g}": lam for lam in lams}, lams[-1])}}


def _charts(times, parts, lows):
    """Distance and gap, both axes logarithmic."""
    across = Axis("time t", times[0], times[-1], "log", ticks=powers(times[0], times[-1], 1))
    charts = []
    for quantity, label in (("distance", "distance from θ₀"), ("gap", "gap to the trained tangent")):
        lines = tuple(Line(name, ROLES.get(text, "other"), text, dashed=text == "printed", bare=True,
                           near=text == "measured") for name, text in LABELS.items() if name.startswith(quantity))
        every = np.concatenate([part[line.name] for part in parts.values() for line in lines])
        low, high = lows[quantity], 2 * float(every[np.isfinite(every)].max())
        level = (Reference("nothing", "chance", aside=True),) if quantity == "gap" else ()
        charts.append(Chart(across, Axis(label, low, high, "log", ticks=powers(low, high, 1 + (high / low > 1e6)),
                                         digits=2 if quantity == "distance" else 4),
                            (*level, *lines[::-1], Handle("t"))))
    return charts


def powers(low: float, high: float, step: int) -> dict[float, str]:
    """Ticks of a logarithmic axis: powers of ten, every `step`-th, with their names."""
    exponents = range(int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9)) + 1, step)
    return {10.0 ** power: f"10{f'{power}'.translate(_POWERS)}" if abs(power) > 1 else f"{10.0 ** power:g}"
            for power in exponents}


def finding_of_the_bounds(part: dict[str, np.ndarray]) -> str:
    """What the bounds of one λ are worth over all times; {quantity: (times,)}."""
    if (part["distance_printed"] < part["distance"]).any():
        return "The printed bound falls below the distance that it should bound"
    best = min(("energy", "proved", "printed"), key=lambda name: part[f"distance_{name}"][-1])
    tells = "In the end energy bounds the distance best" if best == "energy" else \
        "In the end energy bounds the distance better than the proof does" \
        if part["distance_energy"][-1] < part["distance_proved"][-1] else "No bound of the distance is close"
    ends = min(part[f"gap_{name}"][-1] for name in ("printed", "inside"))
    return f"{tells}, and no bound of the gap says anything" if ends > part["gap_vacuous"][-1] else tells


# -- the ball --------------------------------------------------------------------------------------

def ball_table(sweep: xarray.Dataset) -> Page:
    """Theorem 4 for two radii: the λ that it asks for, that energy asks for, and that was needed."""
    radii = {"reached with λ = 0": sweep.distance.sel(lam=0.0).isel(t=-1),
             "reached with the largest λ": sweep.distance.isel(lam=-1).isel(t=-1)}
    initial, L1 = float(sweep.residual[0, 0]), float(sweep.L1.max())
    rows = []
    for name, radius in radii.items():
        radius = float(radius)
        held = sweep.lam.where(sweep.distance.max("t") <= radius * (1 + 1e-9)).min()
        rows.append((f"{name}: {radius:.2f}", f"{bounds.threshold(L1, initial, radius):.0f}",
                     f"{bounds.threshold_by_energy(initial, radius):.0f}", f"{float(held):g}",
                     f"{bounds.share_kept(L1, initial, radius):.0%}"))
    return table(("radius r", "λ₀ of Theorem 4", "by energy", "least λ here that keeps it",
                  "of its residual the tangent keeps at λ₀, at least"), rows)


def reading_of_the_bounds(sweep: xarray.Dataset) -> Page:
    """Which bound is how loose, with this sweep's numbers."""
    numbers = flow.claims(sweep)
    return reading("How loose?", """
        With λ = 0 the printed bound of the distance falls below it in {printed_violated_share:.0%} of the moments, and
        at the end it is {printed_over_distance:.1e} of it; with λ > 0 in {printed_violated_pulled:.0%}. At the end,
        with λ > 0, the proved bound is between {proved_least:.0f} and {proved_most:,.0f} times the distance, the one by
        energy between {energy_least:.1f} and {energy_most:.0f} times. Theorem 3 says nothing any more from
        t = {vacuous_from:.1e} on, which is {vacuous_in_units:.1f}/(2κ_max); put right it is at the end {right_gain:.0f}
        times smaller (median), and still {right_over_gap:.0e} times the gap.""",
                   **numbers["LFT-4"], **numbers["LFT-5"])
