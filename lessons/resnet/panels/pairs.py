"""The pictures of chapter 2 that are about ResNet-18, its blocks and BatchNorm; those of any sweep over pairs are in
`lessons.lines`, those of single questions in `steps`, `causes` and `amounts`."""
import numpy as np
import xarray

from lessons.kit import claims, plotting
from lessons.kit.noise import Difference, error_of_share
from lessons.kit.page import Markup, Page, folded, reading, said
from lessons.kit.panel import panel
from lessons.kit.panel.moving import Look, curve, moving_titles
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, RED, WithQuartiles, still
from lessons.kit.predict import Star
from lessons.kit.sweep import at, caption, names, position
from lessons.lines import panels as lines
from lessons.lines.panels import by_choice, controls, said_of
from lessons.resnet.experiment.line import PLACES
from lessons.resnet.experiment.pairs import PAIRS, accuracies, by_depth, comparisons

LOOKS = {"interpolated": Look(BLUE, "o"), "re-estimated": Look(ORANGE, "s"), "batch": Look(GREEN, "^")}
CHANCE = 0.2  # one of a split's five classes


def chance_line(ax) -> None:
    """Where guessing lies, with its name."""
    ax.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1.2, marker="")
    ax.text(0.99, CHANCE - 0.012, "chance", color=GREY, fontsize=9.5, ha="right", va="top",
            transform=ax.get_yaxis_transform())


def error_in_words(sweep: xarray.Dataset) -> str:
    """The largest standard error that an accuracy over both tasks of a pair can have on so many images."""
    return f"Standard error of an accuracy: at most {100 * error_of_share(0.5, 2 * sweep.sizes['image']):.1f} points."


# -- coef per block --------------------------------------------------------------------------------

@panel
def coef_per_block(sweep: xarray.Dataset):
    """The distribution of coef over the images, one upright shape a block, with its median. Controls: alpha, pair,
    treatment."""
    layers = names(sweep.layer)
    fig, ax = plotting.figure(height=3.8)
    places = lines.layer_ticks(ax, layers)
    inside = sweep.coef_count.sel(alpha=list(lines.SHOWN_ALPHAS))
    below = (inside.sum([name for name in inside.dims if name != "bin"]).cumsum("bin") / inside.sum()).values
    # where coef lies inside the lines, but for two images in a thousand on either side
    lowest, highest = sweep.bin.values[np.searchsorted(below, (0.002, 0.998))]
    low, high = lowest - 0.05, max(highest, 1.0) + 0.12
    ax.set(ylim=(low, high), ylabel="coef")
    ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    shapes = _Shapes(ax, places, sweep.bin.values, high)
    title, = moving_titles((ax,))
    by_place = by_choice(sweep, "coef_count", "coef_median", "coef_mean")
    by_place = {place: line.transpose("alpha", "layer", "bin") for place, line in by_place.items()}

    def draw(alpha, pair, treatment):
        now = by_place[pair, treatment].isel(alpha=position(sweep.alpha.values, alpha))
        medians = now.coef_median.values
        shapes.set_values(now.coef_count.values, medians)
        title.set_text(f"coef for {pair} at α = {alpha:.2f}{said_of(treatment)}; numbers: medians")
        numbers = ", ".join(f"{layer} {median:.2f}" for layer, median in zip(layers, medians))
        return f"Distribution of coef per block for {pair} at α = {alpha:.2f}{said_of(treatment)}. Medians: {numbers}."

    return controls(sweep), fig, draw, caption(sweep) + " Width: share of the images."


