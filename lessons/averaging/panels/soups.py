"""Panel (e) and what belongs to it: soups, and the guest that spoils one."""
from collections.abc import Callable, Sequence

import numpy as np
import xarray

from lessons.averaging.experiment.models import BOLD, HELD_OUT_IMAGES, OUTLIERS, STRANGER
from lessons.averaging.experiment.soups import GUESTS, NOBODY, SOUPS
from lessons.kit import plotting
from lessons.kit.noise import WIDE, Difference
from lessons.kit.page import Page, half_up, quiet, reading, said
from lessons.kit.plotting import BLUE, GREEN, GREY, RED, themed
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, chips, key, percent, slider, view

LOWEST = -11.0  # points below the best single model, where the axis ends
_LABELS = {"uniform": "uniform soup", "soup_ensemble": "ensemble of all k", "greedy": "greedy soup"}
_ALT = """
    Soups of {who}: uniform {uniform:.4f}, greedy {greedy:.4f} (it took {greedy_size:.0f}), logits ensemble
    {soup_ensemble:.4f}, the single model that held-out data chooses {best_single:.4f}. Compared with that, the uniform
    soup has {uniform_gain:+.4f}, standard error {uniform_gain_error:.4f}, the ensemble {soup_ensemble_gain:+.4f},
    {soup_ensemble_gain_error:.4f}, the greedy soup {greedy_gain:+.4f}, {greedy_gain_error:.4f}."""
_NAMES = ("best_single", "greedy_size", *(f"{soup}{what}" for soup in SOUPS for what in ("", "_gain", "_gain_error")))


@view
def of_the_best(sweep: xarray.Dataset, prediction=None):
    """Panel (e): by how many points soups of the k best models beat the best single model, with two standard errors;
    left, the uniform soup and, in grey, the logits ensemble of the same models; right, the greedy soup.

    Controls: size, guest. The prediction, what the uniform soup of all twenty gains in points, is a star.
    """
    sizes = [int(size) for size in sweep["size"].values]
    by_guest = {guest: {name: sweep.sel(guest=guest)[name].values for name in _NAMES} for guest in GUESTS}
    findings = {guest: finding_of_soups(sweep.sel(guest=guest)) for guest in GUESTS}
    asked = {"size": sizes[-1], "guest": NOBODY}
    if prediction:
        prediction.panel_answers(100 * by_guest[NOBODY]["uniform_gain"][-1], asked)

    def draw(size, guest):
        numbers, place = by_guest[guest], position(sizes, size)
        values, cut = {"single left": 0, "single right": 0}, []
        for soup, name in _LABELS.items():
            gain, reach = 100 * numbers[f"{soup}_gain"], 100 * WIDE * numbers[f"{soup}_gain_error"]
            inside = gain - reach > LOWEST
            cut += [f"{k}" for k, is_inside in zip(sizes, inside) if not is_inside]
            gain = np.where(inside, gain, np.nan)
            values |= {name: gain, f"{name}, two standard errors": (gain - reach, gain + reach)}
        who = f"the {size} best" if guest == NOBODY else f"the {size - 1} best and {guest}"
        alt = said(_ALT, who=who, **{name: along[place] for name, along in numbers.items()})
        about = key(("merged", f"Soups of {who}; the greedy one took {numbers['greedy_size'][place]:.0f}"),
                    ("single", f"Best single model: {percent(numbers['best_single'][place], 1)}"),
                    ("", "grey: the logits ensemble of all k"),
                    *([("", f"below the axis: k = {', '.join(cut)}")] if cut else []))
        return Frame(findings[guest], alt, values, about)

    controls = {"size": slider("k, models to choose from", sizes, sizes[-1], words=lambda k: f"the {k} best"),
                "guest": chips("the last of the k", {"one of the twenty": NOBODY} | {who: who for who in GUESTS[1:]})}
    below = f" Chosen on {HELD_OUT_IMAGES:,} held-out training images. Bands: two standard errors of the difference."
    images = f"{sweep.attrs['soup_images']:,} test images"  # more than the rest is measured on
    return {"kicker": "Chapter 3: soups", "charts": _charts(sizes, sweep), "draw": draw, "controls": controls,
            "hides": [f"{name}{what}" for name in _LABELS.values() for what in ("", ", two standard errors")],
            "caption": caption(sweep.assign_attrs(images=images)) + below}


