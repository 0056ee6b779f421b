"""The pictures of chapter 2 that are about ResNet-18, its blocks and BatchNorm; those of any sweep over pairs are in
`lines`."""
import numpy as np
import xarray
from matplotlib.ticker import PercentFormatter

from lessons.kit import claims, plotting
from lessons.kit.page import Page, reading, said, table
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, moving_titles
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, PURPLE, RED, layer_ticks, still
from lessons.kit.predict import Star
from lessons.kit.sweep import at, caption, position
from lessons.linearity.experiment.resnet import by_depth
from lessons.linearity.panels import lines
from lessons.linearity.panels.lines import ALPHA, by_choice, controls, said_of, treatments

_LOOKS = {"interpolated": Look(BLUE, "o"), "re-estimated": Look(ORANGE, "s"), "batch": Look(GREEN, "^")}


# -- coef per block --------------------------------------------------------------------------------

@panel
def coef_per_block(sweep: xarray.Dataset):
    """The distribution of coef over the images, one upright shape a block, with its median. Controls: alpha, pair,
    treatment."""
    layers = list(map(str, sweep.layer.values))
    fig, ax = plotting.figure(height=3.6)
    places = layer_ticks(ax, layers)
    ax.set(ylim=(0, 1.5), ylabel="coef")
    ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    shapes = _Shapes(ax, places, sweep.bin.values)
    title, = moving_titles((ax,))
    found = by_choice(sweep, "coef_count", "coef_median", "coef_mean")
    found = {place: line.transpose("alpha", "layer", "bin") for place, line in found.items()}

    def draw(alpha, pair, treatment):
        now = found[pair, treatment].isel(alpha=position(sweep.alpha.values, alpha))
        medians = now.coef_median.values
        shapes.set_values(now.coef_count.values, medians)
        title.set_text(f"coef for {pair} at α = {alpha:.2f}{said_of(treatment)}; numbers: medians")
        numbers = ", ".join(f"{layer} {median:.2f}" for layer, median in zip(layers, medians))
        return f"Distribution of coef per block for {pair} at α = {alpha:.2f}{said_of(treatment)}. Medians: {numbers}."

    below = " Width: share of the images; what lies above 1.5 is counted there."
    return controls(sweep), fig, draw, caption(sweep) + below


class _Shapes:
    """Distributions that stand upright side by side, each with its median as a line and a number, and all moving."""

    def __init__(self, ax, places, bins):
        self._places = places
        self._bins = bins
        filled = {"alpha": 0.75, "linewidth": 0, "animated": True}
        self._shapes = [ax.fill([], [], color=COLOURS[place % len(COLOURS)], **filled)[0] for place in places]
        self._medians = [curve(ax, Look(BLACK), linewidth=1.2) for _ in places]
        text = {"ha": "center", "va": "top", "fontsize": 9, "animated": True}
        self._texts = [ax.text(place, 1.5, "", **text) for place in places]

    def set_values(self, counts, medians):
        """Counts (places, bins) and medians (places,)."""
        for place, count, median in zip(self._places, counts, medians):
            inside = np.flatnonzero(count)
            part = slice(inside[0], inside[-1] + 1)
            half = 0.42 * count[part] / count.max()
            bins = self._bins[part]
            around = np.append(place - half, (place + half)[::-1])
            self._shapes[place].set_xy(np.column_stack([around, np.append(bins, bins[::-1])]))
            self._medians[place].set_data([place - 0.42, place + 0.42], [min(median, 1.5)] * 2)
            self._texts[place].set_text(f"{median:.2f}")


# -- BatchNorm, side by side -----------------------------------------------------------------------

