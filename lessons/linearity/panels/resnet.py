"""The pictures of chapter 2 that are about ResNet-18, its blocks and BatchNorm; those of any sweep over pairs are in `lines`."""
import numpy as np
import xarray
from matplotlib.ticker import PercentFormatter

from lessons.kit import claims, plotting
from lessons.kit.page import Page, table
from lessons.linearity.experiment.resnet import by_depth
from lessons.linearity.panels import lines
from lessons.linearity.panels.lines import ALPHA, by_choice, controls, gap_per_layer, layer_ticks, said_of, treatments  # noqa: F401  the notebook shows them
from lessons.kit.panel import slider
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, PURPLE, RED
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel
from lessons.kit.plotting import still

_LOOKS = {"interpolated": (BLUE, "o"), "re-estimated": (ORANGE, "s"), "batch": (GREEN, "^")}


# -- coef per block --------------------------------------------------------------------------------

@panel
def coef_per_block(sweep: xarray.Dataset):
    """The distribution of coef over the images, one upright shape a block, with its median. Controls: alpha, pair, treatment."""
    layers = list(map(str, sweep.layer.values))
    fig, ax = plotting.figure(height=3.6)
    places = layer_ticks(ax, layers)
    ax.set(ylim=(0, 1.5), ylabel="coef")
    ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    bins = sweep.bin.values
    shapes = [ax.fill([], [], color=COLOURS[place % len(COLOURS)], alpha=0.75, linewidth=0, animated=True)[0] for place in places]
    medians = [ax.plot([], [], color=BLACK, linewidth=1.2, marker="", animated=True)[0] for _ in places]
    texts = [ax.text(place, 1.5, "", ha="center", va="top", fontsize=9, animated=True) for place in places]
    title, = plotting.moving_titles((ax,))
    found = {place: line.transpose("alpha", "layer", "bin") for place, line in by_choice(sweep, "coef_count", "coef_median", "coef_mean").items()}

    def draw(alpha, pair, treatment):
        here = found[pair, treatment].isel(alpha=position(sweep.alpha.values, alpha))
        for place, count, median in zip(places, here.coef_count.values, here.coef_median.values):
            inside = np.flatnonzero(count)
            part = slice(inside[0], inside[-1] + 1)
            half = 0.42 * count[part] / count.max()
            shapes[place].set_xy(np.column_stack([np.append(place - half, (place + half)[::-1]), np.append(bins[part], bins[part][::-1])]))
            medians[place].set_data([place - 0.42, place + 0.42], [min(median, 1.5)] * 2)
            texts[place].set_text(f"{median:.2f}")
        title.set_text(f"coef for {pair} at α = {alpha:.2f}{said_of(treatment)}; numbers: medians")
        said = ", ".join(f"{layer} {median:.2f}" for layer, median in zip(layers, here.coef_median.values))
        return f"Distribution of coef per block for {pair} at α = {alpha:.2f}{said_of(treatment)}. Medians: {said}."

    return controls(sweep), fig, draw, caption(sweep) + " Width: share of the images; what lies above 1.5 is counted there."


# -- BatchNorm, side by side -----------------------------------------------------------------------

