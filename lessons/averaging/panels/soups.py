"""Panel (e) and what belongs to it: soups, and the guest that spoils one."""
import xarray

from lessons.averaging.experiment.models import BOLD, HELD_OUT_IMAGES, STRANGER
from lessons.averaging.experiment.soups import GUESTS, NOBODY, SOUPS
from lessons.kit import plotting
from lessons.kit.noise import WIDE, Difference
from lessons.kit.page import Page, reading, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, WithQuartiles
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
    """Panel (e): soups of the k best models; left, by how many points they beat the best single model, with two
    standard errors; right, their accuracies.

    Controls: size, guest. The prediction, what the uniform soup of all twenty gains in points, is a star.
    """
    sizes = list(map(int, sweep["size"].values))
    by_guest = {guest: sweep.sel(guest=guest) for guest in GUESTS}
    fig, (left, right) = plotting.figure(2, height=4.2)
    points = 100 * sweep.sel(guest=NOBODY)[[f"{name}_gain" for name in SOUPS]].to_dataarray()
    left.axhline(0, color=GREY, linewidth=1.6, marker="")
    left.set(xlabel="models to choose from, k", ylabel="points above the best single model", xlim=(0.3, 20.7),
             ylim=(float(points.min()) - 0.6, float(points.max()) + 0.6), xticks=range(2, 21, 3))
    gains = {}
    for shift, name in zip((-0.2, 0.0, 0.2), ("uniform", "soup_ensemble", "greedy")):
        places = [size + shift for size in sizes]
        gains[name] = WithQuartiles(left, places, LOOKS[name].colour, LOOKS[name].marker, LABELS[name])
    everything = sweep[list(LABELS)].to_dataarray()
    right.set(xlabel="models to choose from, k", ylabel=plotting.ACCURACY, xlim=(0.5, 20.5), xticks=range(2, 21, 3),
              ylim=(float(everything.min()) - 0.03, float(everything.max()) + 0.01))
    curves = {name: curve(right, LOOKS[name], label, markersize=4, linewidth=1.6) for name, label in LABELS.items()}
    uprights = [here(ax, 2) for ax in (left, right)]
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    asked = {"size": 20, "guest": NOBODY}
    star = Star(left, prediction, 20, 100 * sweep.uniform_gain.sel(asked).item(), asked)
    titles = moving_titles((left, right))

    def draw(size, guest):
        part = by_guest[guest]
        now = {name: part[name].sel(size=size).item() for name in (*LABELS, "greedy_size", *_GAINS)}
        for name, line in curves.items():
            line.set_data(sizes, part[name].values)
        for name, marks in gains.items():
            gain = 100 * part[f"{name}_gain"].values
            reach = 100 * WIDE * part[f"{name}_gain_error"].values
            marks.set_values(gain, gain - reach, gain + reach)
        for upright in uprights:
            upright.set_xdata([size, size])
        star.place(size=size, guest=guest)
        gained = round(100 * now["greedy_gain"], 1) + 0.0  # no minus before a zero
        error = 100 * now["greedy_gain_error"]
        titles[0].set_text(f"k = {size}: greedy {gained:+.1f} ± {error:.1f} points, took {now['greedy_size']:.0f}")
        titles[1].set_text(f"Uniform {now['uniform']:.3f}, greedy {now['greedy']:.3f}")
        who = f"the {size} best" if guest == NOBODY else f"the {size - 1} best and {guest}"
        return said("""Soups of {who}: uniform {uniform:.4f}, greedy {greedy:.4f} (it took {greedy_size:.0f}), logits
                       ensemble {soup_ensemble:.4f}, the single model that held-out data chooses {best_single:.4f}. The
                       greedy soup beats that by {greedy_gain:+.4f}, standard error {greedy_gain_error:.4f}.""",
                    who=who, **now)

    controls = {"size": slider("models, k", sizes, 5),
                "guest": choice("throw in as the last of the k", GUESTS)}
    below = f" Chosen on {HELD_OUT_IMAGES:,} held-out training images. Bars on the left: two standard errors."
    images = f"{sweep.attrs['soup_images']:,} test images"  # more than the rest is measured on
    return controls, fig, draw, caption(sweep.assign_attrs(images=images)) + below


_GAINS = ("greedy_gain", "greedy_gain_error")


def reading_of_the_soups(sweep: xarray.Dataset) -> Page:
    """Which soup pays, with this sweep's numbers and their errors."""
    all_twenty = sweep.sel(guest=NOBODY, size=20)
    over = Difference(all_twenty.greedy_over_uniform.item(), all_twenty.greedy_over_uniform_error.item())
    few = sweep.sel(guest=NOBODY, size=slice(2, 5))
    bold = sweep.sel(guest=BOLD)
    stranger = sweep.sel(guest=STRANGER)
    return reading("Which soup?", """The greedy soup of all twenty is more accurate than the uniform
        one by {over}. {pays}. Among the two to five best {few}. With {bold} among two or more the uniform soup falls as
        low as {bold_uniform:.3f}, with {stranger} as low as {stranger_uniform:.3f}. The greedy soup stays at
        {bold_greedy:.3f} and {stranger_greedy:.3f} or above.""",
        over=f"{over:.1f} points{over.doubt()}",
        pays=_beside_single(all_twenty), few=_among_few(few),
        bold=BOLD, bold_uniform=_least_of_two_or_more(bold.uniform), bold_greedy=_least_of_two_or_more(bold.greedy),
        stranger=STRANGER, stranger_uniform=_least_of_two_or_more(stranger.uniform),
        stranger_greedy=_least_of_two_or_more(stranger.greedy))


def _beside_single(part):
    """Whether the greedy soup is better than the single model, which costs no search."""
    gain = Difference(part.greedy_gain.item(), part.greedy_gain_error.item())
    way = "loses" if gain.value < 0 else "gains"
    return f"Compared with the best single model it {way}: {gain} points{gain.doubt()}"


def _among_few(part):
    """For how many k the order of the two soups can be told."""
    pairs = zip(part.greedy_over_uniform.values, part.greedy_over_uniform_error.values)
    gains = [Difference(value, error) for value, error in pairs]
    ahead = sum(gain.is_news and gain.value > 0 for gain in gains)
    behind = sum(gain.is_news and gain.value < 0 for gain in gains)
    if not ahead and not behind:
        return "the difference between the two is within the noise"
    return f"the greedy one is ahead {ahead} times and behind {behind} times of {len(gains)}, by two standard errors"


def _least_of_two_or_more(accuracy):
    return accuracy.isel(size=slice(1, None)).min().item()
