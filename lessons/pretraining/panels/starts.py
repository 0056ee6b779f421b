"""The pictures of the four settings, of matching and of the time apart: three panels, and the source's Figure 11
redrawn from our measurement."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, agrees, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, moving_titles
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, RED, WithQuartiles, layer_ticks, still, violin
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, names, position
from lessons.pretraining.experiment import starts
from lessons.pretraining.experiment.starts import (
    BY_FEATURES,
    BY_WEIGHTS,
    HOWS,
    ONE_EPOCH,
    ONE_START,
    PAIRS,
    PRETRAINED,
    SETTINGS,
    SOURCE,
    STRANGERS,
    TREATMENTS,
    TWO_EPOCHS,
)

LOOKS = {STRANGERS: Look(GREY, "s"), BY_WEIGHTS: Look(ORANGE, "^"), BY_FEATURES: Look(RED, "v"),
         ONE_START: Look(GREEN, "D"), PRETRAINED: Look(BLUE, "o")}
NAMES = {setting: setting for setting in SETTINGS} | {ONE_START: "one random start, two epochs apart",
                                                      PRETRAINED: "pretrained, one epoch apart"}
FIRST = 30  # units shown of a layer: of all 100 the diagonal would be too thin to see


# -- panel (a): one layer's units ------------------------------------------------------------------

@panel
def units(sweep: xarray.Dataset):
    """Panel (a): the correlation of the first 30 units of one stranger with those of the other; right, of every unit
    with the one at its place.

    Controls: how, layer.
    """
    fig, (left, right) = plotting.figure(2, height=4.0, width_ratios=(5, 6))
    # an image is one element, however many units there are
    picture = left.imshow(np.zeros((2, 2)), extent=(0.5, FIRST + 0.5, FIRST + 0.5, 0.5), cmap="RdBu_r", vmin=-0.8,
                          vmax=0.8, interpolation="nearest", animated=True)
    left.set(xlabel="place in the second network", ylabel="place in the first network")
    left.grid(False)
    fig.colorbar(picture, ax=left, shrink=0.85, label="correlation over the test images")
    ranks = np.arange(1, sweep.sizes["unit"] + 1)
    right.set(xlabel="units of the first network, best paired first", ylabel="correlation with the unit at its place",
              ylim=(-0.7, 1.05), xlim=(0, len(ranks) + 1))
    right.axhline(0, color=GREY, linewidth=1, marker="")
    best = curve(right, Look(GREY, line="--"), "its best match anywhere, taken or not")
    at_place = curve(right, Look(BLUE, "o"), "the unit at its place", markersize=3.5, linewidth=1)
    right.legend(loc="lower left")
    titles = moving_titles((left, right))
    layers = names(sweep.unit_layer)
    values = {}
    for how in HOWS:
        for layer in layers:
            correlation = sweep.correlation.sel(how=how, unit_layer=layer)
            values[how, layer] = correlation.transpose("unit", "partner").values / 100

    def draw(how, layer):
        correlation = values[how, layer]
        partners = np.diag(correlation)
        picture.set_data(correlation[:FIRST, :FIRST])
        at_place.set_data(ranks, np.sort(partners)[::-1])
        best.set_data(ranks, np.sort(correlation.max(1))[::-1])
        titles[0].set_text(f"{layer.capitalize()}, {how}")
        titles[1].set_text(f"Mean {partners.mean():.2f} at its place")
        return said("""{layer} with {how}: a unit of the first network correlates {mean:.2f} on average with the unit
                       of the second network that stands at its place; {above:.0%} of the units above 0.5. The best
                       match anywhere has {best:.2f} on average.""",
                    layer=layer.capitalize(), how=how, mean=partners.mean(), above=(partners > 0.5).mean(),
                    best=correlation.max(1).mean())

    orders = {"in their own order": STRANGERS, "matched by weights": BY_WEIGHTS, "matched by activations": BY_FEATURES}
    return {"how": choice("second network's units", orders), "layer": choice("layer", layers)}, fig, draw


# -- panel (b): the line ---------------------------------------------------------------------------

@panel
def along_the_line(sweep: xarray.Dataset, prediction=None):
    """Panel (b): the loss along the line for every setting; right, the gap at α as a share of the two networks' own
    distance.

    Controls: alpha, pair, treatment. The prediction, the share at the output for matched strangers, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.2)
    alphas = sweep.alpha.values
    layers = names(sweep.layer)
    left.set(xlabel="α, weight of the first network", ylabel="loss (nats)", xlim=(-0.02, 1.02),
             ylim=(0, 1.05 * float(sweep.loss.max())))
    curves = {setting: curve(left, look, NAMES[setting], markersize=4, linewidth=1.6)
              for setting, look in LOOKS.items()}
    at_alpha = here(left)
    places = layer_ticks(right, layers)
    share = sweep.gap_mean / sweep.own_mean
    inside = share.sel(alpha=slice(0.01, 0.99))
    right.set(ylabel="gap over own distance", yscale="log",
              ylim=(0.8 * float(inside.min()), 1.3 * float(max(inside.max(), 1))))
    dots = {setting: cloud(right, look) for setting, look in LOOKS.items()}
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = moving_titles((left, right))
    order = ("pair", "setting", "treatment", "alpha")
    losses = sweep.loss.transpose(*order).values
    shares = share.transpose(*order, "layer").values
    barriers = starts.barriers(sweep).transpose(*order[:3]).values
    asked = {"pair": PAIRS[0], "treatment": TREATMENTS[0], "alpha": 0.5}
    answer = share.sel(setting=BY_WEIGHTS, **asked).isel(layer=-1).item()
    star = Star(right, prediction, len(layers) - 1 + _SHIFTS[BY_WEIGHTS], answer, asked)

    def draw(alpha, pair, treatment):
        step, p, t = position(alphas, alpha), PAIRS.index(pair), TREATMENTS.index(treatment)
        measured = []
        for s, setting in enumerate(SETTINGS):
            curves[setting].set_data(alphas, losses[p, s, t])
            dots[setting].set_data(places + _SHIFTS[setting], shares[p, s, t, step])
            if np.isfinite(losses[p, s, t]).all():
                gaps = np.array2string(shares[p, s, t, step], precision=3, separator=", ")
                measured.append(f"{setting} {losses[p, s, t, step]:.3f}, highest above the straight line "
                                f"{barriers[p, s, t]:.3f}, gap {gaps}")
        at_alpha.set_xdata([alpha, alpha])
        star.place(alpha=alpha, pair=pair, treatment=treatment)
        titles[0].set_text(f"Loss on {pair}, {treatment}")
        titles[1].set_text(f"What is not linear, at α = {alpha:.2f}")
        return (f"Loss and gap (share of own distance, per layer) for {pair} at α = {alpha:.2f}, interpolated network "
                f"{treatment}: {'; '.join(measured)}.")

    pairs = {"two tasks, 45° and 90°": PAIRS[0], "one task, 90° both": PAIRS[1]}
    treatments = {"as it is": TREATMENTS[0], "with REPAIR": TREATMENTS[1]}
    controls = {"alpha": slider("α", alphas.tolist(), 0.5), "pair": choice("the networks learned", pairs),
                "treatment": choice("the interpolated network", treatments)}
    return controls, fig, draw