@panel
def batchnorm_side_by_side(sweep: xarray.Dataset, prediction=None):
    """The three treatments of BatchNorm: gap and coef per block, and the accuracy along the line beside that of the mixed outputs.

    Controls: alpha, pair. The prediction, the accuracy half-way with interpolated statistics, is a star.
    """
    layers = list(map(str, sweep.layer.values))
    fig, (left, middle, right) = plotting.figure(3, height=3.8)
    places = layer_ticks(left, layers)
    layer_ticks(middle, layers)
    left.set(ylabel="gap (1 − cosine)", ylim=(0, 1.1 * float(sweep.gap_mean.max())))
    middle.set(ylabel="coef, mean", ylim=(0, 1.3))
    middle.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    right.set(xlabel=ALPHA, ylabel="accuracy, mean of both tasks", ylim=(0, 1), xlim=(-0.03, 1.03))
    curves = {(treatment, ax): ax.plot([], [], color=colour, marker=marker, label=treatment, animated=True)[0]
              for treatment, (colour, marker) in _LOOKS.items() for ax in (left, middle, right)}
    mixed = right.plot([], [], color=BLACK, linestyle="--", marker="", label="mixed outputs (interpolated)", animated=True)[0]
    line = right.axvline(0.5, color=BLACK, linewidth=1, marker="", animated=True)
    titles = plotting.moving_titles((left, middle, right))
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    star = Star(right, prediction)
    found = by_choice(sweep.assign(accuracy=sweep.accuracy.mean("task"), mixed_accuracy=sweep.mixed_accuracy.mean("task")),
                      "gap_mean", "coef_mean", "accuracy", "mixed_accuracy")
    alphas = sweep.alpha.values

    def draw(alpha, pair):
        step, said = position(alphas, alpha), []
        for treatment in _LOOKS:
            part = found[pair, treatment]
            here = part.isel(alpha=step)
            curves[treatment, left].set_data(places, here.gap_mean)
            curves[treatment, middle].set_data(places, here.coef_mean)
            curves[treatment, right].set_data(alphas, part.accuracy)
            said.append(f"{treatment}: accuracy {here.accuracy.item():.3f}, gap {here.gap_mean.values[-2]:.3f} and coef {here.coef_mean.values[-2]:.3f} in block 8")
        mixed.set_data(alphas, found[pair, "interpolated"].mixed_accuracy)
        line.set_xdata([alpha, alpha])
        for title, text in zip(titles, ("Gap", "Length", f"Accuracy, α = {alpha:.2f}")):
            title.set_text(text)
        star.place()
        return f"Three treatments of BatchNorm for {pair} at α = {alpha:.2f}. {'; '.join(said)}."

    two = {name: control for name, control in controls(sweep).items() if name != "treatment"}
    return two, fig, draw


# -- how much pretraining --------------------------------------------------------------------------

@panel
def pretraining(sweep: xarray.Dataset, prediction=None):
    """CTL against the amount of pretraining: the gap per block as a share of the ends' own distance; right, the accuracy of the network on the line
    beside that of the mixed outputs. Controls: alpha, treatment. The prediction, the share in block 8 without any pretraining, is a star.
    """
    layers, amounts = list(map(str, sweep.layer.values)), list(map(str, sweep.amount.values))
    fig, (left, right) = plotting.figure(2, height=4.0, width_ratios=(3, 2))
    places = layer_ticks(left, layers)
    ratio = sweep.gap_mean / sweep.own_mean
    left.set(ylabel="gap, share of own distance", ylim=(0, 1.1 * float(ratio.sel(alpha=slice(0.01, 0.99)).max())))
    left.yaxis.set_major_formatter(PercentFormatter(1))
    curves = [left.plot([], [], color=colour, marker=marker, label=f"{amount} ({steps:,} steps)", animated=True)[0]
              for amount, steps, colour, marker in zip(amounts, sweep.steps.values, COLOURS, MARKERS)]
    right.set(ylim=(0, 1), ylabel="accuracy, mean of both tasks", xlim=(-0.5, len(amounts) - 0.5))
    right.set_xticks(range(len(amounts)), [amount.replace(", ", ",\n") for amount in amounts], fontsize=8, rotation=0 if len(amounts) < 4 else 30)
    network = right.plot([], [], color=BLUE, marker="o", linestyle="", label="network on the line", animated=True)[0]
    mixed = right.plot([], [], color=ORANGE, marker="s", linestyle="", label="mixed outputs", animated=True)[0]
    right.legend(loc="lower right")
    titles = plotting.moving_titles((left, right))
    fig.legend(handles=curves, loc="outside lower center", ncols=3, title="pretrained on")
    star = Star(left, prediction, len(layers) - 2)
    ratio, accuracy, mixed_accuracy = (values.transpose("treatment", "alpha", "amount", ...) for values in (
        ratio, sweep.accuracy.mean("task"), sweep.mixed_accuracy.mean("task")))

    def draw(alpha, treatment):
        step = position(sweep.alpha.values, alpha)
        here, of_network, of_mix = (values.sel(treatment=treatment).isel(alpha=step).values for values in (ratio, accuracy, mixed_accuracy))
        for curve, row in zip(curves, here):
            curve.set_data(places, row)
        network.set_data(range(len(amounts)), of_network)
        mixed.set_data(range(len(amounts)), of_mix)
        titles[0].set_text(f"Gap at α = {alpha:.2f}{said_of(treatment)}")
        titles[1].set_text("Accuracy there")
        star.place()
        said = "; ".join(f"pretrained on {amount}: share of own distance {row[0]:.3f} in block 1, {row[-2]:.3f} in block 8, accuracy {a:.3f}, mixed outputs {m:.3f}"
                         for amount, row, a, m in zip(amounts, here, of_network, of_mix))
        return f"CTL between splits 1 and 2 against the amount of pretraining at α = {alpha:.2f}{said_of(treatment)}: {said}."

    two = {"alpha": slider("α", [float(alpha) for alpha in sweep.alpha.values], 0.5), "treatment": treatments(sweep)}
    return two, fig, draw


