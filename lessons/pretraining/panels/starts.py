"""The pictures of the four settings and of matching: two panels, and the source's Figure 11 redrawn from our measurement."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, table
from lessons.linearity.panels.lines import layer_ticks
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, RED, WithQuartiles, violin
from lessons.kit.predict import Star
from lessons.pretraining.experiment import starts as experiment
from lessons.pretraining.experiment.starts import BY_FEATURES, BY_WEIGHTS, HOWS, ONE_START, PAIRS, PRETRAINED, SETTINGS, SOURCE, STRANGERS, TREATMENTS
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel
from lessons.kit.plotting import still

LOOKS = {STRANGERS: (GREY, "s"), BY_WEIGHTS: (ORANGE, "^"), BY_FEATURES: (RED, "v"), ONE_START: (GREEN, "D"), PRETRAINED: (BLUE, "o")}


FIRST = 30  # units shown of a layer: of all 100 the diagonal would be too thin to see


# -- panel (a): one layer's units ------------------------------------------------------------------

@panel
def units(sweep: xarray.Dataset):
    """Panel (a): the correlation of the first 30 units of one stranger with those of the other; right, of every unit with the one at its place.

    Controls: how, layer.
    """
    fig, (left, right) = plotting.figure(2, height=4.0, width_ratios=(5, 6))
    count = sweep.sizes["unit"]
    picture = left.imshow(np.zeros((2, 2)), extent=(0.5, FIRST + 0.5, FIRST + 0.5, 0.5), cmap="RdBu_r", vmin=-0.8, vmax=0.8, interpolation="nearest", animated=True)
    left.set(xlabel="place in the second network", ylabel="place in the first network")
    left.grid(False)
    fig.colorbar(picture, ax=left, shrink=0.85, label="correlation over the test images")
    ranks = np.arange(1, count + 1)
    right.set(xlabel="units of the first network, best paired first", ylabel="correlation with the unit at its place", ylim=(-0.7, 1.05), xlim=(0, count + 1))
    right.axhline(0, color=GREY, linewidth=1, marker="")
    best = right.plot([], [], color=GREY, linestyle="--", marker="", animated=True, label="its best match anywhere, taken or not")[0]
    own = right.plot([], [], color=BLUE, marker="o", markersize=3.5, linewidth=1, animated=True, label="the unit at its place")[0]
    right.legend(loc="lower left")
    titles = plotting.moving_titles((left, right))
    layers = list(map(str, sweep.unit_layer.values))
    values = {(how, layer): sweep.correlation.sel(how=how, unit_layer=layer).transpose("unit", "partner").values / 100 for how in HOWS for layer in layers}

    def draw(how, layer):
        here = values[how, layer]
        picture.set_data(here[:FIRST, :FIRST])
        partners = np.diag(here)
        own.set_data(ranks, np.sort(partners)[::-1])
        best.set_data(ranks, np.sort(here.max(1))[::-1])
        titles[0].set_text(f"{layer.capitalize()}, {how}")
        titles[1].set_text(f"Mean {partners.mean():.2f} at its place")
        return (f"{layer.capitalize()} with {how}: a unit of the first network correlates {partners.mean():.2f} on average with the unit of the second network that "
                f"stands at its place; "
                f"{(partners > 0.5).mean():.0%} of the units above 0.5. The best match anywhere has {here.max(1).mean():.2f} on average.")

    controls = {"how": choice("second network's units", {"in their own order": STRANGERS, "matched by weights": BY_WEIGHTS, "matched by activations": BY_FEATURES}),
                "layer": choice("layer", {layer: layer for layer in layers})}
    return controls, fig, draw


# -- panel (b): the line ---------------------------------------------------------------------------

@panel
def along_the_line(sweep: xarray.Dataset, prediction=None):
    """Panel (b): the loss along the line for every setting; right, the gap at α as a share of the two networks' own distance.

    Controls: alpha, pair, treatment. The prediction, the share at the output for matched strangers, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.2)
    alphas, layers = sweep.alpha.values, list(map(str, sweep.layer.values))
    left.set(xlabel="α, weight of the first network", ylabel="loss (nats)", xlim=(-0.02, 1.02), ylim=(0, 1.05 * float(sweep.loss.max())))
    curves = {setting: left.plot([], [], color=colour, marker=marker, markersize=4, linewidth=1.6, label=setting, animated=True)[0] for setting, (colour, marker) in LOOKS.items()}
    here = left.axvline(0.5, color=BLACK, linewidth=1, marker="", animated=True)
    places = layer_ticks(right, layers)
    inside = (sweep.gap_mean / sweep.own_mean).sel(alpha=slice(0.01, 0.99))
    right.set(ylabel="gap, share of the networks' own distance", yscale="log", ylim=(0.8 * float(inside.min()), 1.3 * float(max(inside.max(), 1))))
    dots = {setting: right.plot(places + shift, [np.nan] * len(layers), color=colour, marker=marker, linestyle="", animated=True)[0]
            for (setting, (colour, marker)), shift in zip(LOOKS.items(), (-0.24, -0.12, 0, 0.12, 0.24))}
    star = Star(right, prediction, len(layers) - 1 - 0.12)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    titles = plotting.moving_titles((left, right))
    order = ("pair", "setting", "treatment", "alpha")
    losses, shares = sweep.loss.transpose(*order).values, (sweep.gap_mean / sweep.own_mean).transpose(*order, "layer").values
    barriers = experiment.barriers(sweep).transpose(*order[:3]).values

    def draw(alpha, pair, treatment):
        step, p, t = position(alphas, alpha), PAIRS.index(pair), TREATMENTS.index(treatment)
        said = []
        for s, setting in enumerate(SETTINGS):
            curves[setting].set_data(alphas, losses[p, s, t])
            share = shares[p, s, t, step]
            dots[setting].set_ydata(share)
            if np.isfinite(losses[p, s, t]).all():
                said.append(f"{setting} {losses[p, s, t, step]:.3f}, highest above the straight line {barriers[p, s, t]:.3f}, gap "
                            f"{np.array2string(share, precision=3, separator=', ')}")
        here.set_xdata([alpha, alpha])
        star.place()
        titles[0].set_text(f"Loss on {pair}, {treatment}")
        titles[1].set_text(f"Distance from CTL at α = {alpha:.2f}")
        return f"Loss and gap (share of own distance, per layer) for {pair} at α = {alpha:.2f}, interpolated network {treatment}: {'; '.join(said)}."

    controls = {"alpha": slider("α", [float(alpha) for alpha in alphas], 0.5),
                "pair": choice("the networks learned", {"two tasks, 45° and 90°": PAIRS[0], "one task, 90° both": PAIRS[1]}),
                "treatment": choice("the interpolated network", {"as it is": TREATMENTS[0], "with REPAIR": TREATMENTS[1]})}
    return controls, fig, draw


