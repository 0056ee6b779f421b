"""How much pretraining it takes."""
import numpy as np
import xarray
from matplotlib.ticker import PercentFormatter

from lessons.kit import plotting
from lessons.kit.noise import Difference, error_of_share
from lessons.kit.page import Markup, Page, paragraph, quiet, said, table
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, curve, moving_titles
from lessons.kit.plotting import BLUE, COLOURS, GREY, MARKERS, ORANGE, WithQuartiles, still
from lessons.kit.predict import Star
from lessons.kit.sweep import at, caption, names, position
from lessons.lines.panels import layer_ticks, said_of, treatments
from lessons.resnet.panels.pairs import chance_line, error_in_words

_SHOWN = {"network": ("half-way", Look(BLUE, "o"), -0.15), "mixed": ("mixed outputs", Look(ORANGE, "s"), 0.0),
          "ends": ("the ends, own tasks", Look(GREY, "D"), 0.15)}


@panel
def pretraining(sweep: xarray.Dataset, prediction=None):
    """CTL against the amount of pretraining: the gap per block as a share of the ends' own distance; right, the
    accuracy of the network half-way, of the mixed outputs, and of the two ends on their own tasks.

    Controls: alpha, treatment. The prediction, the share in block 8 without any pretraining, is a star.
    """
    fig, axes, looks = _two_axes(sweep)
    curves = [curve(axes[0], look, label) for label, look in looks.items()]
    marks = _marks(axes[1], sweep)
    _legends(axes)
    titles = moving_titles(axes)
    ratio = (sweep.gap_mean / sweep.own_mean).transpose("treatment", "alpha", "amount", "layer")
    layers = names(sweep.layer)
    asked = {"treatment": "interpolated", "alpha": 0.5}
    none = at(ratio.to_dataset(name="ratio"), layer="block 8", **asked).ratio.isel(amount=0).item()
    star = Star(axes[0], prediction, layers.index("block 8"), none, asked)
    scores = {str(treatment): _scores(sweep, treatment) for treatment in sweep.treatment.values}

    def draw(alpha, treatment):
        now = ratio.sel(treatment=treatment).isel(alpha=position(sweep.alpha.values, alpha)).values
        for line, row in zip(curves, now):
            line.set_data(range(len(layers)), row)
        _place(marks, scores[treatment], sweep)
        titles[0].set_text(f"Gap at α = {alpha:.2f}{said_of(treatment)}")
        titles[1].set_text("Accuracy, both tasks")
        star.place(alpha=alpha, treatment=treatment)
        return said("""CTL between splits 1 and 2 against the amount of pretraining at α = {alpha:.2f}{treated}:
                       {numbers}.""", alpha=alpha, treated=said_of(treatment),
                    numbers=_in_words(sweep, now, scores[treatment]))

    two = {"alpha": slider("α", [float(alpha) for alpha in sweep.alpha.values], 0.5), "treatment": treatments(sweep)}
    return two, fig, draw, _caption(sweep)


@still
def all_amounts(sweep: xarray.Dataset, treatment: str = "re-estimated"):
    """The panel's picture, half-way: for a sweep that may be of another profile than the chapter's."""
    fig, axes, looks = _two_axes(sweep)
    part = sweep.sel(treatment=treatment, alpha=0.5)
    ratio = (part.gap_mean / part.own_mean).transpose("amount", "layer").values
    for (label, look), row in zip(looks.items(), ratio):
        axes[0].plot(range(len(row)), row, color=look.colour, marker=look.marker, label=label)
    scores = _scores(sweep, treatment)
    _place(_marks(axes[1], sweep, animated=False), scores, sweep)
    _legends(axes)
    axes[0].set_title(f"Gap half-way, BatchNorm statistics {treatment}")
    axes[1].set_title("Accuracy, both tasks")
    alt = f"CTL half-way against the amount of pretraining: {_in_words(sweep, ratio, scores)}."
    return plotting.show(fig, alt, _caption(sweep))


def _two_axes(sweep):
    """The figure, its axes over the layers and over the amounts, and {label: look} of every amount."""
    fig, axes = plotting.figure(2, height=5.2, width_ratios=(3, 2))
    inside = (sweep.gap_mean / sweep.own_mean).sel(alpha=slice(0.01, 0.99))
    layer_ticks(axes[0], names(sweep.layer))
    axes[0].set(ylabel="gap, share of own distance", ylim=(0, 1.1 * float(inside.max())))
    axes[0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    amounts = names(sweep.amount)
    axes[1].set(ylim=(0, 1), ylabel="accuracy", xlim=(-0.5, len(amounts) - 0.5))
    axes[1].set_xticks(range(len(amounts)), [amount.replace(", ", ",\n") for amount in amounts],
                       rotation=0 if len(amounts) < 4 else 40, ha="center" if len(amounts) < 4 else "right")
    axes[1].grid(False, axis="x")
    chance_line(axes[1])
    looks = {}
    for amount, steps, colour, marker in zip(amounts, sweep.steps.values, COLOURS, MARKERS):
        looks[f"{amount} ({steps:,} steps)"] = Look(colour, marker)
    return fig, axes, looks


def _marks(ax, sweep, animated=True):
    """Markers with standard errors over the amounts, for everything in `_SHOWN`."""
    places = np.arange(sweep.sizes["amount"])
    return {name: WithQuartiles(ax, places + shift, look.colour, look.marker, label, animated)
            for name, (label, look, shift) in _SHOWN.items()}


def _legends(axes):
    """Below each of the axes: what its series are."""
    axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2, title="pretrained on")
    axes[1].legend(loc="lower center", bbox_to_anchor=(0.5, 1.06), ncols=1)