@panel
def batchnorm_side_by_side(sweep: xarray.Dataset, prediction=None):
    """The three treatments of BatchNorm: gap and coef per block, and the accuracy along the line beside that of the
    mixed outputs.

    Controls: alpha, pair. The prediction, the accuracy half-way with interpolated statistics, is a star.
    """
    fig, (left, middle, right) = plotting.figure(3, height=3.8)
    places = _three_axes(left, middle, right, sweep)
    curves = {}
    for treatment, look in _LOOKS.items():
        curves[treatment] = [curve(ax, look, treatment) for ax in (left, middle, right)]
    mixed = curve(right, Look(BLACK, "", "--"), "mixed outputs (interpolated)")
    line = here(right)
    titles = moving_titles((left, middle, right))
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    asked = {"pair": sweep.attrs["opens_on"], "alpha": 0.5}
    truth = at(sweep, treatment="interpolated", **asked).accuracy.mean().item()
    star = Star(right, prediction, 0.5, truth, asked)
    of_both = sweep.assign(accuracy=sweep.accuracy.mean("task"), mixed_accuracy=sweep.mixed_accuracy.mean("task"))
    found = by_choice(of_both, "gap_mean", "coef_mean", "accuracy", "mixed_accuracy")
    alphas = sweep.alpha.values

    def draw(alpha, pair):
        step = position(alphas, alpha)
        numbers = []
        for treatment, (gap, coef, accuracy) in curves.items():
            part = found[pair, treatment]
            now = part.isel(alpha=step)
            gap.set_data(places, now.gap_mean)
            coef.set_data(places, now.coef_mean)
            accuracy.set_data(alphas, part.accuracy)
            numbers.append(_said_of_block_8(treatment, now))
        mixed.set_data(alphas, found[pair, "interpolated"].mixed_accuracy)
        line.set_xdata([alpha, alpha])
        for title, text in zip(titles, ("Gap", "Length", f"Accuracy, α = {alpha:.2f}")):
            title.set_text(text)
        star.place(alpha=alpha, pair=pair)
        return f"Three treatments of BatchNorm for {pair} at α = {alpha:.2f}. {'; '.join(numbers)}."

    two = {name: control for name, control in controls(sweep).items() if name != "treatment"}
    return two, fig, draw


def _three_axes(left, middle, right, sweep):
    """Gap and length over the blocks, accuracy over α; returns the places of the blocks."""
    layers = list(map(str, sweep.layer.values))
    places = layer_ticks(left, layers)
    layer_ticks(middle, layers)
    left.set(ylabel="gap (1 − cosine)", ylim=(0, 1.1 * float(sweep.gap_mean.max())))
    middle.set(ylabel="coef, mean", ylim=(0, 1.3))
    middle.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    right.set(xlabel=ALPHA, ylabel="accuracy, mean of both tasks", ylim=(0, 1), xlim=(-0.03, 1.03))
    return places


def _said_of_block_8(treatment, now):
    return said("{treatment}: accuracy {accuracy:.3f}, gap {gap:.3f} and coef {coef:.3f} in block 8",
                treatment=treatment, accuracy=now.accuracy.item(), gap=now.gap_mean.values[-2],
                coef=now.coef_mean.values[-2])


# -- how much pretraining --------------------------------------------------------------------------

