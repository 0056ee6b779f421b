"""The pictures of chapter 2 that are about ResNet-18, its blocks and BatchNorm; those of any sweep over pairs are in
`lessons.lines`, those of single questions in `steps`, `causes` and `amounts`."""
import numpy as np
import xarray

from lessons.kit import claims, plotting
from lessons.kit.noise import WIDE, Difference, error_of_share, with_reach
from lessons.kit.page import Markup, Page, capital, folded, reading, said, table
from lessons.kit.plotting import BLUE, GREEN, GREY, MARKERS, RED, WithQuartiles, still
from lessons.kit.sweep import at, caption, names
from lessons.kit.view import (
    Axis,
    Band,
    Chart,
    Frame,
    Handle,
    Image,
    Line,
    Points,
    Reference,
    Spots,
    Star,
    chips,
    key,
    slider,
    view,
)
from lessons.lines import panels as lines
from lessons.lines.panels import by_choice, in_words, said_of, share_of_a
from lessons.resnet.experiment.line import HUNDRED, POOLED, TEN
from lessons.resnet.experiment.pairs import PAIRS, accuracies, by_depth, comparisons, half_way

CHANCE = 0.2  # one of a split's five classes
BLOCKS = tuple(f"block {number}" for number in range(1, 9))
STATISTICS = {"interpolated": "interpolated statistics", "re-estimated": "statistics estimated anew",
              "batch": "the batch’s own statistics"}


def error_in_words(sweep: xarray.Dataset) -> str:
    """The largest standard error that an accuracy over both tasks of a pair can have on so many images."""
    return f"Standard error of an accuracy: at most {100 * error_of_share(0.5, 2 * sweep.sizes['image']):.1f} points."


# -- coef per block --------------------------------------------------------------------------------

NEARLY = 0.06  # a length that differs less from that of the mix is about as long
_TICKS = {POOLED: "mean", TEN: "10", HUNDRED: "100"}  # the others have their number
_COEF_ALT = """
    Length of the features along the mix (coef, 1 is as long) for {pair} at α = {alpha:.2f}{treated}. Medians:
    {numbers}. In {layer} the middle half of the images lies between {low:.2f} and {high:.2f}."""


@view
def coef_per_block(sweep: xarray.Dataset):
    """How far the features reach along the mix, in units of its length: coef per block and behind the blocks, with the
    middle half of the images; right, its distribution over the images in one layer.

    Controls: layer, treatment, pair, alpha.
    """
    layers, bins = names(sweep.layer), sweep.bin.values
    parts = {choice: line.transpose("alpha", "layer", "bin")
             for choice, line in by_choice(sweep, "coef_count", "coef_median", "coef_low", "coef_high").items()}
    shown = slice(*np.searchsorted(bins, (0.2, 1.3)))
    across = bins[shown].reshape(-1, 2).mean(1)  # two bins of the sweep are one here

    def draw(layer, treatment, pair, alpha):
        row, now = layers.index(layer), at(parts[pair, treatment], alpha=alpha)
        low, median, high = (now[f"coef_{name}"].values for name in ("low", "median", "high"))
        counts = now.coef_count.values[row]
        images = (counts[shown].reshape(-1, 2).sum(1) / counts.sum()).clip(max=lines.MOST_SHOWN)
        values = {"as long as the mix": 1, "median": median, "middle half": (low, high), "one": (0, lines.MOST_SHOWN),
                  "area": (0 * images, images), "images": images}
        numbers = ", ".join(f"{in_words(name)} {value:.2f}" for name, value in zip(layers, median))
        alt = said(_COEF_ALT, pair=pair, alpha=alpha, treated=said_of(treatment), numbers=numbers,
                   layer=in_words(layer), low=low[row], high=high[row])
        title = finding_of_lengths(treatment, median[:len(BLOCKS)], high[layers.index(TEN)])
        about = key(("merged", f"The network between A and B, with {STATISTICS[treatment]}"),
                    ("", f"A and B were finetuned on {pair}"))
        return Frame(title, alt, values, about)

    along = slider("layer", {in_words(layer): layer for layer in layers}, "block 8", places=range(len(layers)))
    return {"kicker": "Chapter 2: the length of features", "charts": _coef_charts(sweep, layers, across), "draw": draw,
            "controls": {"layer": along, "treatment": chips("BatchNorm statistics", names(sweep.treatment)),
                         "pair": pairs_of(sweep), "alpha": inner_alphas()},
            "caption": f"{caption(sweep)} Shaded: the middle half of the images."}