def _charts(sizes, sweep):
    """The uniform soup with the ensemble, and the greedy soup, on the same axes."""
    gains = [100 * (sweep[f"{name}_gain"] + WIDE * sweep[f"{name}_gain_error"]) for name in SOUPS]
    highest = max(float(gain.max()) for gain in gains)
    across = Axis("k", sizes[0], sizes[-1], ticks={k: f"{k}" for k in sizes if k == 1 or k % 5 == 0})
    up = Axis("points above the best single model", LOWEST, 1.1 * highest, digits=1)
    bands = {name: Band(f"{name}, two standard errors", "other" if soup == "soup_ensemble" else "merged")
             for soup, name in _LABELS.items()}
    uniform, ensemble, greedy = _LABELS.values()
    left = Chart(across, up, (Reference("single left", "single", aside=True), bands[ensemble], Line(ensemble, "other"),
                              bands[uniform], Line(uniform, "merged", uniform, dots=True, near=True),
                              Star("guess", "merged", x=(sizes[-1],)), Handle("size")))
    right = Chart(across, up, (Reference("single right", "single", aside=True), bands[greedy],
                               Line(greedy, "merged", greedy, dots=True, near=True), Handle("size")))
    return [left, right]


def finding_of_soups(part: xarray.Dataset) -> str:
    """Where the uniform soup of two or more is worst beside the best single model: is it behind, and is the greedy one
    there? part: one guest's."""
    several = part.isel(size=slice(1, None))
    worst = several.isel(size=int(several.uniform_gain.values.argmin()))
    ways = []
    for soup in ("uniform", "greedy"):
        gain = Difference(worst[f"{soup}_gain"].item(), worst[f"{soup}_gain_error"].item())
        news = gain.is_news and gain.value
        ways.append("keeps up" if not news else "gets ahead" if gain.value > 0 else "falls behind")
    uniform, greedy = ways
    where = {"keeps up": "keeps up with", "gets ahead": "gets ahead of", "falls behind": "falls behind"}[uniform]
    guest = "The" if part.guest.item() == NOBODY else f"With {part.guest.item()}, the"
    beside = "and so does the greedy one" if uniform == greedy else f"the greedy one {greedy}"
    return f"{guest} uniform soup {where} the best single model, {beside}"


def reading_of_the_soups(sweep: xarray.Dataset) -> Page:
    """Which soup pays, with this sweep's numbers and their errors."""
    all_twenty = sweep.sel(guest=NOBODY, size=20)
    over = Difference(all_twenty.greedy_over_uniform.item(), all_twenty.greedy_over_uniform_error.item())
    few = sweep.sel(guest=NOBODY, size=slice(2, 5))
    return reading("Which soup?", """The greedy soup of all twenty is more accurate than the uniform
        one by {over}. {pays}. With only the two to five best to choose from, {few}.""",
        over=f"{over:.1f} points{over.doubt()}", pays=_beside_single(all_twenty), few=_among_few(few))


def reading_of_the_guests(sweep: xarray.Dataset) -> Page:
    """How low the soups fall, over all numbers of models from two on, where the last of them does not fit in."""
    bold, stranger = sweep.sel(guest=BOLD), sweep.sel(guest=STRANGER)
    greedy = min(_least_of_two_or_more(part.greedy) for part in (bold, stranger))
    return reading("One network that does not fit in", """Now the last of the networks to choose from, two or
        more, is {bold} or {stranger}. The uniform soup has to take it, and the greedy one need not. With {bold} the
        accuracy of the uniform soup falls as low as {low:.3f}, and with {stranger} as low as {lower:.3f}. That of the
        greedy soup stays at {greedy:.3f} or above with either.""",
        bold=BOLD, stranger=STRANGER, low=_least_of_two_or_more(bold.uniform),
        lower=_least_of_two_or_more(stranger.uniform), greedy=greedy)


def measured_on(sweep: xarray.Dataset) -> Page:
    """On which images the soups are measured."""
    images = f"{sweep.attrs['soup_images']:,} test images"
    fewer = sweep.attrs["images"]
    other = "" if fewer == images else f" The table of the twenty-two networks has accuracies on {fewer}."
    text = f"{caption(sweep.assign_attrs(images=images))}{other}"
    return Page(text, quiet(text))


def _beside_single(part):
    """Whether the greedy soup is better than the single model, which costs no search."""
    gain = Difference(part.greedy_gain.item(), part.greedy_gain_error.item())
    return f"Its difference from the best single model is {gain} points{gain.doubt()}"