@panel
def pretraining(sweep: xarray.Dataset, prediction=None):
    """CTL against the amount of pretraining: the gap per block as a share of the ends' own distance; right, the
    accuracy of the network on the line beside that of the mixed outputs.

    Controls: alpha, treatment. The prediction, the share in block 8 without any pretraining, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.0, width_ratios=(3, 2))
    ratio = sweep.gap_mean / sweep.own_mean
    places, curves = _of_amounts(left, sweep, float(ratio.sel(alpha=slice(0.01, 0.99)).max()))
    network, mixed = _half_way(right, sweep)
    titles = moving_titles((left, right))
    fig.legend(handles=curves, loc="outside lower center", ncols=3, title="pretrained on")
    asked = {"treatment": "interpolated", "alpha": 0.5}
    none = at(ratio.to_dataset(name="ratio"), **asked).ratio.isel(amount=0, layer=-2).item()
    star = Star(left, prediction, len(places) - 2, none, asked)
    found = xarray.Dataset({"ratio": ratio, "accuracy": sweep.accuracy.mean("task"),
                            "mixed_accuracy": sweep.mixed_accuracy.mean("task")})
    found = found.transpose("treatment", "alpha", "amount", "layer")
    amounts = list(map(str, sweep.amount.values))

    def draw(alpha, treatment):
        now = found.sel(treatment=treatment).isel(alpha=position(sweep.alpha.values, alpha))
        for one, row in zip(curves, now.ratio.values):
            one.set_data(places, row)
        network.set_data(range(len(amounts)), now.accuracy.values)
        mixed.set_data(range(len(amounts)), now.mixed_accuracy.values)
        titles[0].set_text(f"Gap at α = {alpha:.2f}{said_of(treatment)}")
        titles[1].set_text("Accuracy there")
        star.place(alpha=alpha, treatment=treatment)
        rows = zip(amounts, now.ratio.values, now.accuracy.values, now.mixed_accuracy.values)
        numbers = "; ".join(_said_of_amount(*row) for row in rows)
        return said("""CTL between splits 1 and 2 against the amount of pretraining at α = {alpha:.2f}{treated}:
                       {numbers}.""", alpha=alpha, treated=said_of(treatment), numbers=numbers)

    two = {"alpha": slider("α", [float(alpha) for alpha in sweep.alpha.values], 0.5), "treatment": treatments(sweep)}
    return two, fig, draw


def _of_amounts(ax, sweep, highest):
    """A curve over the blocks for every amount of pretraining; returns the places of the blocks and the curves."""
    places = layer_ticks(ax, list(map(str, sweep.layer.values)))
    ax.set(ylabel="gap, share of own distance", ylim=(0, 1.1 * highest))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    curves = []
    for amount, steps, colour, marker in zip(sweep.amount.values, sweep.steps.values, COLOURS, MARKERS):
        curves.append(curve(ax, Look(colour, marker), f"{amount} ({steps:,} steps)"))
    return places, curves


def _half_way(ax, sweep):
    """The accuracy of the network and of the mixed outputs, one point an amount of pretraining."""
    amounts = list(map(str, sweep.amount.values))
    ax.set(ylim=(0, 1), ylabel="accuracy, mean of both tasks", xlim=(-0.5, len(amounts) - 0.5))
    names = [amount.replace(", ", ",\n") for amount in amounts]
    ax.set_xticks(range(len(amounts)), names, fontsize=8, rotation=0 if len(amounts) < 4 else 30)
    network = cloud(ax, Look(BLUE, "o"), "network on the line")
    mixed = cloud(ax, Look(ORANGE, "s"), "mixed outputs")
    ax.legend(loc="lower right")
    return network, mixed


def _said_of_amount(amount, shares, accuracy, mixed):
    return said("""pretrained on {amount}: share of own distance {first:.3f} in block 1, {last:.3f} in block 8, accuracy
                   {accuracy:.3f}, mixed outputs {mixed:.3f}""",
                amount=amount, first=shares[0], last=shares[-2], accuracy=accuracy, mixed=mixed)


# -- what the networks say -------------------------------------------------------------------------

@panel
def answers(sweep: xarray.Dataset):
    """Test images of both tasks, and what θᵢ, the network on the line and θⱼ call them, each choosing among the task's
    five classes.

    Controls: alpha, pair, treatment.
    """
    images = sweep.sizes["image"]
    fig, axes = plotting.figure(images, 2, height=2.3)
    for row, side in zip(axes, ("task of θᵢ", "task of θⱼ")):
        row[0].text(-0.08, 0.5, side, fontsize=9, color=GREY, rotation=90, ha="right", va="center")
    names = list(map(str, sweep.class_name.values))
    cells = [[_Cell(ax, names) for ax in row] for row in axes]
    which = _tasks_of_pairs(sweep)
    found = by_choice(sweep, "answer", "confidence")
    found = {place: line.transpose("alpha", "task", "image") for place, line in found.items()}
    labels = sweep.example_label.values
    shown = sweep.example.values

    def draw(alpha, pair, treatment):
        line = found[pair, treatment]
        step = position(sweep.alpha.values, alpha)
        who = {"θᵢ": -1, f"α {alpha:.2f}": step, "θⱼ": 0}
        answer = line.answer.values[list(who.values())]
        confidence = line.confidence.values[list(who.values())]
        right = np.zeros(3, int)
        for end, task in enumerate(which[pair]):
            for image in range(images):
                said_here = zip(who, answer[:, end, image], confidence[:, end, image])
                right += cells[end][image].set_values(shown[task, image], labels[task, image], said_here)
        return said("""{images} test images of {pair}{treated}: θᵢ names {of_i} right, the network at α = {alpha:.2f}
                       names {of_line}, θⱼ names {of_j}. The first is a {truth}, and at α = {alpha:.2f} it is called
                       {called} with probability {probability:.3f}.""",
                    images=2 * images, pair=pair, treated=said_of(treatment), alpha=alpha,
                    of_i=right[0], of_line=right[1], of_j=right[2], truth=names[labels[which[pair][0], 0]],
                    called=names[answer[1, 0, 0]], probability=confidence[1, 0, 0])

    below = " Percentages: the network's probability for its answer among the five classes of the task."
    return controls(sweep), fig, draw, caption(sweep) + below


def _tasks_of_pairs(sweep):
    """{pair: the places of its two tasks among the examples}."""
    tasks = {int(task): number for number, task in enumerate(sweep.task_number.values)}
    found = {}
    for pair in map(str, sweep.pair.values):
        found[pair] = [tasks[int(word)] for word in pair.split() if word.isdigit()]
    return found


class _Cell:
    """A test image, what it is, and what three networks call it."""

    def __init__(self, ax, names):
        """names: of all classes."""
        self._names = names
        ax.axis("off")
        self._picture = ax.imshow(np.zeros((32, 32, 3)), extent=(0, 1, 0, 1), interpolation="none", animated=True,
                                  zorder=1)
        ax.set(xlim=(0, 2.75), ylim=(0, 1))
        self._truth = ax.text(1.06, 0.82, "", fontweight="bold", fontsize=8.5, animated=True)
        self._texts = [ax.text(1.06, height, "", fontsize=7.2, animated=True) for height in (0.56, 0.31, 0.06)]

    def set_values(self, picture, label, answers):
        """Show an image of class `label` and [(who, answer, confidence)]; returns which answers are right."""
        self._picture.set_data(picture)
        self._truth.set_text(self._names[label])
        right = []
        for text, (who, answer, confidence) in zip(self._texts, answers):
            good = answer == label
            mark = "✓" if good else "✗"
            text.set(text=f"{mark} {who}: {self._names[answer]} {confidence:.0%}", color=GREEN if good else RED)
            right.append(good)
        return np.array(right, int)


# -- still figures ---------------------------------------------------------------------------------

def small_steps(sweep: xarray.Dataset, prediction=None):
    """What one training step on few images does: accuracy after it, and how far it moved the weights. A prediction, for
    four images, is a star."""
    if prediction:  # here, since a picture that was kept is not drawn again
        prediction.panel_answers(sweep.accuracy.sel(treatment="interpolated", images=4).mean().item())
    return _small_steps(sweep, prediction.committed if prediction else None)


@still
def _small_steps(sweep, predicted):
    fig, (left, right) = plotting.figure(2, height=3.5)
    images = sweep.images.values
    _accuracy_after(left, sweep, predicted)
    moved = sweep.moved.transpose("images", "draw").values
    right.plot(np.repeat(images, moved.shape[1]), moved.ravel(), color=GREEN, marker="^", linestyle="", alpha=0.7)
    right.set(xscale="log", yscale="log", xlabel="images in the step", ylabel="‖Δθ‖", title="Length of the step")
    for ax in (left, right):
        ax.set_xticks(images, images)
        ax.minorticks_off()
    mean = sweep.accuracy.sel(treatment="interpolated").mean("draw").values
    numbers = ", ".join(f"{count} images {value:.2f}" for count, value in zip(images, mean))
    alt = said("""Accuracy after one more training step, mean over {draws} draws: {numbers}; before the step
                  {before:.2f}. The mean length of the step falls from {first:.3f} on {few} images to {last:.3f} on
                  {many}.""",
               draws=moved.shape[1], numbers=numbers, before=sweep.accuracy_before.values[0],
               first=moved[0].mean(), few=images[0], last=moved[-1].mean(), many=images[-1])
    return plotting.show(fig, alt, caption(sweep) + " One point a draw.")


def _accuracy_after(ax, sweep, predicted):
    """The accuracy after a step on so many images, a point a draw, under both treatments."""
    images = sweep.images.values
    for treatment, label, shift in (("interpolated", "running statistics", 0.96),
                                    ("re-estimated", "statistics re-estimated", 1.04)):
        look = _LOOKS[treatment]
        values = sweep.accuracy.sel(treatment=treatment).transpose("images", "draw").values
        ax.plot(np.repeat(images * shift, values.shape[1]), values.ravel(), color=look.colour, marker=look.marker,
                linestyle="", alpha=0.7, label=label)
    before = sweep.accuracy_before.sel(treatment="interpolated").item()
    ax.axhline(before, color=BLACK, linestyle="--", linewidth=1, marker="", label="before the step")
    if predicted is not None:
        ax.plot([4], [predicted], color=PURPLE, marker="*", markersize=15, markeredgecolor=BLACK, linestyle="")
    ax.set(xscale="log", xlabel="images in the step", ylabel="accuracy after it", ylim=(0, 1),
           title="Accuracy after one more step")
    ax.legend(loc="lower right")


@still
def figure_15(sweep: xarray.Dataset, treatment: str = "interpolated"):
    """Figure 15 of CTL: 1 − cos to the mixed features at three α beside the ends' own distance, all pairs and
    blocks."""
    return lines.figure_13(_under(sweep, treatment))


@still
def figure_16(sweep: xarray.Dataset, treatment: str = "interpolated"):
    """Figure 16 of CTL: coef per block at three α, all pairs; here medians and quartiles."""
    part = _under(sweep, treatment)
    pairs = list(map(str, part.pair.values))
    layers = list(map(str, part.layer.values))
    fig, axes = plotting.figure(3, 2, height=5.2, sharex=True, sharey=True)
    for ax, pair in zip(axes.flat, pairs):
        ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        places = layer_ticks(ax, layers)
        _lengths_of_pair(ax, part.sel(pair=pair), places)
        ax.set(title=pair, ylim=(0, 1.5))
    for ax in axes[:, 0]:
        ax.set_ylabel("coef")
    axes.flat[0].legend(loc="lower left", fontsize=8)
    means = part.coef_mean.sel(alpha=list(lines.SHOWN_ALPHAS))
    first = means.isel(layer=0)
    last = means.isel(layer=-2)
    alt = said("""coef for {pairs} pairs and {layers} layers at three α. Its mean runs from {first_least:.2f} …
                  {first_most:.2f} in block 1 to {last_least:.2f} … {last_most:.2f} in block 8.""",
               pairs=len(pairs), layers=len(layers), first_least=first.min().item(), first_most=first.max().item(),
               last_least=last.min().item(), last_most=last.max().item())
    return plotting.show(fig, alt, caption(part) + " Markers: median; bars: quartiles over the images.")


def _lengths_of_pair(ax, part, places):
    """One pair's coef at three α, side by side at every block."""
    for alpha, shift, colour, marker in zip(lines.SHOWN_ALPHAS, (-0.2, 0, 0.2), (BLUE, RED, GREEN), MARKERS):
        now = part.sel(alpha=alpha)
        points = plotting.WithQuartiles(ax, places + shift, colour, marker, f"α = {alpha:g}", animated=False)
        points.set_values(now.coef_median, now.coef_low, now.coef_high)