def _coef_charts(sweep, layers, across):
    """coef over the layers, and the share of images at every coef."""
    places, across = tuple(range(len(layers))), tuple(across)
    lowest = float(sweep.coef_low.sel(alpha=list(lines.SHOWN_ALPHAS)).min()) - 0.03
    ticks = {place: _TICKS.get(name, name.removeprefix("block ")) for place, name in enumerate(layers)}
    left = Chart(Axis("layer", -0.4, len(layers) - 0.6, ticks=ticks),
                 Axis("coef: length along the mix", lowest, float(sweep.coef_high.max()) + 0.03, digits=2),
                 (Reference("as long as the mix", "single", "mix"), Band("middle half", "merged", x=places),
                  Line("median", "merged", x=places, dots=True, near=True), Handle("layer")))
    right = Chart(Axis("coef of one image, in this layer", 0.2, 1.3),
                  Axis(f"share of the images (cut at {lines.MOST_SHOWN:.0%})", 0, lines.MOST_SHOWN, unit="percent"),
                  (Line("one", "single", x=(1, 1), aside=True), Band("area", "merged", x=across, aside=True),
                   Line("images", "merged", x=across)))
    return [left, right]


def pairs_of(sweep):
    """The choice of a pair, waiting behind "More"."""
    return chips("A and B finetuned on", sorted(names(sweep.pair), key=lambda pair: pair != sweep.attrs["opens_on"]),
                 more=True)


def inner_alphas():
    """The choice of a place between A and B, waiting behind "More"."""
    return chips("α, the share of A", {f"{alpha:g}": alpha for alpha in lines.SHOWN_ALPHAS}, 0.5, more=True)


def finding_of_lengths(treatment: str, median: np.ndarray, outputs: float) -> str:
    """Where features come out shorter than the mix, in one sentence.

    Args:
        median: (blocks,), of coef over the images.
        outputs: upper quartile of coef on the outputs of both tasks.
    """
    short = np.flatnonzero(median < 1 - NEARLY)
    how = f"With {STATISTICS[treatment]}"
    if not len(short):
        but = ", but the outputs of both tasks come out too short" if outputs < 1 else ""
        return f"{how}, features are about as long as the mix in every block{but}"
    if (short >= len(median) / 2).all():
        where = "in the last blocks"
    else:
        where = "in most blocks" if len(short) > len(median) / 2 else "in some blocks"
        where += ", most of all in the last" if median.argmin() == len(median) - 1 else ""
    return f"{how}, features come out too short {where}"


# -- BatchNorm, side by side -----------------------------------------------------------------------

_BATCHNORM_ALT = """
    Three treatments of BatchNorm for {pair} at α = {alpha:.2f}. {numbers}. {how}: accuracy of the midpoint {gain}
    points above that with interpolated statistics."""


@view
def batchnorm_side_by_side(sweep: xarray.Dataset, prediction=None):
    """BatchNorm with interpolated statistics and with renewed ones: per block the gap as a share of the distance
    between A and B, and coef; and the accuracy half-way of the network and of the mixed outputs, beside A and B alone.

    Controls: layer, treatment (of the renewed ones), pair, alpha. The prediction, the accuracy half-way with
    interpolated statistics, is a star.
    """
    images = 2 * sweep.sizes["image"]
    parts = {choice: line.sel(layer=list(BLOCKS)).transpose("alpha", "layer")
             for choice, line in by_choice(sweep, "gap_mean", "own_mean", "coef_mean").items()}
    scores = {choice: of_places(right) for choice, right in by_choice(sweep, "right", "mixed_right").items()}
    asked = {"pair": sweep.attrs["opens_on"], "alpha": 0.5}
    if prediction:
        prediction.panel_answers(scores[asked["pair"], "interpolated"]["half-way"], asked)

    def draw(layer, treatment, pair, alpha):
        row, values, numbers = BLOCKS.index(layer), {"mix": 1, "chance": CHANCE}, []
        blocks = {}
        for how in STATISTICS:
            now = at(parts[pair, how], alpha=alpha)
            blocks[how] = now.gap_mean.values / now.own_mean.values, now.coef_mean.values
            numbers.append(said("""{how}: gap {gap:.3f} and coef {coef:.3f} in {layer}, accuracy of the midpoint
                                   {right:.3f}, of the mixed outputs {mixed:.3f}""",
                                how=how, layer=layer, gap=now.gap_mean.values[row], coef=blocks[how][1][row],
                                right=scores[pair, how]["half-way"], mixed=scores[pair, how]["outputs"]))
        for name, how in (("interpolated", "interpolated"), ("renewed", treatment)):
            values[f"gap, {name}"], values[f"coef, {name}"] = blocks[how]
            values[f"{name} half-way"] = with_reach([scores[pair, how]["half-way"]], images)
        both = [scores[pair, how] for how in ("interpolated", treatment)]
        values |= {name: [of_one[name] for of_one in both] for name in ("A alone", "B alone")}
        values["outputs"] = [both[0]["outputs"]] * 2 + [np.nan] + [both[1]["outputs"]] * 2
        gain = gain_half_way(sweep, pair, treatment)
        alt = said(_BATCHNORM_ALT, pair=pair, alpha=alpha, numbers="; ".join(numbers), how=treatment, gain=gain)
        about = key(("merged", f"The network between A and B, with {STATISTICS[treatment]}"),
                    ("", "grey: with interpolated statistics"), ("single", "outputs of A and B, mixed"),
                    ("a", "A alone"), ("b", "B alone"))
        return Frame(finding_of_statistics(blocks["interpolated"], blocks[treatment], gain), alt, values, about)

    along = slider("block", {block: block for block in BLOCKS}, BLOCKS[-1], places=range(len(BLOCKS)))
    renewed = chips("renewed statistics", {"estimated anew": "re-estimated", "of the batch": "batch"})
    known = ("mix", "chance", "A alone", "B alone")
    charts = _batchnorm_charts(sweep)
    return {"kicker": "Chapter 2: BatchNorm’s statistics", "charts": charts, "draw": draw,
            "controls": {"layer": along, "treatment": renewed, "pair": pairs_of(sweep), "alpha": inner_alphas()},
            "hides": [mark.name for chart in charts for mark in chart.marks if mark.parts and mark.name not in known],
            "caption": f"{caption(sweep)} Bars: two standard errors. 100 % of the gap is the distance from A to B."}


