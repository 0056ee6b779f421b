"""What one more training step on a few images does to a network."""
import numpy as np
import xarray
from matplotlib.ticker import FixedLocator, NullLocator

from lessons.kit import plotting
from lessons.kit.noise import error_of_share
from lessons.kit.page import Page, reading, said
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, cloud, moving_titles
from lessons.kit.plotting import BLACK, GREEN, GREY
from lessons.kit.predict import Star
from lessons.kit.sweep import caption
from lessons.resnet.experiment.steps import costs
from lessons.resnet.panels.pairs import LOOKS, chance_line

_NAMES = {"interpolated": ("running statistics", "--"), "re-estimated": ("statistics estimated anew", "-.")}


@panel
def small_steps(sweep: xarray.Dataset, prediction=None):
    """What one training step on so many images does: accuracy after it, a point a draw, beside that before it; right,
    how far it moved the weights.

    Control: images. The prediction, the mean accuracy after a step on four with running statistics, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.2, width_ratios=(3, 2))
    counts = list(map(int, sweep.images.values))
    draws = sweep.sizes["draw"]
    accuracy = sweep.right.astype(float).mean("image").transpose("treatment", "images", "draw")
    before = sweep.right_before.astype(float).mean("image")
    left.set(ylim=(0, 1), xlim=(-0.8, draws + 1.8), ylabel="accuracy on its own task")
    left.set_xticks([(draws - 1) / 2, draws + 1], [f"{draws} draws of the images, worst first", "mean"])
    left.tick_params(axis="x", length=0)
    left.grid(False, axis="x")
    left.axvline(draws, color=GREY, linewidth=0.8, marker="")
    chance_line(left)
    clouds = {}
    for treatment, (name, line) in _NAMES.items():
        look = LOOKS[treatment]
        level = before.sel(treatment=treatment).item()
        left.axhline(level, color=look.colour, linestyle=line, linewidth=1.4, marker="",
                     label=f"{name}, before the step")
        clouds[treatment] = cloud(left, Look(look.colour, look.marker), f"{name}, after it", markersize=7)
    moved = sweep.moved.transpose("images", "draw").values
    right.plot(np.repeat(counts, moved.shape[1]), moved.ravel(), color=GREEN, marker="^", linestyle="", alpha=0.7)
    right.set(xscale="log", yscale="log", xlabel="images in the step", ylabel="‖Δθ‖",
              xlim=(0.7 * counts[0], 1.4 * counts[-1]))
    ticks = [length for length in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
             if 0.7 * moved.min() < length < 1.4 * moved.max()]
    right.yaxis.set_major_locator(FixedLocator(ticks))
    right.set_yticklabels([f"{length:g}" for length in ticks])
    right.set_xticks(counts, counts)
    for axis in (right.xaxis, right.yaxis):
        axis.set_minor_locator(NullLocator())
    ring = cloud(right, Look(BLACK, "o"), markersize=12, markerfacecolor="none")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    titles = moving_titles((left, right))
    titles[1].set_text("Length of the step")
    asked = {"images": 4}
    mean_at = draws + 1
    star = Star(left, prediction, mean_at, accuracy.sel(treatment="interpolated", images=4).mean().item(), asked)

    def draw(images):
        now = accuracy.sel(images=images)
        order = np.argsort(now.sel(treatment="interpolated").values)
        for (treatment, points), shift in zip(clouds.items(), (-0.12, 0.12)):
            values = now.sel(treatment=treatment).values
            points.set_data(np.append(np.arange(draws), mean_at) + shift, np.append(values[order], values.mean()))
        lengths = sweep.moved.sel(images=images).values
        ring.set_data(np.full(draws, images), lengths)
        cost = costs(sweep, images)
        titles[0].set_text(f"After a step on {images} images: {-cost['running']:+.0f} points, "
                           f"with new statistics {-cost['anew']:+.0f}")
        star.place(images=images)
        return said("""Accuracy after one more training step on {images} images, mean over {draws} draws:
                       {running:.3f} with running statistics, {anew:.3f} with new ones; before the step {before:.3f}
                       and {anew_before:.3f}. The mean length of the step is {length:.3f}.""",
                    images=images, draws=draws, running=now.sel(treatment="interpolated").mean().item(),
                    anew=now.sel(treatment="re-estimated").mean().item(), before=before.values[0],
                    anew_before=before.values[1], length=lengths.mean())

    error = 100 * error_of_share(0.5, sweep.sizes["image"])
    below = f" Standard error of an accuracy: at most {error:.1f} points."
    return {"images": slider("images in the step", counts, 4)}, fig, draw, caption(sweep) + below


def reading_of_steps(sweep: xarray.Dataset) -> Page:
    """What the step costs, and whether new statistics repair it, draw by draw."""
    few, many = costs(sweep, 4), costs(sweep, 64)
    unclear = few["draws"] - few["repair"] - few["worsen"]
    return reading("What you should have seen", """
        A step on 4 images costs {running:.0f} points on average, and more than two standard errors in {running_draws}
        of {draws} draws. An ordinary step on 64 costs {usual:.1f} ({usual_draws} of {draws} draws): with this learning
        rate the accuracy goes up and down a little from step to step. Do new statistics repair the network? They are
        {gain_after:+.1f} points better than the running ones after the step on 4, but they were {gain_before:+.1f}
        better before it. With new statistics before and after, the step costs {anew:.0f} points. They make up for some
        of it in {repair} of {draws} draws, and add to it in {worsen}; in {kept} it cannot be told.""",
        usual=many["running"], usual_draws=many["running_draws"], kept=unclear, **few)