# -- what the networks say -------------------------------------------------------------------------

@panel
def answers(sweep: xarray.Dataset):
    """Test images of both tasks, and what θᵢ, the network on the line and θⱼ call them, each choosing among the task's five classes.

    Controls: alpha, pair, treatment.
    """
    images = sweep.sizes["image"]
    fig, axes = plotting.figure(images, 2, height=2.3)
    names = list(map(str, sweep.class_name.values))
    pictures, truths, texts = [], [], []
    for row, side in zip(axes, ("task of θᵢ", "task of θⱼ")):
        for ax in row:
            ax.axis("off")
            pictures.append(ax.imshow(np.zeros((32, 32, 3)), extent=(0, 1, 0, 1), interpolation="none", animated=True, zorder=1))
            ax.set(xlim=(0, 2.75), ylim=(0, 1))
            truths.append(ax.text(1.06, 0.82, "", fontweight="bold", fontsize=8.5, animated=True))
            texts.append([ax.text(1.06, height, "", fontsize=7.2, animated=True) for height in (0.56, 0.31, 0.06)])
        row[0].text(-0.08, 0.5, side, fontsize=9, color=GREY, rotation=90, ha="right", va="center")
    tasks = {int(task): number for number, task in enumerate(sweep.task_number.values)}
    which = {str(pair): [tasks[int(word)] for word in str(pair).split() if word.isdigit()] for pair in sweep.pair.values}
    found = {place: line.transpose("alpha", "task", "image") for place, line in by_choice(sweep, "answer", "confidence").items()}
    labels, shown = sweep.example_label.values, sweep.example.values

    def draw(alpha, pair, treatment):
        line, step = found[pair, treatment], position(sweep.alpha.values, alpha)
        right = np.zeros(3, int)
        for end, task in enumerate(which[pair]):
            for image in range(images):
                cell = end * images + image
                pictures[cell].set_data(shown[task, image])
                truths[cell].set_text(names[labels[task, image]])
                for place, (who, where) in enumerate((("θᵢ", -1), (f"α {alpha:.2f}", step), ("θⱼ", 0))):
                    answer, confidence = line.answer.values[where, end, image], line.confidence.values[where, end, image]
                    good = answer == labels[task, image]
                    right[place] += good
                    texts[cell][place].set(text=f"{'✓' if good else '✗'} {who}: {names[answer]} {confidence:.0%}", color=GREEN if good else RED)
        return (f"{2 * images} test images of {pair}{said_of(treatment)}: θᵢ names {right[0]} right, the network at α = {alpha:.2f} names {right[1]}, θⱼ names {right[2]}. "
                f"The first is a {names[labels[which[pair][0], 0]]}, and at α = {alpha:.2f} it is called {names[line.answer.values[step, 0, 0]]} "
                f"with probability {line.confidence.values[step, 0, 0]:.3f}.")

    return controls(sweep), fig, draw, caption(sweep) + " Percentages: the network's probability for its answer among the five classes of the task."


# -- still figures ---------------------------------------------------------------------------------