def of_places(part):
    """The accuracies of one pair under one treatment: of A and B alone, of the network half-way, and of the outputs,
    mixed half-way; each on both tasks together."""
    right, mixed = (part[name].astype(float).mean(["task", "image"]) for name in ("right", "mixed_right"))
    return {"A alone": right.sel(place="θᵢ").item(), "B alone": right.sel(place="θⱼ").item(),
            "half-way": right.sel(place="half-way").item(), "outputs": mixed.sel(place="half-way").item()}


def gain_half_way(sweep, pair, treatment) -> Difference:
    """What renewed statistics gain in accuracy half-way, on the same images."""
    half_way = sweep.right.sel(place="half-way", pair=pair)
    return Difference.paired(*(half_way.sel(treatment=how).values.ravel() for how in (treatment, "interpolated")))


def _batchnorm_charts(sweep):
    """Gap and coef over the blocks, and accuracies, on axes with room for every pair and α."""
    inside = sweep.sel(alpha=list(lines.SHOWN_ALPHAS), layer=list(BLOCKS))
    highest = float((inside.gap_mean / inside.own_mean).max())
    places = tuple(range(len(BLOCKS)))
    across = Axis("block", -0.3, len(BLOCKS) - 0.7, ticks={place: f"{place + 1}" for place in places})

    def of(quantity, *others):
        return (*others, Line(f"{quantity}, interpolated", "other", x=places, dots=True),
                Line(f"{quantity}, renewed", "merged", x=places, dots=True, near=True), Handle("layer"))

    half_way = sweep[["right", "mixed_right"]].astype(float).mean(["task", "image"])
    most = max(float(half_way[name].max()) for name in half_way)
    groups = Axis("statistics", -0.5, 1.5, ticks={0: "interpolated", 1: "renewed"})
    ticks = {tenth / 10: f"{10 * tenth} %" for tenth in range(int(10 * highest) + 1)}
    gaps = Axis("gap, share of the distance", -0.2 * highest, 1.1 * highest, unit="percent", ticks=ticks)
    return [Chart(across, gaps, of("gap")),
            Chart(across, Axis("coef: length along the mix", float(inside.coef_mean.min()) - 0.03, 1.1, digits=2),
                  of("coef", Reference("mix", "single", aside=True))),
            Chart(groups, Axis("accuracy of the midpoint", 0.1, most + 0.05, unit="percent"),
                  (Reference("chance", "chance", aside=True), Points("B alone", "b", x=(-0.3, 0.7)),
                   Points("A alone", "a", x=(-0.2, 0.8)), Line("outputs", "single", x=(0.15, 0.45, 0.5, 1.15, 1.45)),
                   Points("interpolated half-way", "other", x=(0,), written=True),
                   Points("renewed half-way", "merged", x=(1,), written=True), Star("guess", "merged", x=(0,))))]


