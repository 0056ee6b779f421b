"""Panel (a): two parents on Spirals, mixed and trained on."""
import matplotlib as mpl
import numpy as np
import xarray

import data
from lessons.kit import plotting
from lessons.kit.page import Page, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, names
from lessons.sail.experiment import spirals
from lessons.sail.panels.width import labels_of
from lessons.start.algorithms import decision_map, grid

EXTENT = 1.2
ARMS = (Look(BLUE, "o"), Look(ORANGE, "s"))
COLOURS = mpl.colors.LinearSegmentedColormap.from_list("arms", ["#8dbfe0", "#fafafa", "#f6cf7d"])
MIX, FIRST, SECOND = Look(BLACK, "D"), Look(GREEN, "^"), Look(PURPLE, "v")
LOSS, SLOPE = Look(BLACK, "D"), Look(RED, "P", "--")
ASKED = {"setting": str(spirals.SOME[1]), "gamma": 0.5}


@panel
def starts(sweep: xarray.Dataset, prediction=None):
    """Panel (a): what θᴾ says of the plane before training; its loss over the epochs beside the parents' and random
    starts'; and along γ, the mean loss and the mean length of the gradient, in units of a random start's.

    Controls: gamma, setting. The prediction, the mean loss half-way between parents of one arm each, is a star.
    """
    fig, (left, middle, right) = plotting.figure(3, height=4.3, width_ratios=(4, 5, 5))
    chart = _Map(left)
    curves = _epochs_axis(middle, sweep)
    relative = {"loss": spirals.relative(sweep), "slope": sweep.mean_slope / sweep.random_mean_slope.mean("start")}
    along = _gamma_axis(right, relative)
    upright = here(right)
    star = Star(right, prediction, 0.5, float(relative["loss"].sel(ASKED)), ASKED)
    fig.legend(*labels_of(middle, right), loc="outside lower center", ncols=6)
    titles = moving_titles((left, middle, right))
    gammas = sweep.gamma.values

    def draw(gamma, setting):
        loss = sweep.loss.sel(setting=setting)
        chart.show(spirals.network_at(sweep, setting, gamma))
        for line, share in zip(curves, (gamma, 1.0, 0.0)):
            line.set_data(sweep.epoch, loss.sel(gamma=share))
        for name, line in along.items():
            line.set_data(gammas, relative[name].sel(setting=setting))
        upright.set_xdata([gamma, gamma])
        star.place(gamma=gamma, setting=setting)
        numbers = _numbers(sweep, relative, setting, gamma)
        titles[0].set_text(said("Before training, γ = {gamma:g}", **numbers))
        titles[1].set_text(said("After {epochs} epochs: loss {end:.2g}", **numbers))
        titles[2].set_text(said("{loss:.2g} times a random start's loss", **numbers))
        return said("""Parents: {setting}. γ = {gamma:.2f}. Mean loss over training {loss:.2f} times that of random
                       starts; the parents alone {first:.2f} and {second:.2f} times. Mean length of the gradient
                       {slope:.2f} times. Accuracy on test points before training {before:.2f}, after {epochs} epochs
                       {after:.3f}.""", **numbers)

    controls = {"gamma": slider("γ (share of θ₁)", [float(gamma) for gamma in gammas], 0.5),
                "setting": choice("the parents learned", sweep.setting.values)}
    remarks = "Grey band: eight random starts. Points: every eighth test point."
    return controls, fig, draw, f"{caption(sweep)} {remarks}"


class _Map:
    """What a network thinks of every point of the plane, with test points."""

    def __init__(self, ax):
        self._grid = grid(60, EXTENT)
        self._image = ax.imshow(np.zeros((60, 60, 3)), origin="lower", extent=(-EXTENT, EXTENT) * 2,
                                interpolation="none", animated=True)
        test = data.load("spirals", "test")
        for arm, look in enumerate(ARMS):
            dots = cloud(ax, look, markersize=4, markeredgecolor="white", markeredgewidth=0.5)
            dots.set_data(*test.x[test.y == arm][::8].T.numpy())
        ax.set(xlabel="x₁", ylabel="x₂", xlim=(-EXTENT, EXTENT), ylim=(-EXTENT, EXTENT))
        ax.grid(False)

    def show(self, network):
        """The probability of the second arm."""
        probability = decision_map(network, self._grid).numpy()
        self._image.set_data(COLOURS(probability)[..., :3])


