"""Panel (c): the bounds of LFT §3 beside what they bound."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, reading, said, table
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, PURPLE, RED
from lessons.kit.sweep import caption
from lessons.linearization.algorithms import bounds
from lessons.linearization.experiment import flow

DISTANCE = {"distance": (Look(BLACK, "o"), "measured"),
            "distance_printed": (Look(RED, "v"), "printed, with the error at t"),
            "distance_proved": (Look(PURPLE, "P", ":"), "proved, with the error at 0"),
            "distance_energy": (Look(BLUE, "s"), "by energy, ‖r₀‖√(2/λ)")}
GAP = {"gap": (Look(BLACK, "o"), "measured"), "gap_printed": (Look(RED, "v"), "Theorem 3, printed"),
       "gap_right": (Look(GREEN, "^"), "Theorem 3, right"), "gap_trivial": (Look(GREY, "", "-."), "‖r‖ + ‖r̄‖")}
_THIN = {"markersize": 4.5, "linewidth": 1.5}


@panel
def sides(sweep: xarray.Dataset):
    """Panel (c): left the distance ‖u‖, right the gap ‖f_θ − f̄_θ̄‖ to the tangent that was trained beside it, each
    with its bounds, against time. Controls: lam, t."""
    fig, (left, right) = plotting.figure(2, height=4.7)
    later = flow.with_bounds(sweep).isel(t=slice(1, None))
    times, vacuous = later.t.values, float(later.gap_vacuous[0, 0])
    span = {"xscale": "log", "yscale": "log", "xlim": (times[0] / 1.3, times[-1] * 1.3), "xlabel": "time t"}
    left.set(ylabel="distance ‖θ − θ₀‖", ylim=(0.3 * float(later.distance.min()), 3e3), **span)
    right.set(ylabel="gap ‖f − f̄‖ over all samples", ylim=(1e-6, 1e9), **span)
    # above 2‖r₀‖ a bound of the gap says no more than that both models answer no worse than at the start
    right.axhspan(vacuous, 1e9, color=RED, alpha=0.10, linewidth=0)
    right.text(0.03, 0.97, "says nothing: more than 2‖r₀‖", transform=right.transAxes, fontsize=9.5, color="#8a2a00",
               va="top")
    curves = {name: curve(left, look, label, **_THIN) for name, (look, label) in DISTANCE.items()}
    curves |= {name: curve(right, look, label if name != "gap" else None, **_THIN)
               for name, (look, label) in GAP.items()}
    lines = [here(ax, 1.0) for ax in (left, right)]
    handles = [line for line in curves.values() if not line.get_label().startswith("_")]
    fig.legend(handles, [line.get_label() for line in handles], loc="outside lower center", ncols=4)
    titles = moving_titles((left, right))

    def draw(lam, t):
        of_lam = later.sel(lam=lam)
        for name, line in curves.items():
            values = of_lam[name].values
            line.set_data(times, np.where(np.isfinite(values), values, np.nan))
        for line in lines:
            line.set_xdata([t, t])
        numbers = {name: float(of_lam[name].sel(t=t)) for name in (*DISTANCE, *GAP, "gap_vacuous", "residual")}
        numbers |= {"lam": lam, "t": t}
        titles[0].set_text(said("λ = {lam:g}: distance {distance:.2f}, printed {distance_printed:.2g}", **numbers))
        titles[1].set_text(said("Gap {gap:.2g}, printed {gap_printed:.1e}", **numbers) if lam
                           else said("Gap {gap:.2g}; no bound for λ = 0", **numbers))
        return _described(numbers)

    lams = list(map(float, sweep.lam.values))
    controls = {"lam": slider("λ", {f"{lam:g}": lam for lam in lams}, lams[-2]),
                "t": slider("time t", {f"{t:.2g}": float(t) for t in times}, float(times[-1]))}
    return controls, fig, draw, caption(sweep) + " Shaded: a bound there says nothing."


def _described(numbers):
    sentences = [said("""λ = {lam:g}, t = {t:.3g}: the distance is {distance:.4g}; the printed bound
                         {distance_printed:.3g}, the proved one {distance_proved:.3g}, the one by energy
                         {distance_energy:.3g}. The gap to the tangent is {gap:.3g}; ‖r‖ + ‖r̄‖ is {gap_trivial:.3g},
                         2‖r₀‖ {gap_vacuous:.3g}.""", **numbers)]
    if numbers["lam"]:
        sentences.append(said("Theorem 3 as printed gives {gap_printed:.2e}, put right {gap_right:.2e}.", **numbers))
    if numbers["distance_printed"] < numbers["distance"]:
        sentences.append("The printed bound of the distance is violated.")
    return " ".join(sentences)


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
                  "error that the tangent keeps at λ₀, at least"), rows)


def reading_of_the_bounds(sweep: xarray.Dataset) -> Page:
    """Which bound is how loose, with this sweep's numbers."""
    numbers = flow.claims(sweep)
    return reading("How loose?", """
        With λ = 0 the printed bound of the distance falls below it in {printed_violated_share:.0%} of the moments, and
        at the end it is {printed_over_distance:.1e} of it; with λ > 0 in {printed_violated_pulled:.0%}. At the end,
        with λ > 0, the proved bound is between {proved_least:.0f} and {proved_most:,.0f} times the distance, the one by
        energy between {energy_least:.1f} and {energy_most:.0f} times. Theorem 3 says nothing any more from
        t = {vacuous_from:.1e} on, which is {vacuous_in_units:.1f}/(2κ_max); put right it is {right_gain:.0f} times
        smaller (median), and still {right_over_gap:.0e} times the gap.""", **numbers["LFT-4"], **numbers["LFT-5"])