def finding_of_statistics(interpolated, renewed, gain: Difference) -> str:
    """What renewed statistics do to length, direction and accuracy, in one sentence.

    Args:
        interpolated, renewed: each (gaps, coefs) by block, gaps as shares of the distance from A to B.
        gain: of accuracy half-way.
    """
    (gap_before, coef_before), (gap, coef) = ([part[-1] for part in both] for both in (interpolated, renewed))
    mends = abs(coef_before - 1) > NEARLY > abs(coef - 1)
    keeps = gap > gap_before / 2
    if mends:
        done = f"mend the length{', not the gap' if keeps else ' and most of the gap'}"
    else:
        done = "mend neither length nor gap" if keeps else "mend most of the gap, not the length"
    accuracy = "no clear change in accuracy" if not gain.is_news else \
        f"accuracy {'rises' if gain.value > 0 else 'falls'}"
    return f"Renewed statistics {done}; {accuracy}"


_BEFORE = "re-estimated in A and B, then interpolated"
GAINS = {"anew": ("midpoint", "re-estimated at the midpoint", "interpolated"),  # of whom, with, compared with
         "batch": ("midpoint", "of the batch", "re-estimated at the midpoint"),
         "ends": ("endpoints, own tasks", "re-estimated", "running"),
         "fresh ends": ("midpoint", _BEFORE, "interpolated"),
         "rest": ("midpoint", "re-estimated at the midpoint", _BEFORE)}


def reading_of_treatments(sweep: xarray.Dataset) -> Page:
    """Whether other statistics help the network half-way; a table of all changes, with their errors; and whether the
    gain is one of mixing."""
    gains = {name: Difference(*gain) for name, gain in comparisons(sweep).items()}
    anew = gains["anew"]
    verdict = "Not clear" if not anew.is_news else "Yes" if anew.value > 0 else "No"
    sentence = said("""{verdict}: estimating anew changes the accuracy of the midpoint, {before:.1%} with interpolated
                       statistics, by {gain} points{doubt}. (Mean over all pairs. After ±: the standard error of the
                       difference, from the same {images:,} images.)""",
                    verdict=verdict, before=accuracies(sweep)["interpolated"][0], gain=anew, doubt=anew.doubt(),
                    images=len(set(sum(PAIRS.values(), ()))) * sweep.sizes["image"])
    rows = [(*labels, f"{gains[name]}", "" if gains[name].is_news else "within the noise")
            for name, labels in GAINS.items()]
    mixing = of_mixing(gains["fresh ends"], gains["rest"])
    made = table(("accuracy of", "with statistics", "compared with statistics", "points gained", ""), rows, left=3,
                 before=Markup("<p><b>Does it help the network?</b> {}</p>").format(sentence),
                 after=Markup("<p><b>Is all of it about mixing?</b> {}</p>").format(mixing))
    return Page(f"{sentence}\n{made.text}\n{mixing}", made.page)


def of_mixing(before: Difference, added: Difference) -> str:
    """Whether the midpoint's gain comes from the mix, or was to be had in its endpoints.

    Args:
        before: what is gained where the statistics of A and B are renewed before the mix.
        added: what renewing at the midpoint gains over that.
    """
    in_ends, at_midpoint = (gain.is_news and gain.value > 0 for gain in (before, added))
    if in_ends and at_midpoint:
        so = "So a part of it is not about mixing: it is there as soon as A and B have new statistics."
    elif in_ends:
        so = "So no: no gain is seen that needs new statistics after the mix."
    elif at_midpoint:
        so = "So yes, as far as this shows: the gain is seen only where statistics are renewed after the mix."
    else:
        so = "So the noise hides where a gain would come from."
    return said("""If the statistics of A and B are renewed before the mix, each on its own task, the midpoint gains
                   {before} points{doubt}. Renewing them at the midpoint adds {added} points to that{doubt_of_added}.
                   {so}""", before=before, doubt=before.doubt(), added=added, doubt_of_added=added.doubt(), so=so)


def reading_of_gain(sweep: xarray.Dataset) -> Page:
    """Whether new statistics help the midpoint, and whether they help the endpoints too, whose weights nobody mixed."""
    midpoint, ends = (Difference(*comparisons(sweep)[name]) for name in ("anew", "ends"))
    helps, both = midpoint.is_news and midpoint.value > 0, ends.is_news and ends.value > 0
    title = "Do new statistics help the midpoints?"
    if helps:
        title = "On average, new statistics help the midpoints" + (", and the endpoints, too" if both else "")
    return reading(title, """
        Statistics estimated anew change the accuracy of the six midpoints by {midpoint} points{doubt}, on average. They
        change that of the four endpoints, where nobody has mixed any weights, by {ends} points{doubt_of_ends}. Single
        networks can differ, as the picture shows. (± is one standard error.)""", midpoint=midpoint,
                   doubt=midpoint.doubt(), ends=ends, doubt_of_ends=ends.doubt())