def _under(sweep, treatment):
    """The part under one treatment, with a digest of its own, so that its figures are not taken for another's."""
    return sweep.sel(treatment=treatment).assign_attrs(digest=f"{sweep.attrs.get('digest')} {treatment}")


@still
def examples(sweep: xarray.Dataset):
    """Some test images of every finetuning task, with their names."""
    tasks = sweep.task_number.values
    images = sweep.sizes["image"]
    fig, axes = plotting.figure(images, len(tasks), height=1.35 * len(tasks), width=7.4)
    names = list(map(str, sweep.class_name.values))
    for row, task, pictures, labels in zip(axes, tasks, sweep.example.values, sweep.example_label.values):
        for ax, picture, label in zip(row, pictures, labels):
            ax.imshow(picture, interpolation="none")
            ax.set(xticks=[], yticks=[])
            ax.set_title(names[label], fontsize=9, fontweight="normal")
            ax.grid(False)
        row[0].set_ylabel(f"split {task}")
    classes = "; ".join(f"split {task}: {', '.join(names[5 * int(task):5 * int(task) + 5])}" for task in tasks)
    alt = f"{images} test images of each finetuning task. The classes are, {classes}."
    return plotting.show(fig, alt, caption(sweep).split(";")[0] + f". {classes}.")


