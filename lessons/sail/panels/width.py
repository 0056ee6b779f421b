"""Panel (f): more units, or fewer."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, quiet, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, level, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, RED
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, names
from lessons.sail.experiment import width
from lessons.sail.experiment.width import GROW, RENUMBERED, SCRATCH

CHOSEN, KEEPING, FRESH = Look(BLACK, "D"), Look(GREEN, "^"), Look(GREY, "", "--")
WHOLE, MIXED = Look(GREEN, "^"), Look(ORANGE, "s")
ASKED = {"setting": "interpolation, grow 64 → 128", "numbering": 0}


def settings(sweep: xarray.Dataset) -> dict[str, tuple[str, str, str]]:
    """{text of the menu: (direction, map, optimiser)} of all that were trained."""
    menu = {}
    several = sweep.sizes["optimiser"] > 1
    for direction in names(sweep.direction):
        for optimiser in names(sweep.optimiser):
            for how in names(sweep.how):
                part = sweep.loss.sel(direction=direction, optimiser=optimiser, how=how)
                if part.notnull().all() and how != SCRATCH:
                    text = f"{how}, {direction}" + (f", {optimiser}" if several else "")
                    menu[text] = (direction, how, optimiser)
    return menu


@panel
def maps(sweep: xarray.Dataset, prediction=None):
    """Panel (f): accuracy over the steps on new images after a change of width, beside scratch and beside a map that
    keeps whole units; right, accuracy at once when the source's units are numbered anew.

    Controls: numbering, setting. The prediction, interpolation's accuracy at once, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.1, width_ratios=(6, 5))
    known = settings(sweep)
    steps = np.arange(len(sweep.steps))
    lines = {"chosen": curve(left, CHOSEN, "the map chosen"), "whole": curve(left, KEEPING, "whole units"),
             "scratch": curve(left, FRESH, "scratch"), "source": level(left, Look(BLUE, "", ":"), "the source")}
    numberings = np.arange(sweep.sizes["numbering"])
    orders = [curve(right, look, label, linewidth=1.2, markersize=4)
              for look, label in ((WHOLE, "whole units"), (MIXED, "interpolation"))]
    upright = here(right, 0, color=RED)
    left.set_xticks(steps, [str(int(step)) for step in sweep.steps.values])
    left.set(xlabel="steps on new images", ylabel=plotting.ACCURACY, ylim=(0, 1), xlim=(-0.3, len(steps) - 0.7))
    right.set(xlabel="numbering of the source's units", ylabel="accuracy at once", ylim=(0, 1), xlim=(-0.5, 20.5))
    opening, first = next((text, where) for text, where in known.items() if where[:2] == (GROW, "interpolation"))
    truth = float(sweep.accuracy.sel(direction=first[0], how=first[1], optimiser=first[2]).isel(steps=0))
    star = Star(left, prediction, 0, truth, {"setting": opening, "numbering": 0})
    fig.legend(*labels_of(left, right), loc="outside lower center", ncols=5)
    titles = moving_titles((left, right))

    def draw(numbering, setting):
        direction, how, optimiser = known[setting]
        part = sweep.accuracy.sel(direction=direction, optimiser=optimiser)
        whole = RENUMBERED[direction][0]
        for name, how_drawn in (("chosen", how), ("whole", whole), ("scratch", SCRATCH)):
            lines[name].set_data(steps, part.sel(how=how_drawn))
        lines["source"].set_ydata([float(sweep.source.sel(direction=direction))] * 2)
        values = sweep.numbering_accuracy.sel(direction=direction).values
        for line, row in zip(orders, values):
            line.set_data(numberings, row)
        upright.set_xdata([numbering, numbering])
        star.place(numbering=numbering, setting=setting)
        numbers = {"how": how, "direction": direction, "numbering": numbering, "kept": values[0, numbering],
                   "mixed": values[1, numbering], "whole": whole, "at_once": float(part.sel(how=how)[0]),
                   "end": float(part.sel(how=how)[-1]), "last": int(sweep.steps[-1]),
                   "source": float(sweep.source.sel(direction=direction)),
                   "scratch": float(part.sel(how=SCRATCH)[-1]), "whole_end": float(part.sel(how=whole)[-1])}
        titles[0].set_text(said("{how}: {at_once:.2f} at once", **numbers))
        titles[1].set_text(said("Numbering {numbering}: {kept:.2f} and {mixed:.2f}", **numbers))
        return said("""{direction}, {how}: accuracy {at_once:.3f} at once and {end:.3f} after {last} steps; {whole}
                       {whole_end:.3f}, scratch {scratch:.3f}, the source {source:.3f}. With the source's units in order
                       {numbering}, {whole} gives {kept:.3f} at once and interpolation {mixed:.3f}.""", **numbers)

    controls = {"numbering": slider("numbering of the units", [int(number) for number in numberings], 0),
                "setting": choice("map", known.keys())}
    return controls, fig, draw, f"{caption(sweep)} {said(_REMARKS)}"


_REMARKS = """Whole units: Net2Wider where the network grows, the strongest units where it shrinks. Numbering 0 is as
trained; all orders compute the same. Accuracies on 2,000 images have standard errors of about a point."""


def labels_of(*axes):
    """Handles and labels of several axes, each label once: the first that has it."""
    handles = {}
    for ax in axes:
        handles |= {label: handle for handle, label in zip(*ax.get_legend_handles_labels()) if label not in handles}
    return list(handles.values()), list(handles)


def at_a_glance(sweep: xarray.Dataset) -> Page:
    """A row for every map: accuracy at once, after twenty steps and at the end."""
    last = int(sweep.steps[-1])
    rows = []
    for text, (direction, how, optimiser) in settings(sweep).items():
        part = sweep.accuracy.sel(direction=direction, how=how, optimiser=optimiser)
        rows.append((text, *(f"{float(part.sel(steps=steps)):.3f}" for steps in (0, 20, last))))
    return table(("map", "at once", "20 steps", f"{last} steps"), rows,
                 after=quiet(caption(sweep)))


def reading_of_equation_8(sweep: xarray.Dataset) -> Page:
    """What SAIL says of its width transforms, and what ours do."""
    numbers = width.claim_8(sweep)
    return reading("Eq. 8 of the source, tried", """
        Growing, accuracy at once: copies {copies_0:.2f}, as the source network has; interpolation
        {interpolation_0:.2f}; random projection {projection_0:.2f}; from the SVD as printed {svd_0:.2f}; with the
        singular vectors {vectors_0:.2f}. After 100 steps: copies {copies_100:.3f}, interpolation
        {interpolation_100:.3f}, projection {projection_100:.3f}, SVD as printed {svd_100:.3f}, scratch
        {scratch_100:.3f}. Numbered in twenty other orders, interpolation of the same network gives between
        {orders_low:.2f} and {orders_high:.2f} at once.""", **numbers)
