"""What the lesson shows of the networks between A and B: where they are, the hill that is there or not, and its short
readings. A sentence that this sweep does not carry is left out."""
import torch
import xarray
from torch import Tensor

import data
from lessons.kit import claims, drawings, plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Page, minus, reading, said
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, RED, still, themed
from lessons.kit.sweep import at, caption, warned
from lessons.kit.view import percent
from lessons.linearity import algorithms
from lessons.linearity.experiment.elsewhere import shares
from lessons.linearity.experiment.mlp import claim_1
from lessons.linearity.panels.units import cosines_of_units
from lessons.lines.numbers import gaps, lengths
from toy_models import MLP, weights

ONE_START, TWO_STARTS = "one pretrained start", "two random starts"  # of the sweep's `start`
PLAIN = 0.1  # of accuracy: the network of mixed weights is plainly worse than the mixed outputs
HILL = 0.1  # nats: a barrier that one sees in the picture
NO_HILL = 0.005  # nats: two decimals show none
ALIKE, UNLIKE = 0.7, 0.3  # median cosine between the units of two networks
SMALL = 0.25  # of the distance between A and B: a gap that looks small
SHORT = 0.7  # coef: features that are plainly too short
FAR_LESS = 0.25  # of what convexity gains
MORE = 1.5  # times as large: a gap that is plainly larger


@themed
def places(networks: dict[float, torch.nn.Module]):
    """A plane through the five networks' weights, the one that keeps most of the distances between them: the pretrained
    network, the finetuned ones, and a line between two of these.

    Args:
        networks: {angle: network}, the pretrained one first.
    """
    vectors = torch.stack([weights.flatten(network.state_dict()) for network in networks.values()]).double()
    moved = vectors - vectors[0]
    _, sizes, directions = torch.linalg.svd(moved - moved.mean(0), full_matrices=False)
    x, y = (moved @ directions[:2].T).T.numpy()
    fig, ax = plotting.figure(width=6.4, height=3.6)
    for end_x, end_y in zip(x[1:], y[1:]):
        drawings.arrow(ax, (x[0], y[0]), (end_x, end_y), shrinkB=6)
    ax.plot(x[[1, -1]], y[[1, -1]], color=GREEN, linestyle="--", marker="")
    ax.plot(x[[1, -1]].mean(), y[[1, -1]].mean(), color=GREEN, marker="D", markersize=9, linestyle="")
    ax.annotate("what is here?", (x[[1, -1]].mean(), y[[1, -1]].mean()), xytext=(9, -12), textcoords="offset points")
    ax.plot(x[0], y[0], color=BLACK, marker="o", markersize=9, linestyle="")
    ax.annotate("pretrained", (x[0], y[0]), xytext=(0, 9), textcoords="offset points", ha="center")
    for angle, end_x, end_y in zip(list(networks)[1:], x[1:], y[1:]):
        name = {22.5: "A: ", 90.0: "B: "}.get(angle, "")
        colour = {22.5: BLUE, 90.0: ORANGE}.get(angle, GREY)
        side = 1 if end_x > x.mean() else -1
        ax.plot(end_x, end_y, color=colour, marker="o" if name.startswith("A") else "s", markersize=9, linestyle="")
        ax.annotate(f"{name}{angle:g}°", (end_x, end_y), xytext=(9 * side, -4), textcoords="offset points",
                    ha="left" if side > 0 else "right")
    ax.set(title="Five networks, seen in a plane", aspect="equal")
    ax.margins(0.25)
    ax.axis("off")
    shown = (sizes[:2].square().sum() / sizes.square().sum()).item()
    steps = moved[1:].norm(dim=1)
    source = data.source("rotated_mnist", angle=0.0)
    alt = said("""A plane through the weights of five networks. From the pretrained one, arrows lead to four finetuned
                  networks, {least:.1f} to {most:.1f} away. A dashed line joins A, finetuned on 22.5°, and B, finetuned
                  on 90°, and its middle is marked with a question.""",
               least=steps.min().item(), most=steps.max().item())
    below = said("""{warning}Networks trained on {source}. The plane keeps {shown:.0%} of the variance of the five
                    networks’ weights, so some distances look too short.""",
                 warning=warned(source.kind, "MNIST"), source=source.text, shown=shown)
    return plotting.show(fig, alt, below)