class _Shapes:
    """Distributions that stand upright side by side, each with its median as a line and a number, and all moving."""

    def __init__(self, ax, places, bins, top):
        self._places = places
        self._bins = bins
        filled = {"alpha": 0.75, "linewidth": 0, "animated": True}
        self._shapes = [ax.fill([], [], color=COLOURS[place % len(COLOURS)], **filled)[0] for place in places]
        self._medians = [curve(ax, Look(BLACK), linewidth=1.2) for _ in places]
        text = {"ha": "center", "va": "top", "fontsize": 9.5, "animated": True}
        self._texts = [ax.text(place, top - 0.01, "", **text) for place in places]

    def set_values(self, counts, medians):
        """Counts (places, bins) and medians (places,)."""
        for place, count, median in zip(self._places, counts, medians):
            inside = np.flatnonzero(count)
            part = slice(inside[0], inside[-1] + 1)
            half = 0.42 * count[part] / count.max()
            bins = self._bins[part]
            around = np.append(place - half, (place + half)[::-1])
            self._shapes[place].set_xy(np.column_stack([around, np.append(bins, bins[::-1])]))
            self._medians[place].set_data([place - 0.42, place + 0.42], [median] * 2)
            self._texts[place].set_text(f"{median:.2f}")


# -- BatchNorm, side by side -----------------------------------------------------------------------