def question_of_matching(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (b)."""
    output = sweep.sel(setting=STRANGERS, pair=PAIRS[0], treatment=TREATMENTS[0], alpha=0.5).isel(layer=-1)
    return said("""Half-way between two strangers, output layer: the gap is {share:.2f} of the two networks' own
                   distance. What is it once the second network's units are **matched by weights**?""",
                share=(output.gap_mean / output.own_mean).item())


_SHIFTS = dict(zip(SETTINGS, (-0.24, -0.12, 0, 0.12, 0.24)))  # beside a layer's place


# -- panel (c): one start, equally long apart -------------------------------------------------------

TIMES = {"one epoch": ONE_EPOCH, "two epochs": TWO_EPOCHS}
MEAN = "layers 1–3"  # the mean over the hidden layers


@panel
def from_one_start(sweep: xarray.Dataset, prediction=None):
    """Panel (c): the gap per layer of two networks from one random start and of two pretrained ones, equally long
    apart; right, as a share of the two networks' own distance.

    Controls: apart. The prediction, the mean gap of the hidden layers from a random start, one epoch apart, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.0)
    layers = [*names(sweep.layer), MEAN]
    dots = {}
    for ax, label in ((left, "gap: 1 − cosine, half-way"), (right, "gap over own distance")):
        layer_ticks(ax, layers)
        ax.set(ylabel=label)
        dots[ax] = [cloud(ax, look, name, markersize=9) for look, name in _TOGETHER]
    values = {(apart, ax): _with_mean(sweep, settings, share) for apart, settings in TIMES.items()
              for ax, share in ((left, False), (right, True))}
    for ax in (left, right):
        highest = max(np.max(series) for (_, axis), series in values.items() if axis is ax)
        ax.set_ylim(0, 1.12 * highest)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    titles = moving_titles((left, right))
    asked = {"apart": "one epoch"}
    star = Star(left, prediction, len(layers) - 1 + _BESIDE[0], values["one epoch", left][0][-1], asked)

    def draw(apart):
        for ax, points in dots.items():
            for point, shift, series in zip(points, _BESIDE, values[apart, ax]):
                point.set_data(np.arange(len(layers)) + shift, series)
        star.place(apart=apart)
        (random, pretrained), shares = values[apart, left], values[apart, right]
        titles[0].set_text(f"{apart.capitalize()} apart: {random[-1]:.3f} and {pretrained[-1]:.3f}")
        titles[1].set_text(f"As a share: {shares[0][-1]:.3f} and {shares[1][-1]:.3f}")
        return said("""{apart} apart, half-way, mean over the hidden layers: gap {random:.4f} from one random start,
                       {pretrained:.4f} pretrained; as a share of the networks' own distance {a:.3f} and {b:.3f}.""",
                    apart=apart.capitalize(), random=random[-1], pretrained=pretrained[-1], a=shares[0][-1],
                    b=shares[1][-1])

    controls = {"apart": choice("finetuned apart for", list(TIMES))}
    return controls, fig, draw