def _among_few(part):
    """For how many k the order of the two soups can be told."""
    pairs = zip(part.greedy_over_uniform.values, part.greedy_over_uniform_error.values)
    gains = [Difference(value, error) for value, error in pairs]
    ahead = sum(gain.is_news and gain.value > 0 for gain in gains)
    behind = sum(gain.is_news and gain.value < 0 for gain in gains)
    if not ahead and not behind:
        return "the difference between the two is within the noise"
    return f"the greedy one is more accurate than the uniform one by two standard errors or more in {ahead} of these " \
           f"{len(gains)} cases, and less accurate by as much in {behind}"


def _least_of_two_or_more(accuracy):
    return half_up(accuracy.isel(size=slice(1, None)).min().item())


@themed
def cooking(held_out: Sequence[float], taken: Sequence[int], accuracy_of: Callable[[list[int]], float]):
    """The greedy soup being cooked: what each model in turn would make of it, and whether it was taken.

    Args:
        held_out: accuracy of every model on held-out data.
        taken: the models of the soup.
        accuracy_of: (models) -> accuracy of their average on held-out data.
    """
    soup, tried, grown = [], [], []
    ranked = sorted(range(len(held_out)), key=lambda model: -held_out[model])
    for model in ranked:
        tried.append((accuracy_of([*soup, model]), model in taken))
        soup = [*soup, model] if model in taken else soup
        grown.append(accuracy_of(soup))
    places = np.arange(1, len(tried) + 1)
    trials, came_in = map(np.array, zip(*tried))
    uniform = accuracy_of(list(range(len(held_out))))
    lowest = uniform - 0.01
    fig, ax = plotting.figure(height=3.4)
    ax.step(places, grown, where="post", color=GREEN, linewidth=1.6, label="the soup so far", marker="")
    for mask, colour, marker, label in ((came_in, BLUE, "o", "taken"), (~came_in, RED, "x", "left out")):
        ax.plot(places[mask], trials[mask], color=colour, marker=marker, linestyle="", markersize=7, label=label)
    named = {place: who for who, place in OUTLIERS.items()}
    for place, model, trial in zip(places, ranked, trials):
        below = f" ↓ {trial:.0%}" if trial < lowest else ""
        if below or model in named:
            ax.annotate(f"{named.get(model, '')}{below}", (place, max(trial, lowest)), xytext=(0, 6),
                        textcoords="offset points", ha="center", color=RED)
    ax.axhline(uniform, color=GREY, linestyle="--", linewidth=1.2, marker="", label="uniform soup of all")
    ax.set(xlabel="models, from the best on", ylabel="accuracy on held-out data", title="What each model would make of "
           "the soup")
    ax.set_xticks(places)
    ax.set_ylim(lowest, None)
    plotting.in_percent(ax.yaxis)
    ax.legend(loc="lower right", ncols=2)
    told = ", ".join(f"{trial:.3f} {'taken' if is_in else 'left out'}" for trial, is_in in tried)
    return plotting.show(fig, f"Held-out accuracy with each of {len(tried)} models in turn: {told}. "
                              f"The uniform soup of all has {uniform:.3f}.")


def reading_of_the_greedy_one(sweep: xarray.Dataset) -> Page:
    """The two soups of all twenty and the best single model, and what the bold one does to either soup."""
    all_twenty = sweep.sel(guest=NOBODY, size=20)
    over = Difference(all_twenty.greedy_over_uniform.item(), all_twenty.greedy_over_uniform_error.item())
    gain = Difference(all_twenty.greedy_gain.item(), all_twenty.greedy_gain_error.item())
    bold = sweep.sel(guest=BOLD)
    uniform, greedy = _least_of_two_or_more(bold.uniform), _least_of_two_or_more(bold.greedy)
    title = "The greedy soup is the safer one" if over.is_news and over.value > 0 and greedy > uniform else \
        "Which soup?"
    single = "It took the best single model alone" if all_twenty.greedy_size.item() == 1 else \
        f"Its lead over the best single model was {gain} points (± one standard error){gain.doubt()}"
    return reading(title, """With all twenty to choose from, the greedy soup was {over:.1f} points {way} the uniform
        one. {single}. With the bold one as the last of k networks, over all k, the uniform soup fell as low as
        {uniform:.1%}, and the greedy one as low as {greedy:.1%}.""",
        over=100 * abs(over.value), way="above" if over.value >= 0 else "below", single=single, uniform=uniform,
        greedy=greedy)