@panel
def batchnorm_side_by_side(sweep: xarray.Dataset, prediction=None):
    """The three treatments of BatchNorm: gap and coef per block at α, and, at the two ends and half-way, the accuracy
    of the network and of the mixed outputs.

    Controls: alpha, pair. The prediction, the accuracy half-way with interpolated statistics, is a star.
    """
    fig, (left, middle, right) = plotting.figure(3, height=4.2)
    layers = names(sweep.layer)
    places = lines.layer_ticks(left, layers)
    lines.layer_ticks(middle, layers)
    for ax in (left, middle):
        ax.set_xlabel("block; then as above")
    inside = sweep.sel(alpha=list(lines.SHOWN_ALPHAS))
    left.set(ylabel="gap (1 − cosine)", ylim=(0, 1.1 * float(inside.gap_mean.max())))
    low, high = float(inside.coef_mean.min()), float(inside.coef_mean.max())
    middle.set(ylabel="coef, mean", ylim=(low - 0.05, high + 0.05))
    middle.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    looked = {treatment: [curve(ax, look, treatment) for ax in (left, middle)] for treatment, look in LOOKS.items()}
    shown = _Accuracies(right)
    handles = {}  # each label once
    for ax in (left, right):
        for handle, label in zip(*ax.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    fig.legend(handles.values(), handles, loc="outside lower center", ncols=4)
    titles = moving_titles((left, middle, right))
    asked = {"pair": sweep.attrs["opens_on"], "alpha": 0.5}
    truth = at(sweep, treatment="interpolated", place="half-way", pair=asked["pair"]).right.mean().item()
    star = Star(right, prediction, 1, truth, asked)
    by_place = by_choice(sweep, "gap_mean", "coef_mean")
    shares = sweep[["right", "mixed_right"]].astype(float).mean(["task", "image"])  # at θⱼ, half-way and θᵢ
    said_there = {pair: {treatment: {name: shares[name].sel(pair=pair, treatment=treatment).values for name in shares}
                         for treatment in LOOKS} for pair in names(sweep.pair)}

    def draw(alpha, pair):
        step = position(sweep.alpha.values, alpha)
        numbers = []
        for treatment, (gap, coef) in looked.items():
            now = by_place[pair, treatment].isel(alpha=step)
            gap.set_data(places, now.gap_mean)
            coef.set_data(places, now.coef_mean)
            block = layers.index("block 8")
            of_treatment = said_there[pair][treatment]
            numbers.append(said("""{treatment}: gap {gap:.3f} and coef {coef:.3f} in block 8, accuracy half-way
                                   {accuracy:.3f}, of the mixed outputs {mixed:.3f}""",
                                treatment=treatment, gap=now.gap_mean.values[block], coef=now.coef_mean.values[block],
                                accuracy=of_treatment["right"][1], mixed=of_treatment["mixed_right"][1]))
        shown.set_values(said_there[pair])
        for title, text in zip(titles, (f"Gap, α = {alpha:.2f}", f"Length, α = {alpha:.2f}", "Accuracy, both tasks")):
            title.set_text(text)
        star.place(alpha=alpha, pair=pair)
        return f"Three treatments of BatchNorm for {pair} at α = {alpha:.2f}. {'; '.join(numbers)}."

    two = {name: control for name, control in controls(sweep).items() if name != "treatment"}
    below = f" {error_in_words(sweep)} Hollow: the two ends' outputs, mixed."
    return two, fig, draw, caption(sweep) + below


class _Accuracies:
    """Accuracies at the two ends and half-way, a marker for every treatment, hollow ones for the mixed outputs."""

    def __init__(self, ax):
        ax.set(ylim=(0, 1), xlim=(-0.6, 2.6), ylabel="accuracy, mean of both tasks")
        ax.set_xticks(range(len(PLACES)), list(PLACES))
        ax.grid(False, axis="x")
        chance_line(ax)
        self._marks = {}
        for shift, (treatment, look) in zip((-0.25, 0.0, 0.25), LOOKS.items()):
            filled = curve(ax, Look(look.colour, look.marker, ""), markersize=8)
            label = "mixed outputs" if treatment == "interpolated" else None
            hollow = curve(ax, Look(look.colour, look.marker, ""), label, markersize=8, markerfacecolor="none",
                           markeredgewidth=1.8)
            self._marks[treatment] = (shift, filled, hollow)

    def set_values(self, accuracies):
        """{treatment: {"right", "mixed_right": (3,)}}; at the ends the mixed outputs are the network's own."""
        for treatment, (shift, filled, hollow) in self._marks.items():
            filled.set_data(np.arange(len(PLACES)) + shift, accuracies[treatment]["right"])
            hollow.set_data([1 + shift], [accuracies[treatment]["mixed_right"][1]])


def reading_of_treatments(sweep: xarray.Dataset) -> Page:
    """Whether other statistics help the network half-way, with paired differences and their errors."""
    gains = {name: Difference(*gain) for name, gain in comparisons(sweep).items()}
    anew, batch = gains["anew"], gains["batch"]
    scores = accuracies(sweep)
    verdict = "Not clear" if not anew.is_news else "Yes" if anew.value > 0 else "No"
    return reading("Does it help the network?", Markup("""
        Half-way, mean over all pairs: {interpolated:.1%} with interpolated statistics, {anew:.1%} with new ones.
        {verdict}: estimating anew changes that by {gain} points{doubt}. (Behind ±: the standard error of the
        difference, from the same {images:,} images.) Those of the batch change it by another {of_batch} points{still}.
        Is all of it about mixing? With new statistics the two <i>ends</i> gain {ends} points on their own tasks. If
        their statistics are renewed before they are mixed, the network half-way gains {fresh} points, and what
        estimating anew adds to that is {rest}."""),
        interpolated=scores["interpolated"][0], anew=scores["re-estimated"][0], gain=anew, doubt=anew.doubt(),
        verdict=verdict, images=len(set(sum(PAIRS.values(), ()))) * sweep.sizes["image"], of_batch=batch,
        still=batch.doubt(), ends=gains["ends"], fresh=gains["fresh ends"], rest=gains["rest"])


def reading_of_mixed_outputs(sweep: xarray.Dataset) -> Page:
    """How far the half-way network is from what it would be if CTL were exact, in accuracy."""
    gains = comparisons(sweep)
    scores = accuracies(sweep)
    mixed, anew = (Difference(*gains[name]) for name in ("mixed", "mixed anew"))
    return reading("If CTL were exact", """
        the half-way network would say what the two ends' outputs say, mixed (hollow markers). With interpolated
        statistics it has {network:.1%}, these {of_mixed:.1%}: {mixed} points more{doubt}. With new ones it has
        {network_anew:.1%}, these {of_mixed_anew:.1%}: {anew} points more{doubt_anew}.""",
        network=scores["interpolated"][0], of_mixed=scores["mixed interpolated"][0],
        network_anew=scores["re-estimated"][0], of_mixed_anew=scores["mixed re-estimated"][0], mixed=mixed,
        doubt=mixed.doubt(), anew=anew, doubt_anew=anew.doubt())


def reading_of_rows(sweep: xarray.Dataset) -> Page:
    """Whether half-random rows of the head cost the half-way network anything."""
    gain = Difference(*comparisons(sweep)["own rows"])
    part = sweep.right.sel(treatment="interpolated").astype(float).mean(["pair", "image"])
    elsewhere = float(np.mean([part.sel(place="θᵢ", task="j"), part.sel(place="θⱼ", task="i")]))
    own = float(np.mean([part.sel(place="θᵢ", task="i"), part.sel(place="θⱼ", task="j")]))
    return reading("Rows nobody trained", """
        On their own tasks the ends score {own:.1%}, on each other's {elsewhere:.1%}, where guessing gives 20%. So
        “both tasks together”, they stand near {both:.0%}, whatever their features may know. Half-way every row is the
        mean of a trained and a random one. Give each task the rows of the network that learned it instead, and the
        accuracy changes by {gain} points (statistics estimated anew){doubt}.""",
        own=own, elsewhere=elsewhere, both=(own + elsewhere) / 2, gain=gain, doubt=gain.doubt())


# -- what the networks say -------------------------------------------------------------------------

@panel
def answers(sweep: xarray.Dataset):
    """Test images of both tasks, and what θᵢ, the network on the line and θⱼ call them, each choosing among the task's
    five classes.

    Controls: alpha, pair, treatment.
    """
    images = 3
    fig, axes = plotting.figure(images, 2, height=2.9)
    class_names = names(sweep.class_name)
    cells = [[_Cell(ax, class_names) for ax in row] for row in axes]
    tasks = {int(task): number for number, task in enumerate(sweep.task_number.values)}
    which = {pair: [tasks[split] for split in PAIRS[pair]] for pair in names(sweep.pair)}
    by_place = by_choice(sweep, "answer", "confidence")
    by_place = {place: line.transpose("alpha", "task", "picture") for place, line in by_place.items()}
    labels = sweep.example_label.values
    shown = sweep.example.values
    titles = moving_titles(axes[:, 0])

    def draw(alpha, pair, treatment):
        line = by_place[pair, treatment]
        step = position(sweep.alpha.values, alpha)
        split_i, split_j = PAIRS[pair]
        who = {f"split {split_i}": -1, f"α = {alpha:.2f}": step, f"split {split_j}": 0}
        answer = line.answer.values[list(who.values())]
        confidence = line.confidence.values[list(who.values())]
        right = np.zeros(3, int)
        for end, task in enumerate(which[pair]):
            titles[end].set_text(f"Test images of split {PAIRS[pair][end]}")
            for image in range(images):
                said_here = zip(who, answer[:, end, image], confidence[:, end, image])
                right += cells[end][image].set_values(shown[task, image], labels[task, image], said_here)
        return said("""{images} test images of {pair}{treated}: θᵢ names {of_i} right, the network at α = {alpha:.2f}
                       names {of_line}, θⱼ names {of_j}. The first is a {truth}, and at α = {alpha:.2f} it is called
                       {called} with probability {probability:.3f}.""",
                    images=2 * images, pair=pair, treated=said_of(treatment), alpha=alpha,
                    of_i=right[0], of_line=right[1], of_j=right[2], truth=class_names[labels[which[pair][0], 0]],
                    called=class_names[answer[1, 0, 0]], probability=confidence[1, 0, 0])

    below = " “split 1”: the network finetuned on it. Percentages: its probability for its answer among the five."
    return controls(sweep), fig, draw, caption(sweep) + below


class _Cell:
    """A test image, what it is, and what three networks call it."""

    def __init__(self, ax, names):
        """names: of all classes."""
        self._names = names
        ax.axis("off")
        self._picture = ax.imshow(np.zeros((32, 32, 3)), extent=(0, 1, 0, 1), interpolation="none", animated=True,
                                  zorder=1)
        ax.set(xlim=(0, 3.3), ylim=(0, 1))
        self._truth = ax.text(1.06, 0.83, "", fontweight="bold", fontsize=10, animated=True)
        self._texts = [ax.text(1.06, height, "", fontsize=9.5, animated=True) for height in (0.57, 0.31, 0.05)]

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

@still
def figure_15(sweep: xarray.Dataset, treatment: str = "interpolated"):
    """Figure 15 of Zhou et al.: 1 − cos to the mixed features at three α beside the ends' own distance, all pairs and
    blocks."""
    return lines.figure_13(_under(sweep, treatment))


@still
def figure_16(sweep: xarray.Dataset, treatment: str = "interpolated"):
    """Figure 16 of Zhou et al.: coef per block at three α, all pairs; here medians and quartiles."""
    part = _under(sweep, treatment)
    pairs = names(part.pair)
    layers = names(part.layer)
    fig, axes = plotting.figure(3, 2, height=5.4, sharex=True, sharey=True)
    inside = part.sel(alpha=list(lines.SHOWN_ALPHAS))
    low, high = float(inside.coef_low.min()), float(inside.coef_high.max())
    for ax, pair in zip(axes.flat, pairs):
        ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        places = lines.layer_ticks(ax, layers)
        for alpha, shift, colour, marker in zip(lines.SHOWN_ALPHAS, (-0.2, 0, 0.2), (BLUE, RED, GREEN), MARKERS):
            at_alpha = part.sel(pair=pair, alpha=alpha)
            points = WithQuartiles(ax, places + shift, colour, marker, f"α = {alpha:g}", animated=False)
            points.set_values(at_alpha.coef_median, at_alpha.coef_low, at_alpha.coef_high)
        ax.set(title=pair, ylim=(low - 0.05, high + 0.05))
    for ax in axes[0]:
        ax.set_xlabel("")
    for ax in axes[1]:
        ax.set_xlabel("block; then mean, outputs")
    for ax in axes[:, 0]:
        ax.set_ylabel("coef")
    fig.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    means = part.coef_mean.sel(alpha=list(lines.SHOWN_ALPHAS))
    first = means.sel(layer="block 1")
    last = means.sel(layer="block 8")
    alt = said("""coef for {pairs} pairs and {layers} layers at three α. Its mean runs from {first_least:.2f} …
                  {first_most:.2f} in block 1 to {last_least:.2f} … {last_most:.2f} in block 8.""",
               pairs=len(pairs), layers=len(layers), first_least=first.min().item(), first_most=first.max().item(),
               last_least=last.min().item(), last_most=last.max().item())
    return plotting.show(fig, alt, caption(part) + " Markers: median; bars: quartiles over the images.")


def _under(sweep, treatment):
    """The part under one treatment, with a digest of its own, so that its figures are not taken for another's."""
    return sweep.sel(treatment=treatment).assign_attrs(digest=f"{sweep.attrs.get('digest')} {treatment}")


@still
def examples(sweep: xarray.Dataset):
    """Some test images of every finetuning task, with their names."""
    tasks = sweep.task_number.values
    images = sweep.sizes["picture"]
    fig, axes = plotting.figure(images, len(tasks), height=1.4 * len(tasks), width=7.4)
    class_names = names(sweep.class_name)
    for row, task, pictures, labels in zip(axes, tasks, sweep.example.values, sweep.example_label.values):
        for ax, picture, label in zip(row, pictures, labels):
            ax.imshow(picture, interpolation="none")
            ax.set(xticks=[], yticks=[])
            ax.set_title(class_names[label], fontsize=9.5, fontweight="normal")
            ax.grid(False)
        row[0].set_ylabel(f"split {task}")
    classes = "; ".join(f"split {task}: {', '.join(class_names[5 * int(task):5 * int(task) + 5])}" for task in tasks)
    alt = f"{images} test images of each finetuning task. The classes are, {classes}."
    return plotting.show(fig, alt, caption(sweep).split(";")[0] + f". {classes}.")


def in_full(sweep: xarray.Dataset | None) -> Page:
    """Figure 15 and what it says of networks trained for longer, folded, where the repository or the profile has
    it."""
    title = "The same after 10 + 10 passes over whole splits (profile “full”)"
    if sweep is None:
        text = said("""Not in this copy of the course. With profile = "full" in the first cell it is measured; before
                       it starts, it says how long that takes on this machine.""")
        return folded(title, Page(text, Markup("<p><i>{}</i></p>").format(text)))
    return folded(title, figure_15(sweep), reading_of_blocks(sweep), reading_of_lengths(sweep),
                  reading_of_treatments(sweep))


# -- in words --------------------------------------------------------------------------------------

def question() -> str:
    """What is asked before the gaps; the ledger says how large they were in chapter 1."""
    shares = claims.measured().get("CTL-2", {}).get("gap_over_own_most")
    before = ""
    if shares:
        before = f"In chapter 1 the gap was never more than {max(shares):.0%} of the two ends' own distance. "
    return (f"{before}Half-way between the networks for splits 1 and 2: what share is it in **block 8**, the last "
            "one, of ResNet-18?")


def reading_of_own(sweep: xarray.Dataset) -> Page:
    """How well every network knows the task that it was trained on last, with standard errors."""
    own = at(sweep, treatment="interpolated").own_right.astype(float).mean("image")
    images = sweep.sizes["image"]
    scores = []
    for model, value in zip(own.model.values, own.values):
        scores.append(f"split {model}: {value:.1%} ± {100 * error_of_share(value, images):.1f}")
    return reading("On their own tasks", """{scores}. The network for split 0 is the pretrained one. Behind ± stands the
                   standard error on {images} test images, in points; by guessing one scores 20%.""",
                   scores="; ".join(scores), images=images)


def reading_of_blocks(sweep: xarray.Dataset, treatment: str = "interpolated") -> Page:
    """What became of gap and coef from block to block, and what Zhou et al. say of it, with this sweep's numbers."""
    numbers = by_depth(sweep, treatment)
    where = "throughout" if numbers["block_8_share"] < 0.1 else "in the first blocks only"
    return reading("What you should have seen", """
        On average over pairs and α the gap is {block_1_share:.0%} of the two ends' own distance in block 1,
        {block_4_share:.0%} in block 4 and {block_8_share:.0%} in block 8. Agrees with Zhou et al. {where}: they report
        small gaps and coef near 1 in all blocks. Behind the last block it falls back, to {pooled_share:.0%} where
        pixels are averaged. On the ten outputs of the two tasks it is {ten_outputs_share:.0%}.""", where=where,
        **numbers)


def reading_of_lengths(sweep: xarray.Dataset) -> Page:
    """What coef is under two treatments of BatchNorm, in the blocks and on the outputs that matter."""
    numbers = by_depth(sweep, "interpolated")
    anew = {f"anew_{name}": value for name, value in by_depth(sweep, "re-estimated").items()}
    return reading("What you should have seen", """
        With interpolated statistics coef falls from {block_1_coef:.2f} in block 1 to {block_8_coef:.2f} in block 8,
        with new ones it is {anew_block_1_coef:.2f} and {anew_block_8_coef:.2f}. On the outputs one has to look twice.
        Over all hundred coef is {output_coef:.2f} and {anew_output_coef:.2f}, but most of these belong to rows that
        nobody trained, the same ones in both networks. On the ten that matter it is {ten_outputs_coef:.2f}, and
        {anew_ten_outputs_coef:.2f} with new statistics: too short under both.""", **numbers, **anew)