def _epochs_axis(ax, sweep):
    """The random starts as a band, and three curves that move."""
    random = sweep.random_loss
    ax.fill_between(sweep.epoch, random.min("start"), random.max("start"), color=GREY, alpha=0.35, linewidth=0,
                    label="random starts")
    ax.set(yscale="log", xlabel="epochs on all points", ylabel="training loss (nats, log scale)",
           xlim=(0, spirals.EPOCHS), ylim=(1e-3, 30))
    every = {"markevery": 10, "markersize": 5, "linewidth": 1.6}
    return [curve(ax, MIX, "θᴾ", **every), curve(ax, FIRST, "θ₁ alone (γ = 1)", **every),
            curve(ax, SECOND, "θ₂ alone (γ = 0)", **every)]


def _gamma_axis(ax, relative):
    """Two curves over γ, in units of a random start's."""
    ax.axhline(1, color=GREY, linewidth=1.2, linestyle=":", marker="")
    values = np.concatenate([array.values.ravel() for array in relative.values()])
    ax.set(yscale="log", xlabel="γ", ylabel="in units of a random start's", xlim=(-1.1, 2.1),
           ylim=(0.7 * np.nanmin(values), 1.5 * np.nanmax(values)))
    style = {"markersize": 4, "linewidth": 1.4}
    return {"loss": curve(ax, LOSS, "mean loss", **style), "slope": curve(ax, SLOPE, "mean ‖gradient‖", **style)}


def _numbers(sweep, relative, setting, gamma):
    """What titles and alternative text say."""
    loss = relative["loss"].sel(setting=setting)
    accuracy = sweep.accuracy.sel(setting=setting, gamma=gamma).values
    return {"setting": setting, "gamma": gamma, "epochs": spirals.EPOCHS,
            "loss": float(loss.sel(gamma=gamma)), "first": float(loss.sel(gamma=1.0)),
            "second": float(loss.sel(gamma=0.0)), "slope": float(relative["slope"].sel(setting=setting, gamma=gamma)),
            "end": float(sweep.end.sel(setting=setting, gamma=gamma)), "before": accuracy[0], "after": accuracy[-1]}


def summary(sweep: xarray.Dataset) -> Page:
    """A row for every pair of parents: the mean loss over training from each alone, from the average, and from the best
    γ, in units of a random start's."""
    loss = spirals.relative(sweep)
    rows = []
    for setting in names(sweep.setting):
        along = loss.sel(setting=setting)
        best = float(along.idxmin("gamma"))
        rows.append((setting, f"{float(along.sel(gamma=0.0)):.2f}", f"{float(along.sel(gamma=1.0)):.2f}",
                     f"{float(along.sel(gamma=0.5)):.2f}", f"{float(along.min()):.2f} (γ = {best:g})",
                     f"{float(sweep.apart.sel(setting=setting)):.1f}"))
    return table(("the parents learned", "θ₂ alone", "θ₁ alone", "γ = ½", "best γ", "‖θ₁ − θ₂‖"), rows)


def reading_of_figure_8(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 8 and 9 of SAIL and ours, with this sweep's numbers."""
    numbers = spirals.claim_10(sweep)
    return reading("Figures 8 and 9 of the source, and ours", """
        With one arm each, as it is written: at no γ is the mean loss below {arms_least:.2f} times a random start's;
        at γ = ½ it is {arms_half:.2f} times, with a mean gradient {arms_slope:.2f} times as long, and a parent alone
        has {arms_parent:.1f} times. With a sample of both arms each, the average has {samples_half:.2f} times from one
        start, {strangers_half:.2f} from two, {matched_half:.2f} from two after matching; and one parent alone, which
        nobody mixed with anything, {samples_parent:.2f}.""", **numbers)