# -- the misconception ------------------------------------------------------------------------------

def reading_of_mixing(sweep: xarray.Dataset) -> Page:
    """What becomes of the accuracy at the midpoint if the weights are mixed and not the outputs."""
    middle = sweep.sel(alpha=0.5)
    images = int(sweep.attrs["test_images"])
    mixed = {start: (at(middle, start=start).mixed_accuracy.item(), at(middle, start=start).start_accuracy.item())
             for start in (TWO_STARTS, ONE_START)}
    gains = {start: Difference.of(accuracy, of_outputs, images) for start, (of_outputs, accuracy) in mixed.items()}
    spoilt = gains[TWO_STARTS].is_news and gains[TWO_STARTS].value < -PLAIN
    title = "Mixing the weights is not the same as mixing the outputs" if spoilt else "The two midpoints"
    outputs, accuracy = map(percent, mixed[TWO_STARTS])
    return reading(title, """
        After two random initialisations, the mixed outputs are {outputs} accurate at the midpoint, and the network with
        mixed weights is {accuracy} accurate. From one pretrained start, mixing the weights instead of the outputs
        changes the accuracy by {gain} points{doubt}.""",
                   outputs=outputs, accuracy=accuracy, gain=gains[ONE_START], doubt=gains[ONE_START].doubt())


def reading_of_units(pairs: dict[str, list]) -> Page:
    """How alike the units of two networks are, for every pair that `units.what_a_unit_looks_for` shows."""
    medians = {what: round(cosines_of_units(networks).median().item(), 2) + 0.0  # no −0
               for what, networks in pairs.items()}
    (first, alike), (second, unlike) = medians.items()
    title = "Units stay alike from one start, but not from two" if alike > ALIKE and unlike < UNLIKE else \
        "How alike are the units?"
    return reading(title, """
        The median cosine between the weights of a unit in A and of the same unit in B is {alike:.2f} {first}, and
        {unlike} {second}. (1 means the same direction, and two directions that have nothing to do with each other
        have about 0.)""",
                   alike=alike, unlike=minus(f"{unlike:.2f}"), first=first, second=second)


# -- the hill ---------------------------------------------------------------------------------------

@still
def hills(sweep: xarray.Dataset):
    """The loss minus the straight line between A and B, over α: for all pairs of finetuned networks on both tasks, and
    for two networks that learned one task from two random initialisations."""
    alphas = sweep.alpha.values
    fig, ax = plotting.figure(width=7.4, height=3.6)
    ax.axhline(0, color=BLACK, linewidth=1, marker="")
    both = sweep.loss.sel(task="both").transpose("pair", "alpha").values
    for number, losses in enumerate(both):
        ax.plot(alphas, _above(losses, alphas), color=GREEN, marker="",
                label=None if number else "finetuned on different tasks, six pairs")
    rise = _above(at(sweep, start=TWO_STARTS).start_loss.values, alphas)
    ax.plot(alphas, rise, color=RED, linestyle="--", marker="", label="one task, two random initialisations")
    ax.set(xlabel="α, the share of A", ylabel="loss minus straight line (nats)", title=finding_of_hills(sweep))
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0: B", "0.25", "0.5", "0.75", "1: A"])
    fig.legend(loc="outside lower center", ncols=2)
    numbers = claim_1(sweep)
    lowest = min(_above(losses, alphas).min() for losses in both)
    alt = said("""The loss minus the straight line between A and B, over α. For six pairs of finetuned networks, on both
                  tasks together, it is at most {most:.2f} nats and falls to −{lowest:.2f}. For two random
                  initialisations it rises to {hill:.2f}.""",
               most=numbers["barrier_both"], lowest=-lowest, hill=numbers["barrier_strangers"])
    below = said(" The dashed curve: {images:,} test images.", images=int(sweep.attrs["test_images"]))
    return plotting.show(fig, alt, caption(sweep) + " " + below)


def _above(losses, alphas):
    """Losses minus the straight line between the first and the last."""
    return losses - (1 - alphas) * losses[0] - alphas * losses[-1]


