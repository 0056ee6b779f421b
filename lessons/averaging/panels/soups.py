"""Panel (e) and what belongs to it: soups, and the guest that spoils one."""
import xarray

from lessons.averaging.experiment.models import BOLD, HELD_OUT_IMAGES, STRANGER
from lessons.averaging.experiment.soups import GUESTS, NOBODY
from lessons.kit import plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE
from lessons.kit.predict import Star
from lessons.kit.sweep import caption

LABELS = {"uniform": "uniform soup",
          "greedy": "greedy soup",
          "soup_ensemble": "logits ensemble of all k",
          "best_single": "single model, best on held-out data"}
LOOKS = {"uniform": Look(BLUE, "o"),
         "greedy": Look(GREEN, "^"),
         "soup_ensemble": Look(ORANGE, "s"),
         "best_single": Look(GREY, "D")}


@panel
def of_the_best(sweep: xarray.Dataset, prediction=None):
    """Panel (e): test accuracy of soups of the k best models; right, the upper end again, larger.

    Controls: size, guest. The prediction, the uniform soup of the bold one and the two best, is a star.
    """
    sizes = list(map(int, sweep["size"].values))
    names = (*LABELS, "greedy_size")
    by_guest = {guest: {name: sweep[name].sel(guest=guest).values for name in names} for guest in GUESTS}
    fig, axes = plotting.figure(2, height=4.0)
    curves, uprights = _axes(axes, sweep)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    asked = {"size": 3, "guest": BOLD}
    star = Star(axes[0], prediction, 3, sweep.uniform.sel(asked).item(), asked)
    titles = moving_titles(axes)

    def draw(size, guest):
        row = sizes.index(size)
        now = {name: values[row] for name, values in by_guest[guest].items()}
        for name, line in curves:
            line.set_data(sizes, by_guest[guest][name])
        for upright in uprights:
            upright.set_xdata([size, size])
        star.place(size=size, guest=guest)
        titles[0].set_text(f"k = {size}: uniform {now['uniform']:.3f}, greedy {now['greedy']:.3f}")
        titles[1].set_text(f"The upper end; greedy took {now['greedy_size']:.0f} of {size}")
        who = f"the {size} best" if guest == NOBODY else f"the {size - 1} best and {guest}"
        return said("""Soups of {who}: uniform {uniform:.4f}, greedy {greedy:.4f} (it took {greedy_size:.0f}), logits
                       ensemble {soup_ensemble:.4f}, the single model that held-out data chooses {best_single:.4f}.""",
                    who=who, **now)

    controls = {"size": slider("models, k", sizes, 5),
                "guest": choice("throw in as the last of the k", {guest: guest for guest in GUESTS})}
    return controls, fig, draw, caption(sweep) + f" Chosen on {HELD_OUT_IMAGES:,} held-out training images."


def _axes(axes, sweep):
    """Both pictures' limits; [(name, curve)], and where the slider stands."""
    everything = sweep[list(LABELS)].to_dataarray()
    alone = sweep[list(LABELS)].sel(guest=NOBODY).to_dataarray()
    high = float(everything.max()) + 0.01
    lows = float(everything.min()) - 0.03, float(alone.min()) - 0.01
    curves, uprights = [], []
    for ax, low in zip(axes, lows):
        ax.set(xlabel="models to choose from, k", ylabel="accuracy: share correct", xlim=(0.5, 20.5), ylim=(low, high),
               xticks=range(2, 21, 3))
        for name, label in LABELS.items():
            curves.append((name, curve(ax, LOOKS[name], label, markersize=4, linewidth=1.6)))
        uprights.append(here(ax, 2))
    return curves, uprights


def reading_of_the_soups(sweep: xarray.Dataset) -> Page:
    """When the greedy soup is better than the uniform one, with this sweep's numbers."""
    alone = sweep.sel(guest=NOBODY)
    ahead = [int(k) for k in sweep["size"].values if alone.greedy.sel(size=k) < alone.uniform.sel(size=k)]
    if ahead:
        other = f"it is the other way round for k = {', '.join(map(str, ahead))}"
    else:
        other = "the two come close, but the greedy one is never behind"
    bold = sweep.sel(guest=BOLD)
    stranger = sweep.sel(guest=STRANGER)
    of_all = alone.sel(size=20)
    return reading("Which soup?", """Of all twenty, the uniform soup reads {uniform:.3f}, the greedy one {greedy:.3f},
        the single model chosen by held-out data {single:.3f}. Without a guest and among few, {other}. With {bold} the
        uniform soup falls to {bold_uniform:.3f}, with {stranger} to {stranger_uniform:.3f}; the greedy soup never falls
        below {bold_greedy:.3f} and {stranger_greedy:.3f}, as soon as it has two to choose from.""",
        uniform=of_all.uniform.item(), greedy=of_all.greedy.item(), single=of_all.best_single.item(), other=other,
        bold=BOLD, bold_uniform=bold.uniform.min().item(), bold_greedy=_least_of_two_or_more(bold.greedy),
        stranger=STRANGER, stranger_uniform=stranger.uniform.min().item(),
        stranger_greedy=_least_of_two_or_more(stranger.greedy))


def _least_of_two_or_more(accuracy):
    return accuracy.isel(size=slice(1, None)).min().item()