@still
def small_steps(sweep: xarray.Dataset, predicted: float | None = None):
    """What one training step on few images does: accuracy after it, and how far it moved the weights. A prediction, for four images, is a star."""
    fig, (left, right) = plotting.figure(2, height=3.5)
    images = sweep.images.values
    for treatment, colour, marker, shift in (("interpolated", BLUE, "o", 0.96), ("re-estimated", ORANGE, "s", 1.04)):
        label = {"interpolated": "running statistics", "re-estimated": "statistics re-estimated"}[treatment]
        values = sweep.accuracy.sel(treatment=treatment).transpose("images", "draw").values
        left.plot(np.repeat(images * shift, values.shape[1]), values.ravel(), color=colour, marker=marker, linestyle="", alpha=0.7, label=label)
    left.axhline(sweep.accuracy_before.sel(treatment="interpolated").item(), color=BLACK, linestyle="--", linewidth=1, marker="", label="before the step")
    if predicted is not None:
        left.plot([4], [predicted], color=PURPLE, marker="*", markersize=15, markeredgecolor=BLACK, linestyle="")
    left.set(xscale="log", xlabel="images in the step", ylabel="accuracy after it", ylim=(0, 1), title="Accuracy after one more step")
    left.legend(loc="lower right")
    moved = sweep.moved.transpose("images", "draw").values
    right.plot(np.repeat(images, moved.shape[1]), moved.ravel(), color=GREEN, marker="^", linestyle="", alpha=0.7)
    right.set(xscale="log", yscale="log", xlabel="images in the step", ylabel="‖Δθ‖", title="Length of the step")
    for ax in (left, right):
        ax.set_xticks(images, images)
        ax.minorticks_off()
    mean = sweep.accuracy.sel(treatment="interpolated").mean("draw").values
    said = ", ".join(f"{count} images {value:.2f}" for count, value in zip(images, mean))
    alt = (f"Accuracy after one more training step, mean over {moved.shape[1]} draws: {said}; before the step {sweep.accuracy_before.values[0]:.2f}. "
           f"The mean length of the step falls from {moved[0].mean():.3f} on {images[0]} images to {moved[-1].mean():.3f} on {images[-1]}.")
    return plotting.show(fig, alt, caption(sweep) + " One point a draw.")


@still
def figure_15(sweep: xarray.Dataset, treatment: str = "interpolated"):
    """Figure 15 of CTL: 1 − cos to the mixed features at three α beside the ends' own distance, all pairs and blocks."""
    return lines.figure_13(_under(sweep, treatment))


@still
def figure_16(sweep: xarray.Dataset, treatment: str = "interpolated"):
    """Figure 16 of CTL: coef per block at three α, all pairs; here medians and quartiles."""
    part = _under(sweep, treatment)
    pairs, layers = list(map(str, part.pair.values)), list(map(str, part.layer.values))
    fig, axes = plotting.figure(3, 2, height=5.2, sharex=True, sharey=True)
    for ax, pair in zip(axes.flat, pairs):
        ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        places = layer_ticks(ax, layers)
        for alpha, shift, colour, marker in zip(lines.SHOWN_ALPHAS, (-0.2, 0, 0.2), (BLUE, RED, GREEN), MARKERS):
            here = part.sel(pair=pair, alpha=alpha)
            points = plotting.WithQuartiles(ax, places + shift, colour, marker, f"α = {alpha:g}", animated=False)
            points.set_values(here.coef_median, here.coef_low, here.coef_high)
        ax.set(title=pair, ylim=(0, 1.5))
    for ax in axes[:, 0]:
        ax.set_ylabel("coef")
    axes.flat[0].legend(loc="lower left", fontsize=8)
    means = part.coef_mean.sel(alpha=list(lines.SHOWN_ALPHAS))
    alt = (f"coef for {len(pairs)} pairs and {len(layers)} layers at three α. Its mean runs from {means.isel(layer=0).min().item():.2f} … {means.isel(layer=0).max().item():.2f} in block 1 "
           f"to {means.isel(layer=-2).min().item():.2f} … {means.isel(layer=-2).max().item():.2f} in block 8.")
    return plotting.show(fig, alt, caption(part) + " Markers: median; bars: quartiles over the images.")


def _under(sweep, treatment):
    """The part under one treatment, with a digest of its own, so that its figures are not taken for another's."""
    return sweep.sel(treatment=treatment).assign_attrs(digest=f"{sweep.attrs.get('digest')} {treatment}")


def question() -> str:
    """What is asked before the gaps; the ledger says how large they were in chapter 1."""
    shares = claims.measured().get("CTL-2", {}).get("gap_over_own_most")
    before = ""
    if shares:
        before = f"In chapter 1 the gap was never more than {max(shares):.0%} of the two ends' own distance. "
    return (f"{before}Half-way between the networks for splits 1 and 2: what share is it in the <b>output</b> layer of "
            "ResNet-18?")


