"""Panel (d): γ from −1 to 2 on small MNIST, and what distances propose."""
import numpy as np
import xarray
from matplotlib.ticker import FixedLocator

from lessons.kit import plotting
from lessons.kit.page import Page, quiet, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Bars, Look, curve, here, level, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, still
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, names
from lessons.sail.experiment import gamma
from lessons.sail.experiment.digits import ONE, THIRDS

LOSS, DISTANCE, RANDOM, NEAR = Look(BLACK, "D"), Look(ORANGE, "s"), Look(GREY, "", "--"), Look(GREEN, "", "-.")
MMD, PRINTED = "MMD, images with labels", "as printed"
LEAST = 1e-3
ASKED = {"pair": f"{THIRDS.name}; {ONE}", "steps": 50}


def pairs(sweep: xarray.Dataset) -> dict[str, xarray.Dataset]:
    """{"case; start": the sweep's part} of all that were trained."""
    parts = {}
    for case in names(sweep.case):
        for start in names(sweep.start):
            part = sweep.sel(case=case, start=start)
            if part.loss.notnull().all():
                parts[f"{case}; {start}"] = part
    return parts


@panel
def along(sweep: xarray.Dataset, prediction=None):
    """Panel (d): the loss on the target after some steps along γ, beside a random start's after as many and the better
    parent's alone; the distance from a network that learned the target; and which share of the gain over random the
    better parent has by itself.

    Controls: steps, pair. The prediction, that share after 50 steps, is a star.
    """
    fig, (left, middle, right) = plotting.figure(3, height=4.2, width_ratios=(6, 4, 4))
    parts = pairs(sweep)
    loss = curve(left, LOSS, "θᴾ", markersize=4, linewidth=1.5)
    random, near = level(left, RANDOM, "random start"), level(left, NEAR, "better parent alone")
    marks = {rule: here(left, color=colour, linestyle=line, linewidth=1.6)
             for rule, colour, line in ((MMD, BLUE, "-"), (PRINTED, RED, ":"))}
    distance = curve(middle, DISTANCE, "θᴾ", markersize=4, linewidth=1.5)
    random_distance = level(middle, RANDOM)
    steps_values = [int(steps) for steps in sweep.steps.values]
    bars = Bars(right, range(len(steps_values)), GREEN, lambda value: f"{value:.2f}", fontsize=9.5)
    _axes(left, middle, right, sweep)
    star = Star(right, prediction, steps_values.index(50), float(gain_shares(parts[ASKED["pair"]], sweep)[1]), ASKED)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    titles = moving_titles((left, middle, right))

    def draw(steps, pair):
        part = parts[pair]
        loss.set_data(sweep.gamma, part.loss.sel(steps=steps))
        numbers = _numbers(sweep, part, steps, pair)
        for line, name in ((random, "random"), (near, "near")):
            line.set_ydata([numbers[name]] * 2)
        for rule, line in marks.items():
            line.set_xdata([float(part.proposed.sel(rule=rule).clip(-1, 2))] * 2)
        distance.set_data(sweep.gamma, part.distance)
        random_distance.set_ydata([float(part.random_distance)] * 2)
        shares = gain_shares(part, sweep)
        bars.set_values(shares)
        star.place(steps=steps, pair=pair)
        titles[0].set_text(_minus(said("{steps} steps: best γ = {best:g}", **numbers)))
        titles[1].set_text(_minus(said("Nearest: γ = {nearest:g}", **numbers)))
        titles[2].set_text(said("{share:.2f} of it", share=shares[steps_values.index(steps)]))
        return said("""{pair}. After {steps} steps the loss is lowest, {lowest:.3f}, at γ = {best:g}; at γ = ½ it is
                       {half:.3f}, from the better parent alone {near:.3f}, from random weights {random:.3f}. MMD
                       proposes γ = {mmd:.2f}, the formula as printed {printed:.2f}. Nearest to θ* is γ = {nearest:g},
                       at a distance of {distance:.1f}; a random start is {random_distance:.1f} from it.""", **numbers)

    controls = {"steps": slider("steps on the target", steps_values, 50),
                "pair": choice("parents", parts.keys())}
    return controls, fig, draw, f"{caption(sweep)} Lines left: blue, γ by MMD; red dotted, by the formula as printed."


def _axes(left, middle, right, sweep):
    """Scales, limits and labels."""
    left.set(yscale="log", xlabel="γ (share of θ₁)", ylabel="loss on the target (nats, log scale)", xlim=(-1.05, 2.05),
             ylim=(0.25, 9))
    left.yaxis.set_major_locator(FixedLocator([0.3, 0.5, 1, 2, 5]))
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_locator(FixedLocator([]))
    middle.set(xlabel="γ", ylabel="distance from θ*", xlim=(-1.05, 2.05),
               ylim=(0, 1.05 * float(sweep.distance.max())))
    right.set(xlabel="steps", ylabel="parent's share of the gain", ylim=(0, 1.15), xlim=(-0.6, 3.6))
    right.set_xticks(range(sweep.sizes["steps"]), [str(int(steps)) for steps in sweep.steps.values])


def _minus(text):
    return text.replace("-", "−")