# -- in words --------------------------------------------------------------------------------------

def question() -> str:
    """What is asked before the gaps; the ledger says how large they were in chapter 1."""
    shares = claims.measured().get("CTL-2", {}).get("gap_over_own_most")
    before = ""
    if shares:
        before = f"In chapter 1 the gap was never more than {max(shares):.0%} of the two ends' own distance. "
    return (f"{before}Half-way between the networks for splits 1 and 2: what share is it in the <b>output</b> layer of "
            "ResNet-18?")


def reading_of_blocks(sweep: xarray.Dataset, treatment: str = "interpolated") -> Page:
    """What agrees and what differs between Figures 2, 3, 15 and 16 of CTL and ours, with this sweep's numbers."""
    numbers = by_depth(sweep, treatment)
    where = "throughout" if numbers["block_8_share"] < 0.1 else "in the first blocks only"
    title = f"Figures 2, 3, 15 and 16 of CTL, and ours (BatchNorm statistics {treatment})"
    return reading(title, """
        The gap is {block_1_share:.0%} of the two ends' own distance in block 1 and {block_8_share:.0%} in block 8, on
        average over pairs and α; coef is {block_1_coef:.2f} in block 1 and {block_8_coef:.2f} in block 8. Agrees with
        the source {where}: it reports small gaps and coef near 1 in all blocks. The half-way network scores
        {accuracy_middle:.2f} on average over both tasks, the mixed outputs {mixed_accuracy_middle:.2f}; if CTL were
        exact, they would agree.""", where=where, **numbers)