def finding_of_hills(sweep: xarray.Dataset) -> str:
    """What the picture of hills shows, in one sentence."""
    numbers = claim_1(sweep)
    if numbers["barrier_both"] > NO_HILL:
        return "Between some finetuned networks the loss rises above the straight line"
    if numbers["barrier_strangers"] < HILL:
        return "The loss does not rise above the straight line"
    return "A hill after two random initialisations, a valley after finetuning"


def reading_of_hills(sweep: xarray.Dataset) -> Page:
    """Whether there is a hill between finetuned networks, on each task and on both."""
    numbers = claim_1(sweep)
    flat = max(numbers["barrier_both"], numbers["barrier_one_task"]) <= NO_HILL
    title = "There is no hill between the finetuned networks" if flat else "The largest rise of the loss"
    first = "For all six pairs, on each task and on both together, the loss never rises above the straight line." \
        if flat else """On one task the loss rises by up to {barrier_one_task:.2f} nats above the straight line, and on
                        both together by up to {barrier_both:.2f}."""
    second = """On both tasks together, the midpoint even has a lower loss than the better of A and B, for every pair,
                by {middle_gain_least:.2f} nats or more.""" if numbers["middle_gain_least"] > 0 else ""
    third = "Between the two random initialisations of the last section it rises by {barrier_strangers:.2f} nats."
    return reading(title, f"{first} {second} {third}", **numbers)


# -- features ---------------------------------------------------------------------------------------

def reading_of_directions(sweep: xarray.Dataset) -> Page:
    """How large the gap is as a share of the distance between A and B, everywhere."""
    numbers = gaps(sweep)
    small = claims.condition("CTL-2", "gap_over_own_most").holds(numbers["gap_over_own_most"])
    title = "The features point nearly in the direction of the mix" if small else "The gap is not small everywhere"
    off = abs(sweep.alpha[sweep.gap_mean.argmax("alpha")] - 0.5).max().item()
    step = float(sweep.alpha[1] - sweep.alpha[0])
    where = said("For every pair and layer, over the map’s {alphas} α, it is largest at or next to the midpoint.",
                 alphas=sweep.sizes["alpha"]) if off < 1.5 * step else ""
    return reading(title, """
        For all six pairs and all layers, the gap is at most {most:.0%} of the distance from A to B (means over the
        images, at α = ¼, ½ and ¾). {where}""", most=numbers["gap_over_own_most"], where=where)


def reading_of_lengths(sweep: xarray.Dataset) -> Page:
    """How far the features of the hidden layers reach along the mix."""
    numbers = lengths(sweep)
    title = "The features are a little too short" if numbers["coef_most"] < 1 and \
        numbers["coef_least"] > 0.85 else "How long are the features?"
    return reading(title, """
        Over all six pairs (the panel opens on one), the hidden layers and α = ¼, ½ and ¾, coef is {coef_mean:.2f} on
        average, and {share_within_10_percent:.0%} of the images lie within 0.1 of 1. The means over the images run from
        {coef_least:.2f} to {coef_most:.3f}.""", **numbers)


def reading_of_shortest(sweep: xarray.Dataset, strangers: list, x: Tensor) -> Page:
    """In which hidden layer of which pair the fewest images have a coef near 1 at the midpoint, and how short the
    features of two strangers are.

    Args:
        strangers: [θ_i, θ_j].
        x: images (samples, …) for the strangers.
    """
    counts = sweep.coef_count.isel(layer=slice(None, -1)).sel(alpha=0.5)
    near = (counts.sel(bin=slice(0.9, 1.1)).sum("bin") / counts.sum("bin")).stack(place=("pair", "layer"))
    pair, layer = near.idxmin("place").item()
    least = near.min().item()
    *hidden, _ = at_the_midpoint(strangers, x).items()
    coef, name = min((coef, name) for name, (_, coef) in hidden)
    title = "Not every layer is that close" if least < 0.5 else "Where the features are shortest"
    return reading(title, """
        At the midpoint of {pair}, {only}{least:.0%} of the images are that close in {layer}. Between the
        strangers, coef falls to {coef:.2f} in {name}.""",
                   pair=pair, only="only " if least < 0.5 else "", least=least, layer=layer, coef=coef, name=name)