def gain_shares(part: xarray.Dataset, sweep: xarray.Dataset) -> np.ndarray:
    """(steps,): which share of the best γ's gain over a random start the better parent alone has; 0 where the best γ
    gains nothing."""
    random = sweep.random_loss.sel(case=part.case).mean("again")
    near = part.loss.sel(gamma=[0.0, 1.0]).min("gamma")
    best = part.loss.min("gamma")
    gain = (random - best).values
    share = ((random - near) / (random - best)).values
    return np.where(gain > LEAST, share, 0).clip(0, 1)


def _numbers(sweep, part, steps, pair):
    loss = part.loss.sel(steps=steps)
    return {"pair": pair, "steps": steps, "best": float(loss.idxmin("gamma")), "lowest": float(loss.min()),
            "half": float(loss.sel(gamma=0.5)), "near": float(loss.sel(gamma=[0.0, 1.0]).min()),
            "random": float(sweep.random_loss.sel(case=part.case, steps=steps).mean()),
            "mmd": float(part.proposed.sel(rule=MMD)), "printed": float(part.proposed.sel(rule=PRINTED)),
            "nearest": float(part.distance.idxmin("gamma")), "distance": float(part.distance.min()),
            "random_distance": float(part.random_distance)}


# -- nearer, and no lower --------------------------------------------------------------------------

_STARTS = {"one start": Look(BLUE, "o"), "two starts": Look(ORANGE, "s"), "two starts, matched": Look(GREEN, "^")}


@still
def nearer_is_not_lower(sweep: xarray.Dataset):
    """Distance from a network that learned the target, against the loss before any step: parents, mixtures of them,
    random weights, and no weights at all."""
    fig, axes = plotting.figure(3, height=3.6, sharey=True)
    told = []
    for ax, (start, look) in zip(axes, _STARTS.items()):
        part = sweep.sel(case=THIRDS.name, start=start)
        inside = part.where((part.gamma >= 0) & (part.gamma <= 1), drop=True)
        loss = inside.loss.sel(steps=0)
        ax.plot(inside.distance, loss, color=look.colour, marker=look.marker, label="γ from 0 to 1")
        random = float(sweep.random_loss.sel(case=THIRDS.name, steps=0).mean())
        points = {"random weights": (float(part.random_distance), random, "X", BLACK),
                  "all weights 0": (float(part.target_norm), np.log(10), "P", PURPLE),
                  "θ* itself": (0.0, float(part.target_loss), "*", RED)}
        for name, (x, y, marker, colour) in points.items():
            ax.plot([x], [y], color=colour, marker=marker, markersize=9, linestyle="", label=name)
        ax.set(title=start.capitalize(), xlabel="distance from θ*", xlim=(-0.7, 15.5))
        nearest = int(np.argmin(inside.distance.values))
        told.append(f"{start}: nearest at {float(inside.distance[nearest]):.1f} with loss {float(loss[nearest]):.2f}, "
                    f"the second parent at {float(inside.distance[0]):.1f} with {float(loss[0]):.2f}, "
                    f"random weights at {float(part.random_distance):.1f} with {random:.2f}")
    axes[0].set_ylabel("loss on the target, no step yet (nats)")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=4)
    return plotting.show(fig, f"Distance against loss. {'; '.join(told)}.", caption(sweep))


def proposals(sweep: xarray.Dataset) -> Page:
    """What each rule proposes, and the best γ after every number of steps."""
    rows = []
    for name, part in pairs(sweep).items():
        best = [f"{float(part.loss.sel(steps=steps).idxmin('gamma')):g}" for steps in part.steps.values]
        rows.append((name, *(f"{float(part.proposed.sel(rule=rule)):.2f}" for rule in gamma.RULES),
                     ", ".join(best)))
    steps = ", ".join(str(int(steps)) for steps in sweep.steps.values)
    heads = ("parents", *gamma.RULES, f"best after {steps} steps")
    return table(heads, rows, after=quiet(caption(sweep)))


def reading_of_figure_2b(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 2b of SAIL and ours, with this sweep's numbers."""
    numbers = gamma.claim_5(sweep)
    return reading("Figure 2b of the source, and ours", """
        Thirds by brightness, one start. The best γ is beyond the nearer parent, as in the source: {best_0:g} before any
        step, {best_50:g} after 50. From random weights the loss is {random_0:.2f} before any step and {random_50:.2f}
        after 50; from θᴾ at the best γ it is {lowest_50:.3f} after 50. The nearer parent alone has {near_50:.3f}: that
        is {share_50:.0%} of what θᴾ gains, and {share_200:.0%} after 200 steps.""", **numbers)


def reading_of_the_formula(sweep: xarray.Dataset) -> Page:
    """The γ that MMD proposes, against the best one, with this sweep's numbers."""
    numbers = gamma.claim_4(sweep)
    return reading("γ by MMD, and the best γ", """
        On the thirds by brightness MMD proposes {mmd:.2f} with labels and {inputs:.2f} from images alone; the formula
        as printed {printed:.2f}. Before any step that costs {cost_mmd:.3f} nats beside the best γ, and
        {cost_printed:.2f} as printed. Half-way between turned digits MMD proposes {inside_mmd:.2f}, and it costs
        {inside_cost:.3f}. From two starts the nearest point by distances of parameters is at {strangers_nearest:.2f},
        and costs {strangers_cost:.2f}: it lies on top of the barrier.""", **numbers)