# -- the source's figure ---------------------------------------------------------------------------

@still
def figure_11(sweep: xarray.Dataset):
    """Figure 11 of CTL: 1 − cosine half-way and the distribution of coef, per hidden layer, in the source's four settings, and from one random start."""
    layers = list(map(str, sweep.layer.values[:-1]))
    part = sweep.sel(pair=PAIRS[0], alpha=0.5, treatment=TREATMENTS[0], layer=layers)
    fig, (left, right) = plotting.figure(2, height=3.9)
    places, shifts = np.arange(len(layers)), dict(zip(SETTINGS, (-0.3, -0.15, 0, 0.15, 0.3)))
    for setting, shift in shifts.items():
        here, (colour, marker) = part.sel(setting=setting), LOOKS[setting]
        WithQuartiles(left, places + shift, colour, marker, setting if setting in SOURCE else f"{setting} (ours)", animated=False).set_values(here.gap_mean, here.gap_low, here.gap_high)
        for place, layer in zip(places, layers):
            one = here.sel(layer=layer)
            violin(right, place + shift, one.bin.values, one.coef_count.values, one.coef_median.item(), colour, width=0.07)
    left.set(ylabel="1 − cosine, half-way", ylim=(0, 1.08 * float(part.gap_high.max())), title="Direction")
    right.set(ylabel="coef, half-way", ylim=(0, 1.3), title="Length")
    right.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    for ax in (left, right):
        layer_ticks(ax, layers)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    said = "; ".join(f"{setting} gap {part.gap_mean.sel(setting=setting).min().item():.3f} to {part.gap_mean.sel(setting=setting).max().item():.3f}, coef "
                     f"{part.coef_mean.sel(setting=setting).min().item():.2f} to {part.coef_mean.sel(setting=setting).max().item():.2f}" for setting in SETTINGS)
    return plotting.show(fig, f"Half-way between networks of two tasks, three hidden layers: {said}.", caption(sweep) + " Left: mean and quartiles over the images; "
        "right: distribution, line: median.")


def reading_of_figure_11(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 11 of CTL and ours, with this sweep's numbers."""
    of = experiment.claim_14(sweep)
    agrees = of["no_matching_gap"] > of["weight_matching_gap"] > of["pretrained_gap"] and of["activation_matching_gap"] > of["pretrained_gap"]
    text = (f"{'Agrees' if agrees else 'Does not agree here'}: the mean gap in the hidden layers is {of['no_matching_gap']:.3f} for strangers, "
            f"{of['weight_matching_gap']:.3f} and "
            f"{of['activation_matching_gap']:.3f} after matching their weights or activations, {of['pretrained_gap']:.3f} for networks pretrained together; coef is "
            f"{of['no_matching_coef']:.2f}, "
            f"{of['weight_matching_coef']:.2f}, {of['activation_matching_coef']:.2f} and {of['pretrained_coef']:.2f}. Not in the source: two networks that merely began "
            f"from the same random weights, "
            f"and never shared a training image, have {of['one_random_start_gap']:.3f}, coef {of['one_random_start_coef']:.2f}. So most of the difference to strangers "
            f"is not what pretraining "
            "taught. It is that both networks started in one place.")
    return Page(text, f"<p><b>Figure 11 of CTL, and ours.</b> {text}</p>")


def accuracies(sweep: xarray.Dataset) -> Page:
    """Accuracy of every network on its own task, as a table."""
    rows = list(zip(map(str, sweep.model.values), sweep.own_accuracy.values))
    return table(("start, and the task it learned", "accuracy on that task"), [(name, f"{value:.3f}") for name, value in rows], "; ".join(f"{name} {value:.3f}" for name, value in rows))