def reading_of_strangers(strangers: list, x: Tensor) -> Page:
    """Whether the gap of two strangers looks small in the hidden layers, and not so at the output.

    Args:
        strangers: [θ_i, θ_j].
        x: images (samples, …).
    """
    *hidden, (output, _) = at_the_midpoint(strangers, x).values()
    most, shortest = max(share for share, _ in hidden), min(coef for _, coef in hidden)
    small = most < SMALL and output > 1
    title = "In the hidden layers even strangers have small shares" if small else "The shares of the strangers"
    will = ", and the length of their features will show it, too" if small and shortest < SHORT else ""
    return reading(title, """
        There the gap is at most {most:.0%} of the distance from A to B. In the output layer it is {output:.0%} of it,
        so the midpoint is further from the mix than A is from B. So a small share in a hidden layer alone does not show
        that two networks mix well. How badly these two mix shows in the output{will}.""" if small else """
        In the hidden layers the gap is at most {most:.0%} of the distance from A to B. In the output layer it is
        {output:.0%} of it.""", most=most, output=output, will=will)


def at_the_midpoint(networks: list, x: Tensor) -> dict[str, tuple[float, float]]:
    """{layer: (the gap as a share of the distance between A and B, coef)}, means over the images.

    Args:
        networks: [θ_i, θ_j], two MLPs.
        x: images (samples, …).
    """
    middle = MLP.from_state(weights.interpolate(*(network.state_dict() for network in networks), 0.5))
    of_i, of_j, of_middle = (network.features(x) for network in (*networks, middle))
    of_layers = {}
    for layer, features in of_middle.items():
        ends = of_i[layer], of_j[layer]
        share = algorithms.cosine_gap(features, *ends, 0.5).nanmean() / algorithms.own_distance(*ends).nanmean()
        length = algorithms.coef(features, algorithms.mix(*ends, 0.5)).nanmean()
        of_layers[layer] = share.item(), length.item()
    return of_layers


# -- the loss ---------------------------------------------------------------------------------------

def reading_of_convexity(networks: list, tests: list, images: int = 2000) -> Page:
    """At the midpoint and on both tasks together: the straight line between the losses of A and B, the loss of the
    mixed outputs, and that of the network with mixed weights; and what becomes of the accuracy.

    Args:
        networks: [θ_i, θ_j], two MLPs.
        tests: the test sets of their tasks.
        images: so many of each.
    """
    x, y = torch.cat([test.x[:images] for test in tests]), torch.cat([test.y[:images] for test in tests])
    middle = MLP.from_state(weights.interpolate(*(network.state_dict() for network in networks), 0.5))
    outputs = [network(x) for network in networks]
    line = sum(algorithms.evaluate(logits, y)[0] for logits in outputs) / 2
    mix, of_outputs = algorithms.evaluate(algorithms.mix(*outputs, 0.5), y)
    loss, of_weights = algorithms.evaluate(middle(x), y)
    near = 0 < loss - mix < FAR_LESS * (line - mix)
    title = "The network misses the mix, but by far less than convexity gains" if near else "On all images"
    lost = Difference.of(of_weights, of_outputs, len(y))
    costs = said("Missing it still costs accuracy, {of_weights} instead of {of_outputs}.",
                 of_weights=percent(of_weights),
                 of_outputs=percent(of_outputs)) if lost.is_news and lost.value < 0 else ""
    return reading(title, """
        Over {images:,} test images of each task, the straight line is at {line:.2f} nats at the midpoint, the mix of
        the outputs at {mix:.2f}, and the network with mixed weights at {loss:.2f}. {costs}""",
                   images=images, line=line, mix=mix, loss=loss, costs=costs)


def reading_of_reach(sweep: xarray.Dataset) -> Page:
    """How large the gap is on other tasks, as a share of the distance between A and B."""
    numbers = shares(sweep)
    digits, mixed = numbers["share_digits"], numbers["share_digits_and_clothes"]
    title = "Other tasks can have larger gaps" if mixed > MORE * digits else "The gap on other tasks"
    return reading(title, """
        In its worst layer, the gap is at most {digits:.0%} of the distance from A to B for rotated digits,
        {share_clothes:.0%} for rotated clothes, and {mixed:.0%} for digits with clothes.""",
                   digits=digits, mixed=mixed, **numbers)