def reading_of_stale(sweep: xarray.Dataset, in_full: xarray.Dataset | None) -> Page:
    """Whether the endpoints, which gain in this sweep, still gain after longer training."""
    if in_full is None:
        text = "What profile “full” measured of this is not in this copy of the course."
        return Page(text, Markup("<p><i>{}</i></p>").format(text))
    midpoint, ends = (Difference(*comparisons(in_full)[name]) for name in ("anew", "ends"))
    before = Difference(*comparisons(sweep)["ends"])
    only_short = before.is_news and before.value > 0 and not ends.is_news
    return reading("After longer training, no gain of the endpoints is seen" if only_short else
                   "And after longer training?", """
        In profile “full”, with longer training, new statistics change the accuracy of the endpoints by {ends}
        points{doubt_of_ends}, and that of the midpoints by {midpoint} points{doubt}. {so}We did not test why.""",
                   ends=ends, doubt_of_ends=ends.doubt(), midpoint=midpoint, doubt=midpoint.doubt(),
                   so="So here the endpoints gained only after the short training. " if only_short
                   else "")


@still
def gains(sweep: xarray.Dataset):
    """What statistics estimated anew gain over running ones: at the midpoint of every pair, and in every network on the
    task that it learned last; with two standard errors."""
    midpoints = {pair: Difference.paired(*both) for pair, both in half_way(sweep).items()}
    learned = sweep.own_right.isel(model=slice(1, None))
    networks = {f"network {int(model)}": Difference.paired(*(learned.sel(model=model, treatment=how)
                                                             for how in ("re-estimated", "interpolated")))
                for model in learned.model.values}
    fig, axes = plotting.figure(2, height=3.0, sharey=True, width_ratios=(3, 2))
    for ax, points, colour, title in zip(axes, (midpoints, networks), (GREEN, BLUE),
                                         ("midpoints, both tasks", "endpoints, own task")):
        ax.errorbar(range(len(points)), [100 * gain.value for gain in points.values()],
                    [100 * WIDE * gain.error for gain in points.values()], color=colour, marker="o", linestyle="")
        ax.axhline(0, color=GREY, linestyle=":", marker="")
        ax.set_xticks(range(len(points)), [name.replace("splits ", "").replace("network ", "") for name in points])
        ax.set(title=title, xlabel="finetuned on splits" if points is midpoints else "finetuned on split")
        ax.grid(False, axis="x")
    axes[0].set_ylabel("points gained by new statistics")
    told = "; ".join(f"{name}: {gain}" for name, gain in (midpoints | networks).items())
    return plotting.show(fig, f"Points of accuracy gained by statistics estimated anew. {told}.",
                         f"{caption(sweep)} Bars: two standard errors. Dotted: no change.")