def reading_of_amounts(sweep: xarray.Dataset, treatment: str = "interpolated") -> Page:
    """What the amount of pretraining changes, with this sweep's numbers, half-way between the two networks."""
    part = sweep.sel(treatment=treatment, alpha=0.5)
    share = part.gap_mean / part.own_mean
    head = ("pretrained on", "steps", "accuracy on split 0", "ends' own distance, block 8",
            "gap, share of it: block 1", "block 8", "coef, block 8", "accuracy half-way", "mixed outputs")
    rows = []
    for amount in part.amount.values:
        now = part.sel(amount=amount)
        in_block_8 = now.sel(layer="block 8")
        of_amount = share.sel(amount=amount)
        rows.append((amount, f"{now.steps.item():,}", f"{now.pretrained_accuracy.item():.2f}",
                     f"{in_block_8.own_mean.item():.2f}", f"{of_amount.sel(layer='block 1').item():.0%}",
                     f"{of_amount.sel(layer='block 8').item():.0%}", f"{in_block_8.coef_mean.item():.2f}",
                     f"{now.accuracy.mean().item():.2f}", f"{now.mixed_accuracy.mean().item():.2f}"))
    in_block_8 = share.sel(layer="block 8")
    verdict = said("""From the first row to the last, the gap in block 8 goes from {first:.0%} to {last:.0%} of the
                      ends' own distance.""", first=in_block_8[0].item(), last=in_block_8[-1].item())
    verdict += _at_equal_steps(part, share)
    return table(head, rows, verdict, after=f"<p>{verdict}</p><p style='color:#555'>{caption(sweep)}</p>")


def _at_equal_steps(part, share):
    """What variety does when the number of steps stays: a sentence, or nothing where no two networks were pretrained
    for as many steps."""
    longest = part.steps.max().item()
    same = part.isel(amount=np.flatnonzero(part.steps >= 0.99 * longest))
    if same.sizes["amount"] < 2 or not longest:
        return ""
    numbers = []
    for amount in same.amount.values:
        of_gap = share.sel(amount=amount, layer="block 8").item()
        accuracy = same.accuracy.sel(amount=amount).mean().item()
        numbers.append(f"{amount}: {of_gap:.0%}, half-way accuracy {accuracy:.2f}")
    steps = " or ".join(f"{count:,}" for count in sorted(set(same.steps.values.tolist())))
    return (f" After {steps} steps each, {'; '.join(numbers)}. More steps or more variety? Compare these rows with "
            "those above them.")