def reading(sweep: xarray.Dataset, treatment: str = "interpolated") -> Page:
    """What agrees and what differs between Figures 2, 3, 15 and 16 of CTL and ours, with this sweep's numbers."""
    of = by_depth(sweep, treatment)
    agrees = of["block_8_share"] < 0.1
    text = (f"The gap is {of['block_1_share']:.0%} of the two ends' own distance in block 1 and {of['block_8_share']:.0%} in block 8, on average over pairs and α; coef is "
            f"{of['block_1_coef']:.2f} in block 1 and {of['block_8_coef']:.2f} in block 8. "
            f"{'Agrees with the source throughout' if agrees else 'Agrees with the source in the first blocks only'}: it reports small gaps and coef near 1 in all blocks. "
            f"The half-way network scores {of['accuracy_middle']:.2f} on average over both tasks, the mixed outputs {of['mixed_accuracy_middle']:.2f}; if CTL were exact, they would agree.")
    return Page(text, f"<p><b>Figures 2, 3, 15 and 16 of CTL, and ours (BatchNorm statistics {treatment}).</b> {text}</p>")


@still
def examples(sweep: xarray.Dataset):
    """Some test images of every finetuning task, with their names."""
    tasks, images = sweep.sizes["task_number"], sweep.sizes["image"]
    fig, axes = plotting.figure(images, tasks, height=1.35 * tasks, width=7.4)
    names = list(map(str, sweep.class_name.values))
    for row, task, pictures, labels in zip(axes, sweep.task_number.values, sweep.example.values, sweep.example_label.values):
        for ax, picture, label in zip(row, pictures, labels):
            ax.imshow(picture, interpolation="none")
            ax.set(xticks=[], yticks=[])
            ax.set_title(names[label], fontsize=9, fontweight="normal")
            ax.grid(False)
        row[0].set_ylabel(f"split {task}")
    said = "; ".join(f"split {task}: {', '.join(names[5 * int(task):5 * int(task) + 5])}" for task in sweep.task_number.values)
    return plotting.show(fig, f"{images} test images of each finetuning task. The classes are, {said}.", caption(sweep).split(";")[0] + f". {said}.")


def reading_of_amounts(sweep: xarray.Dataset, treatment: str = "interpolated") -> Page:
    """What the amount of pretraining changes, with this sweep's numbers, half-way between the two networks."""
    part = sweep.sel(treatment=treatment, alpha=0.5)
    share, own = part.gap_mean / part.own_mean, part.own_mean
    rows = [(amount, f"{here.steps.item():,}", f"{here.pretrained_accuracy.item():.2f}", f"{own.sel(amount=amount, layer='block 8').item():.2f}",
             f"{share.sel(amount=amount, layer='block 1').item():.0%}", f"{share.sel(amount=amount, layer='block 8').item():.0%}", f"{here.coef_mean.sel(layer='block 8').item():.2f}",
             f"{here.accuracy.mean().item():.2f}", f"{here.mixed_accuracy.mean().item():.2f}") for amount, here in ((name, part.sel(amount=name)) for name in part.amount.values)]
    first, last = (share.isel(amount=place).sel(layer="block 8").item() for place in (0, -1))
    verdict = f"From the first row to the last, the gap in block 8 goes from {first:.0%} to {last:.0%} of the ends' own distance." + _at_equal_steps(part, share)
    head = ("pretrained on", "steps", "accuracy on split 0", "ends' own distance, block 8", "gap, share of it: block 1", "block 8", "coef, block 8", "accuracy half-way", "mixed outputs")
    return table(head, rows, verdict, after=f"<p>{verdict}</p><p style='color:#555'>{caption(sweep)}</p>")


def _at_equal_steps(part, share):
    """What variety does when the number of steps stays: a sentence, or nothing where no two networks were pretrained for as many steps."""
    longest = part.steps.max().item()
    same = [name for name in part.amount.values if part.steps.sel(amount=name).item() >= 0.99 * longest]
    if len(same) < 2 or not longest:
        return ""
    said = "; ".join(f"{name}: {share.sel(amount=name, layer='block 8').item():.0%}, half-way accuracy {part.accuracy.sel(amount=name).mean().item():.2f}" for name in same)
    steps = " or ".join(f"{count:,}" for count in sorted({part.steps.sel(amount=name).item() for name in same}))
    return f" After {steps} steps each, {said}. More steps or more variety? Compare these rows with those above them."
