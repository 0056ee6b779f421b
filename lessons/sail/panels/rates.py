"""A wider network from each start, at several learning rates."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, reading
from lessons.kit.plotting import BLACK, GREEN, GREY, ORANGE, still
from lessons.kit.sweep import caption
from lessons.sail.experiment import rates, width

_STARTS = {rates.COPIES: ("copies", GREEN, "o"), rates.BETWEEN: ("interpolation", BLACK, "s"),
           width.SCRATCH: ("scratch", GREY, "^"), rates.LARGER: ("scratch, larger first weights", ORANGE, "v")}
FEW = 1 / 3  # of the lead at one rate, below which the title says that scratch makes up most of it


@still
def by_rate(sweep: xarray.Dataset):
    """Accuracy after 100 steps against the learning rate, of copies, interpolation and scratch: the mean over orders of
    the training images, and the range."""
    fig, ax = plotting.figure(width=6.4, height=3.4)
    places, told = np.arange(sweep.sizes["rate"]), []
    for place, (how, (title, colour, marker)) in enumerate(_STARTS.items()):
        accuracy = sweep.accuracy.sel(how=how)
        mean = accuracy.mean("order")
        reach = np.abs(np.stack([accuracy.min("order"), accuracy.max("order")]) - mean.values)
        ax.errorbar(places + 0.06 * (place - 1), mean, reach, color=colour, marker=marker, label=title, capsize=3)
        told.append(f"{title} " + ", ".join(f"{float(value):.2f} at {float(value.rate):g}" for value in mean))
    ax.set_xticks(places, [f"{float(rate):g}" for rate in sweep.rate])
    ax.set(xlabel="learning rate", ylabel=plotting.ACCURACY, ylim=(0, 1))
    ax.legend(loc="lower left")
    return plotting.show(fig, f"Accuracy after {rates.STEPS} steps by learning rate: {'; '.join(told)}.",
                         f"{caption(sweep)} Mean and range over {sweep.sizes['order']} orders of the training images.")


def reading_of_rates(sweep: xarray.Dataset) -> Page:
    """What is left of the lead of copies over scratch, if each has the rate that is best for it, or if scratch begins
    from larger weights."""
    numbers = rates.claims(sweep)["SAIL-8"]
    before, left, larger, both = (100 * numbers[f"lead_{name}"] for name in ("one_rate", "own_rates", "larger", "both"))
    title = ("With a rate of its own, scratch makes up most of the lead" if left < FEW * before
             else "Copies and scratch, each at its own learning rate")
    return reading(title, """
        At the learning rate of the panel, copies were {before:.0f} points ahead of scratch after {steps} steps. With
        the best of six rates for each, {left:.0f} points were left. With larger first weights, scratch was {larger} at
        the panel’s own rate, and with both it was {both}. (The rates are chosen on the test images, which favours
        both.)""",
                   before=before, left=left, larger=_behind(larger), both=_behind(both), steps=rates.STEPS)


def _behind(points):
    """Where scratch is if copies lead by so many points, in words."""
    whole = round(abs(points))
    if not whole:
        return "level with copies"
    return f"{whole} point{'' if whole == 1 else 's'} {'behind' if points > 0 else 'ahead'}"