def reading_of_mixed_outputs(sweep: xarray.Dataset) -> Page:
    """How far the half-way network is from what it would be if CTL were exact, in accuracy."""
    gains = comparisons(sweep)
    scores = accuracies(sweep)
    mixed, anew = (Difference(*gains[name]) for name in ("mixed", "mixed anew"))
    return reading("How far from exact?", """
        If CTL were exact, the midpoint would predict what the mixed outputs of the two endpoints predict. With
        interpolated statistics its accuracy is {network:.1%}, and that of the mixed outputs is {of_mixed:.1%},
        a difference of {mixed} points{doubt}. With new ones it is {network_anew:.1%} and {of_mixed_anew:.1%}, a
        difference of {anew} points{doubt_anew}.""",
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
        On their own tasks the endpoints have an accuracy of {own:.1%}, on each other's {elsewhere:.1%}, where guessing
        gives 20%. So on both tasks together it is near {both:.0%}, however good their features are. At the midpoint
        each of the two tasks' ten rows is the mean of a trained and a random one. Give each task the rows of the
        network that learned it instead, and the accuracy changes by {gain} points (statistics estimated
        anew){doubt}.""",
        own=own, elsewhere=elsewhere, both=(own + elsewhere) / 2, gain=gain, doubt=gain.doubt())


# -- what the networks predict -------------------------------------------------------------------------

_ENDS = {1.0: "A", 0.0: "B"}
_ANSWERS_ALT = """
    {pictures} test images of {pair}{treated}: A names {of_a} right, the network at α = {alpha:.2f} names {of_line}, B
    names {of_b}. At α = {alpha:.2f} they are called, with their true names and the probability: {told}."""


@view
def answers(sweep: xarray.Dataset):
    """Test images of both tasks, whether every network on the line names them right, and what the one at α calls them,
    each choosing among the task's five classes.

    Controls: alpha, pair, treatment.
    """
    pictures, class_names = sweep.sizes["picture"], names(sweep.class_name)
    splits = {int(split): place for place, split in enumerate(sweep.task_number.values)}
    alphas, photos = [float(alpha) for alpha in sweep.alpha.values], sweep.example.values
    parts = {choice: line.transpose("alpha", "task", "picture")
             for choice, line in by_choice(sweep, "answer", "confidence").items()}
    rows = np.arange(2 * pictures)[::-1].astype(float)  # A's images above
    classes = {label: class_names[label] for label in np.unique(sweep.answer)}

    def draw(alpha, pair, treatment):
        which, line = [splits[split] for split in PAIRS[pair]], parts[pair, treatment]
        truth = sweep.example_label.values[which].ravel()
        called = line.answer.values.reshape(len(alphas), -1)
        right, step = called == truth, alphas.index(alpha)
        x, y = np.meshgrid(alphas, rows, indexing="ij")
        values = {"right": (x.ravel(), np.where(right, y, np.nan).ravel()),
                  "wrong": (x.ravel(), np.where(right, np.nan, y).ravel())}
        for how, those in (("right", right[step]), ("wrong", ~right[step])):
            values |= {f"{name}, {how}": (0 * rows + alpha, np.where(those & (called[step] == label), rows, np.nan))
                       for label, name in classes.items()}
        for split, place in splits.items():
            heights = rows.reshape(2, -1)[which.index(place)] if place in which else np.full(pictures, np.nan)
            values |= {_row_of(split, picture): (row, row) for picture, row in enumerate(heights)}
        values |= {f"photo {row + 1}": photo for row, photo in enumerate(photos[which].reshape(-1, *photos.shape[2:]))}
        sums = right.reshape(len(alphas), 2, -1).sum(2)
        told = "; ".join(f"{class_names[name]} as {class_names[word]} {sure:.3f}" for name, word, sure in
                         zip(truth, called[step], line.confidence.values[step].ravel()))
        alt = said(_ANSWERS_ALT, pictures=len(rows), pair=pair, treated=said_of(treatment), of_a=sums[-1].sum(),
                   of_line=sums[step].sum(), of_b=sums[0].sum(), alpha=alpha, told=told)
        about = key(("merged", "named right"), ("", "grey: named wrong; at the right end: the true name"),
                    ("", f"A and B were finetuned on {pair}"))
        return Frame(finding_of_answers(alpha, sums[step], sums[[-1, 0]]), alt, values, about)

    return {"kicker": "Chapter 2: what the networks predict",
            "tries": ("Move α from one end to the other. Which images does a network gain, and which does it lose?",),
            "charts": [_answers_chart(sweep, rows, classes)],
            "draw": draw, "controls": {"alpha": share_of_a(alphas, 1.0),
                                       "pair": chips("A and B finetuned on", names(sweep.pair)),
                                       "treatment": chips("BatchNorm statistics", names(sweep.treatment), more=True)},
            "caption": f"{caption(sweep)} Each network chooses among the five classes of the image's split."}


def _row_of(split, picture):
    """The mark of one image's row, which has its name."""
    return f"image {picture + 1} of split {split}"


def _answers_chart(sweep, rows, classes):
    """A row for each image, with its dots over α and its true name at the end."""
    class_names = names(sweep.class_name)
    labels = zip(map(int, sweep.task_number.values), sweep.example_label.values)
    true = [Line(_row_of(split, picture), "other", class_names[label], x=(0, 1), bare=True, aside=True)
            for split, of_split in labels for picture, label in enumerate(of_split)]
    photos = [Image(f"photo {row + 1}", "other", extent=(-0.2, -0.05, y - 0.44, y + 0.44), photo=True)
              for row, y in enumerate(rows)]
    called = [Spots(f"{name}, {how}", role, names=(name,) * len(rows)) for name in classes.values()
              for how, role in (("right", "merged"), ("wrong", "other"))]
    middle = len(rows) / 4
    return Chart(Axis("α", -0.2, 1.16, ticks=lines.ALPHA_AXIS.ticks),
                 Axis("test images of A’s split and of B’s", -0.5, len(rows) - 0.5,
                      ticks={3 * middle: "A’s", middle: "B’s"}),  # at a row, which hides the line
                 (*true, *photos, Handle("alpha"), Spots("wrong", "other"), Spots("right", "merged"), *called),
                 height=480)


def finding_of_answers(alpha: float, right: np.ndarray, ends: np.ndarray) -> str:
    """Who names what, in one sentence.

    Args:
        right: (2,), how many of A's and of B's images this network names right.
        ends: (2, 2), the same of A and of B.
    """
    if alpha in _ENDS:
        me, other = _ENDS[alpha], _ENDS[1 - alpha]
        own, foreign = right if me == "A" else right[::-1]
        by_other = ends[1, 0] if me == "A" else ends[0, 1]
        if by_other > own:
            return f"Of these images, {other} names more of {me}’s than {me} does"
        if own > foreign:
            return f"Of these images, {me} names more of its own than of {other}’s"
        return f"Of these images, {me} names no more of its own than of {other}’s"
    alone = ends.sum(1)
    if right.sum() > alone.max():
        return "Of these images, the network in between names more right than A or B alone"
    if right.sum() < alone.min():
        return "Of these images, the network in between names fewer right than A or B alone"
    return "Of these images, the network in between names no more right than the better of A and B"


def reading_of_answers(sweep: xarray.Dataset) -> Page:
    """How many of the images of A's split A and B name right, and how many of all test images of this split."""
    pair = sweep.attrs["opens_on"]
    part = at(sweep, pair=pair, treatment="interpolated")
    truth = sweep.example_label.sel(task_number=PAIRS[pair][0])
    a, b = (int((part.answer.sel(alpha=alpha, task="i") == truth).sum()) for alpha in (1.0, 0.0))
    all_a, all_b = (part.right.sel(place=place, task="i").astype(float).mean().item() for place in ("θᵢ", "θⱼ"))
    lead = Difference.of(all_a, all_b, sweep.sizes["image"])
    misleads = a < b and lead.is_news and lead.value > 0
    return reading("Four images can mislead you" if misleads else "What A and B get right", """
        Of the {pictures} images of split {split}, on which A was finetuned, A classifies {a} correctly and B {b}. Of
        all test images of this split, A classifies {all_a:.0%} correctly and B {all_b:.0%}.""",
                   pictures=sweep.sizes["picture"], split=PAIRS[pair][0], a=a, b=b, all_a=all_a, all_b=all_b)


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
    inside = sweep.sel(alpha=list(lines.SHOWN_ALPHAS))  # one axis for all treatments
    low, high = float(inside.coef_low.min()), float(inside.coef_high.max())
    for ax, pair in zip(axes.flat, pairs):
        ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        places = lines.layer_ticks(ax, layers)
        for alpha, shift, colour, marker in zip(lines.SHOWN_ALPHAS, (-0.2, 0, 0.2), (BLUE, RED, GREEN), MARKERS):
            at_alpha = part.sel(pair=pair, alpha=alpha)
            points = WithQuartiles(ax, places + shift, colour, marker, f"α = {alpha:g}")
            points.set_values(at_alpha.coef_median, at_alpha.coef_low, at_alpha.coef_high)
        ax.set(title=pair, ylim=(low - 0.05, high + 0.05))
    for ax in axes[0]:
        ax.set_xlabel("")
    for ax in axes[1]:
        ax.set_xlabel("block; then mean, outputs")
    for ax in axes[:, 0]:
        ax.set_ylabel("coef")
    fig.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    medians = part.coef_median.sel(alpha=list(lines.SHOWN_ALPHAS))
    first = medians.sel(layer="block 1")
    last = medians.sel(layer="block 8")
    alt = said("""With {statistics}, coef for {pairs} pairs and {layers} layers at three α. Its median runs from
                  {first_least:.2f} … {first_most:.2f} in block 1 to {last_least:.2f} … {last_most:.2f} in block 8.""",
               statistics=STATISTICS[treatment], pairs=len(pairs), layers=len(layers), first_least=first.min().item(),
               first_most=first.max().item(), last_least=last.min().item(), last_most=last.max().item())
    return plotting.show(fig, alt, f"{capital(STATISTICS[treatment])}. {caption(part)} Markers: median; bars: "
                                   "quartiles over the images.")


def reading_of_length_anew(sweep: xarray.Dataset, treatment: str = "re-estimated") -> Page:
    """Whether coef is near 1 in the last block, and on the ten outputs."""
    medians = sweep.coef_median.sel(treatment=treatment, alpha=list(lines.SHOWN_ALPHAS))
    last, outputs = (medians.sel(layer=layer).values for layer in (BLOCKS[-1], TEN))
    near = abs(last - 1).max() <= NEARLY
    short = outputs.mean() < 1 - NEARLY
    return reading("Near the line in block 8, but too short on the ten outputs" if near and short else
                   "Do the marks still leave the line?", """
        With {statistics}, the medians of all pairs and α lie between {least:.2f} and {most:.2f} in block 8, and between
        {least_output:.2f} and {most_output:.2f} on the ten outputs of the two tasks.""",
                   statistics=STATISTICS[treatment], least=last.min(), most=last.max(), least_output=outputs.min(),
                   most_output=outputs.max())


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
    title = "The same after 10 + 10 passes (profile “full”)"
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
        before = (f"On {len(shares)} seeds of chapter 1's rotated digits the gap was at most {max(shares):.0%} of the "
                  "distance between the endpoints. ")
    return (f"{before}At the midpoint of the networks for splits 1 and 2, what share of that distance is it in "
            "**block 8** of ResNet-18, the last one?")


def reading_of_own(sweep: xarray.Dataset) -> Page:
    """How well every network knows the task that it was trained on last, with standard errors."""
    own = at(sweep, treatment="interpolated").own_right.astype(float).mean("image")
    images = sweep.sizes["image"]
    scores = []
    for model, value in zip(own.model.values, own.values):
        scores.append(f"split {model}: {value:.1%} ± {100 * error_of_share(value, images):.1f}")
    return reading("On their own tasks", """{scores}. The network for split 0 is the pretrained one. After ± is the
                   standard error on {images} test images, in points. Guessing gives 20%.""",
                   scores="; ".join(scores), images=images)


def reading_of_depth(sweep: xarray.Dataset, treatment: str = "interpolated") -> Page:
    """Whether the gap grows from the first block to the last."""
    numbers = by_depth(sweep, treatment)
    grows = numbers["block_1_share"] < numbers["block_4_share"] < numbers["block_8_share"]
    falls = numbers["pooled_share"] < numbers["block_8_share"]
    return reading("The gap grows with depth" if grows else "The gap does not grow steadily with depth", """
        On average over pairs and α, it is {block_1_share:.0%} of the distance between the endpoints in the first block,
        {block_4_share:.0%} in the fourth and {block_8_share:.0%} in the last. {then}""",
                   then="After the last block it is smaller again." if falls else "", **numbers)


def reading_of_blocks(sweep: xarray.Dataset, treatment: str = "interpolated") -> Page:
    """What became of gap and coef from block to block, and what Zhou et al. say of it, with this sweep's numbers."""
    numbers = by_depth(sweep, treatment)
    where = "throughout" if numbers["block_8_share"] < 0.1 else "in the first blocks only"
    return reading("What you should have seen", """
        With statistics {treatment}, the gap (mean over pairs and α) is {block_1_share:.0%} of the distance between the
        endpoints in block 1, {block_4_share:.0%} in block 4 and {block_8_share:.0%} in block 8. This agrees with Zhou
        et al. {where}, because they report small gaps in all blocks. After the last block it is {pooled_share:.0%}
        where pixels are averaged, and on the ten outputs of the two tasks {ten_outputs_share:.0%}.""", where=where,
        treatment=treatment, **numbers)


def reading_of_short_features(sweep: xarray.Dataset) -> Page:
    """coef and gap in the last block, with interpolated statistics and with new ones."""
    before, after = (by_depth(sweep, treatment) for treatment in ("interpolated", "re-estimated"))
    restored = before["block_8_coef"] < 1 - NEARLY and abs(after["block_8_coef"] - 1) <= NEARLY
    remains = after["block_8_share"] > before["block_8_share"] / 2
    return reading("New statistics bring coef back to 1, but the gap remains" if restored and remains else
                   "New statistics bring coef back to 1" if restored else "What do new statistics change?", """
        In the last block coef is {before:.2f} with interpolated statistics and {after:.2f} with statistics estimated
        anew (mean over pairs and α). The gap is {gap:.0%} of the distance between the endpoints with the former, and
        {gap_after:.0%} with the latter.""", before=before["block_8_coef"], after=after["block_8_coef"],
                   gap=before["block_8_share"], gap_after=after["block_8_share"])


def reading_of_lengths(sweep: xarray.Dataset) -> Page:
    """What coef is under two treatments of BatchNorm, in the blocks and on the outputs that matter."""
    numbers = by_depth(sweep, "interpolated")
    anew = {f"anew_{name}": value for name, value in by_depth(sweep, "re-estimated").items()}
    return reading("What you should have seen", """
        In the mean over images, pairs and α, coef with interpolated statistics falls from {block_1_coef:.2f} in block
        1 to {block_8_coef:.2f} in block 8. With new ones it is {anew_block_1_coef:.2f} in block 1 and
        {anew_block_8_coef:.2f} in block 8. On the outputs you have to look twice. Over all hundred, coef is
        {output_coef:.2f} with interpolated statistics and {anew_output_coef:.2f} with new ones. But most of these
        belong to rows that nobody trained, the same ones in both networks, so this says little about the two tasks. On
        the ten outputs of the two tasks it is {ten_outputs_coef:.2f} and {anew_ten_outputs_coef:.2f}.""",
                   **numbers, **anew)