_TOGETHER = ((LOOKS[ONE_START], "one random start"), (LOOKS[PRETRAINED], "pretrained"))
_BESIDE = (-0.1, 0.1)


def _with_mean(sweep, settings, share):
    """For each setting, the layers' gaps, and last their mean over the hidden layers."""
    series = []
    for setting in settings:
        half_way = sweep.sel(pair=PAIRS[0], setting=setting, treatment=TREATMENTS[0], alpha=0.5)
        gaps = (half_way.gap_mean / half_way.own_mean if share else half_way.gap_mean).values
        series.append([*gaps, np.mean(gaps[:-1])])
    return series


def question_of_time(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (c)."""
    numbers = starts.equally_long(sweep)
    return said("""Both pairs were apart for **one** epoch. The pretrained pair has the gap {gap:.3f}, mean over the
                   hidden layers. What has the pair that shares only its **random** start?""",
                gap=numbers["one_epoch_pretrained_gap"])


def time_apart(sweep: xarray.Dataset) -> Page:
    """The four pairs with a common start, as a table."""
    numbers = starts.equally_long(sweep)
    rows = []
    for start, name in (("random", "one random start"), ("pretrained", "pretrained")):
        for apart in TIMES:
            key = f"{apart.replace(' ', '_')}_{start}"
            rows.append((name, apart, f"{numbers[f'{key}_distance']:.2f}", f"{numbers[f'{key}_gap']:.4f}",
                         f"{numbers[f'{key}_share']:.3f}", f"{numbers[f'{key}_accuracy']:.3f}"))
    head = ("start", "apart for", "distance ‖θᵢ − θⱼ‖", "gap, hidden layers", "share of the own distance",
            "accuracy half-way")
    return table(head, rows)


def reading_of_time_apart(sweep: xarray.Dataset) -> Page:
    """How much knowledge adds to a common start, with this sweep's numbers and the ledger's."""
    numbers = starts.equally_long(sweep)
    return reading("Equally long apart", """
        After one epoch the gap from a random start is {one_epoch_gap_ratio:.2f} times the pretrained one, after two
        epochs {two_epochs_gap_ratio:.2f} times. Measured against the networks' own distance it is
        {one_epoch_share_ratio:.2f} and {two_epochs_share_ratio:.2f} times. Compare one epoch with two instead, and you
        find {unfair:.2f} times: that number is mostly the time apart.""",
                   unfair=numbers["two_epochs_random_gap"] / numbers["one_epoch_pretrained_gap"], **numbers)


# -- the source's figure ---------------------------------------------------------------------------

@still
def figure_11(sweep: xarray.Dataset):
    """Figure 11 of CTL: 1 − cosine half-way and the distribution of coef, per hidden layer, in the source's four
    settings, and from one random start."""
    layers = names(sweep.layer[:-1])
    part = sweep.sel(pair=PAIRS[0], alpha=0.5, treatment=TREATMENTS[0], layer=layers)
    fig, (left, right) = plotting.figure(2, height=3.9)
    for setting, shift in zip(SETTINGS, (-0.3, -0.15, 0, 0.15, 0.3)):
        label = NAMES[setting] if setting in SOURCE else f"{NAMES[setting]} (ours)"
        half_way(left, right, part.sel(setting=setting), shift, LOOKS[setting], label, width=0.07)
    name_axes(left, right, layers, gap=(0, 1.08 * float(part.gap_high.max())), coef=(0, 1.3))
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    ranges = []
    for setting in SETTINGS:
        gap = part.gap_mean.sel(setting=setting)
        coef = part.coef_mean.sel(setting=setting)
        ranges.append(f"{setting} gap {gap.min().item():.3f} to {gap.max().item():.3f}, "
                      f"coef {coef.min().item():.2f} to {coef.max().item():.2f}")
    alt = f"Half-way between networks of two tasks, three hidden layers: {'; '.join(ranges)}."
    return plotting.show(fig, alt, caption(sweep) + QUARTILES)


QUARTILES = " Left: mean and quartiles over the images; right: distribution, line: median."


def half_way(left, right, sweep: xarray.Dataset, shift: float, look: Look, label: str, width: float) -> None:
    """One series of a figure like the source's Figures 11 and 12: left the gap of every layer with its quartiles, right
    the distribution of coef.

    Args:
        left, right: axes.
        sweep: over layer alone.
        shift: to the right of a layer's place.
        width: half of a distribution's.
    """
    places = np.arange(sweep.sizes["layer"]) + shift
    gap = WithQuartiles(left, places, look.colour, look.marker, label, animated=False)
    gap.set_values(sweep.gap_mean, sweep.gap_low, sweep.gap_high)
    for number, place in enumerate(places):
        of_layer = sweep.isel(layer=number)
        violin(right, place, of_layer.bin.values, of_layer.coef_count.values, of_layer.coef_median.item(), look.colour,
               width=width)


def name_axes(left, right, layers: list[str], gap: tuple[float, float], coef: tuple[float, float]) -> None:
    """The axes of such a figure: `gap` and `coef` are their limits; a gap's axis that does not begin at 0 is
    logarithmic."""
    left.set(ylabel="gap: 1 − cosine, half-way", ylim=gap, yscale="log" if gap[0] else "linear", title="Direction")
    right.set(ylabel="coef, half-way", ylim=coef, title="Length")
    right.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    for ax in (left, right):
        layer_ticks(ax, layers)


def reading_of_figure_11(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 11 of CTL and ours, with this sweep's numbers."""
    numbers = starts.claim_14(sweep)
    ordered = numbers["no_matching_gap"] > numbers["weight_matching_gap"] > numbers["pretrained_gap"]
    agree = ordered and numbers["activation_matching_gap"] > numbers["pretrained_gap"]
    return reading("Figure 11 of Zhou et al., and ours", """
        {agrees}: the mean gap in the hidden layers is {no_matching_gap:.3f} for strangers, {weight_matching_gap:.3f}
        and {activation_matching_gap:.3f} after matching their weights or activations, {pretrained_gap:.3f} for networks
        pretrained together; coef is {no_matching_coef:.2f}, {weight_matching_coef:.2f},
        {activation_matching_coef:.2f} and {pretrained_coef:.2f}. But the pretrained pair was apart for one epoch, the
        others for two. Not in the source: two networks that began from the same random weights have
        {one_epoch_random_gap:.3f} after one epoch apart and {two_epochs_random_gap:.3f} after two; pretrained ones
        {one_epoch_pretrained_gap:.3f} and {two_epochs_pretrained_gap:.3f}.""", agrees=agrees(agree), **numbers)


def accuracies(sweep: xarray.Dataset) -> Page:
    """Accuracy of every network on its own task, as a table."""
    rows = [(str(name), f"{value:.3f}") for name, value in zip(sweep.model.values, sweep.own_accuracy.values)]
    text = "; ".join(f"{name} {value}" for name, value in rows)
    return table(("start, and the task it learned", "accuracy on that task"), rows, text)