def _scores(sweep, treatment):
    """Accuracies over the amounts, both tasks together, of the half-way network, the mixed outputs, and the ends."""
    part = sweep.sel(treatment=treatment)
    half_way = part.sel(place="half-way")
    ends = [part.right.sel(place="θᵢ", task="i"), part.right.sel(place="θⱼ", task="j")]
    return {"network": half_way.right.astype(float).mean(["task", "image"]).values,
            "mixed": half_way.mixed_right.astype(float).mean(["task", "image"]).values,
            "ends": np.mean([end.astype(float).mean("image").values for end in ends], axis=0)}


def _place(marks, scores, sweep):
    """Move the markers to what was measured."""
    for name, values in scores.items():
        error = np.array([error_of_share(value, 2 * sweep.sizes["image"]) for value in values])
        marks[name].set_values(values, values - error, values + error)


def _in_words(sweep, ratio, scores):
    """Every amount's numbers; ratio is (amounts, layers)."""
    layers = names(sweep.layer)
    words = []
    for amount, row, *accuracies in zip(map(str, sweep.amount.values), ratio, *scores.values()):
        numbers = dict(zip(scores, accuracies))
        words.append(said("""pretrained on {amount}: share of own distance {first:.3f} in block 1, {last:.3f} in block
                             8, accuracy half-way {network:.3f}, mixed outputs {mixed:.3f}, the ends on their own tasks
                             {ends:.3f}""",
                          amount=amount, first=row[0], last=row[layers.index("block 8")], **numbers))
    return "; ".join(words)


def _caption(sweep):
    return f"{caption(sweep)} Bars: standard errors. {error_in_words(sweep)}"


# -- in words --------------------------------------------------------------------------------------

def reading_of_amounts(sweep: xarray.Dataset, treatment: str = "re-estimated") -> Page:
    """What the amount of pretraining changes, with this sweep's numbers, half-way between the two networks."""
    part = sweep.sel(treatment=treatment, alpha=0.5)
    share = part.gap_mean / part.own_mean
    scores = _scores(sweep, treatment)
    head = ("pretrained on", "steps", "the ends, own tasks", "half-way", "mixed outputs", "gap / own distance, block 1",
            "gap / own distance, block 8", "coef, block 8")
    rows = []
    for place, amount in enumerate(map(str, part.amount.values)):
        now = part.sel(amount=amount)
        of_amount = share.sel(amount=amount)
        rows.append((amount, f"{now.steps.item():,}", f"{scores['ends'][place]:.2f}", f"{scores['network'][place]:.2f}",
                     f"{scores['mixed'][place]:.2f}", f"{of_amount.sel(layer='block 1').item():.0%}",
                     f"{of_amount.sel(layer='block 8').item():.0%}",
                     f"{now.coef_mean.sel(layer='block 8').item():.2f}"))
    in_block_8 = share.sel(layer="block 8")
    verdict = said("""From the first row to the last, the gap in block 8 goes from {first:.0%} to {last:.0%} of the
                      ends' own distance, the accuracy half-way from {before:.2f} to {after:.2f} ({verdict}).""",
                   first=in_block_8[0].item(), last=in_block_8[-1].item(), before=scores["network"][0],
                   after=scores["network"][-1], verdict=_compared(sweep, scores["network"], 0, -1))
    verdict += " " + _at_equal_steps(sweep, in_block_8.values, scores["network"])
    return table(head, rows, verdict.strip(), after=paragraph(verdict) + quiet(_caption(sweep)))


def _compared(sweep, accuracy, first, second):
    """Whether two accuracies differ, in words."""
    change = Difference.of(accuracy[second], accuracy[first], 2 * sweep.sizes["image"])
    return f"by {change} points{change.doubt()}"


def _at_equal_steps(sweep, shares, accuracy):
    """More steps or more variety: a sentence, or nothing where not all of the networks for that were pretrained."""
    amounts = {str(amount): place for place, amount in enumerate(sweep.amount.values)}
    wanted = ("1 split, 10 passes", "1 split, 20 passes", "10 splits, 2 passes")
    if not amounts.keys() >= set(wanted):
        return ""
    once, twice, varied = (amounts[name] for name in wanted)
    return said(Markup("""
                   <b>More steps or more variety?</b> Twice the steps on the same split: block 8 goes from {once:.0%}
                   to {twice:.0%}, the accuracy half-way changes {longer}. As many steps on ten splits, none of them
                   a finetuning task: {varied:.0%}, and beside twice the steps the accuracy changes {wider}."""),
                once=shares[once], twice=shares[twice], varied=shares[varied],
                longer=_compared(sweep, accuracy, once, twice), wider=_compared(sweep, accuracy, twice, varied))


def more_pretraining(sweep: xarray.Dataset | None):
    """The amounts that profile "full" measures, in every profile, where the repository or the profile has them."""
    if sweep is None:
        text = said("""Profile “full” also pretrains on 5, 10 and all 20 splits. What it measured is not in this copy
                       of the course. experiment.amounts.run("full") trains these eighteen networks of width 16
                       and measures them.""")
        return Page(text, Markup("<p><i>{}</i></p>").format(text))
    picture, words = all_amounts(sweep), reading_of_amounts(sweep)
    return Page(words.text, Markup(picture.data) + words.page)
