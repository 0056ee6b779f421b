"""Cross-task linearity between two finetuned text encoders, layer by layer and along α."""
import re

import numpy as np
import xarray

from lessons.kit.noise import Difference
from lessons.kit.page import said
from lessons.kit.sweep import names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, key, view
from lessons.lines.panels import ALPHA_AXIS, CLOSE, share_of_a
from lessons.words.experiment.numbers import SAME
from lessons.words.panels import networks
from lessons.words.panels.networks import OWN, is_more

_BEHIND = 0.5  # from one place behind the blocks to the next, where the blocks together are 1 long
_CALLED = {"pooled": "last norm", "output": "logits"}
_ALT = """
    {network}, α = {alpha:.2f}, mean over {pairs} pairs: how far the features are from the mix (gap, 1 − cos), as a
    share of the distance from A to B, {shares}. The pair with the largest share in any layer is {pair}, {most:.1f} %
    in {layer}."""


def shares_of(sweep: xarray.Dataset) -> np.ndarray:
    """(pairs, layers, α): the gap in per cent of the distance between the two ends; NaN in layers where the ends do
    not differ, such as embeddings that stay as they are."""
    distances = sweep.own_mean.transpose("pair", "layer").values[..., None]
    gaps = np.maximum(sweep.gap_mean.transpose("pair", "layer", "alpha").values, 0)
    return 100 * gaps / np.where(distances > SAME, distances, np.nan)


def depths(layers: list[str]) -> np.ndarray:
    """Where layers stand on an axis on which networks of several depths can be compared: the embedding at 0, the last
    block at 1, what follows it behind, the logits last."""
    numbers = [re.fullmatch(r"(?:block|layer) (\d+)", layer) for layer in layers]
    count, behind, places = sum(map(bool, numbers)), 1.0, []
    for name, number in zip(layers, numbers):
        if number:
            places.append(int(number[1]) / count)
        elif len(places) and places[-1] >= 1:
            behind = 1 + 2 * _BEHIND if name == "output" else behind + _BEHIND
            places.append(behind)
        else:
            places.append(0.0)
    return np.array(places)


def called(layer: str) -> str:
    """A layer's name, as a learner knows it."""
    return _CALLED.get(layer, layer)


@view
def ctl(sweep: xarray.Dataset, minilm: xarray.Dataset | None = None, prediction=None):
    """Left, the gap as a share of the distance between A and B over the layers, a grey line for every pair and their
    mean; right, the same of the last block along α, with a band from the smallest pair to the largest.

    Args:
        sweep, minilm: of `experiment.lines`, and of `experiment.minilm`, where it was measured.

    Controls: alpha; network, where there are two. The prediction, the share half-way in the last block of the first
    network, mean over pairs, in per cent, is a star.
    """
    sweeps = networks.by_network(sweep, minilm)
    alphas, shares = sweep.alpha.values, {network: shares_of(each) for network, each in sweeps.items()}
    layers = {network: names(each.layer) for network, each in sweeps.items()}
    if prediction:
        half_way = shares[OWN][:, _last_block(layers[OWN]), position(alphas, 0.5)]
        prediction.panel_answers(half_way.mean(), networks.asked(sweeps, alpha=0.5))

    def draw(alpha, network=OWN):
        step, values = position(alphas, alpha), {"near": 100 * CLOSE}
        for name, each in shares.items():
            drawn = each if name == network else np.full_like(each, np.nan)
            values |= {_pair(name, pair): line[:, step] for pair, line in zip(names(sweeps[name].pair), drawn)}
            values[_mean(name)] = drawn[:, :, step].mean(0)
        row, shown = _last_block(layers[network]), shares[network]
        values |= {"last block": shown[:, row].mean(0), "pairs": (shown[:, row].min(0), shown[:, row].max(0))}
        pair, layer = np.unravel_index(np.nanargmax(shown[:, :, step]), shown.shape[:2])
        numbers = zip(layers[network], shown[:, :, step].mean(0))
        alt = said(_ALT, network=network.capitalize() if network == OWN else network, alpha=alpha, pairs=len(shown),
                   shares=", ".join(f"{called(name)} {share:.1f} %" for name, share in numbers if share == share),
                   pair=names(sweeps[network].pair)[pair], most=shown[pair, layer, step],
                   layer=called(layers[network][layer]))
        about = key(("merged", "The network between A and B, mean over pairs"), ("", "grey: every pair of tasks"),
                    ("", "right: the last block, band from the smallest pair to the largest"))
        return Frame(finding_of_layers(layers[network], shown[:, :, step]), alt, values, about)

    return {"kicker": "Chapter 14: between two text encoders",
            "tries": ("Drag α. Where between A and B is the gap largest?",
                      "Follow the layers from left to right. Where are the features farthest from the mix?"),
            "charts": _charts(sweeps, shares, layers), "draw": draw,
            "hides": ["near", *(_pair(name, pair) for name, each in sweeps.items() for pair in names(each.pair)),
                      *map(_mean, sweeps), "last block", "pairs"],
            "controls": {"alpha": share_of_a(alphas)} | networks.menu(sweeps),
            "caption": f"{networks.captions(sweeps)} Features are means over a sentence’s words. 100 % is the distance "
                       f"between A and B; this course calls a gap below {CLOSE:.0%} of it near."}


def _pair(network, pair):
    return f"{network}: {pair}"


def _mean(network):
    return f"mean of the pairs, {network}"


def _last_block(layers):
    return max(place for place, depth in enumerate(depths(layers)) if depth <= 1)


def _charts(sweeps, shares, layers):
    """The gap over the layers, and in the last block over α, with room for every network."""
    high = max(1.1 * max(float(np.nanmax(each)) for each in shares.values()), 110 * CLOSE)
    x_of = {network: tuple(depths(each)) for network, each in layers.items()}
    if len(sweeps) == 1:
        ticks = {place: called(layer) for network, each in layers.items() for place, layer in zip(x_of[network], each)}
    else:
        ticks = {0.0: "embedding", 1.0: "last block"} | {
            place: called(layer) for network, each in layers.items() for place, layer in zip(x_of[network], each)
            if place > 1}
    grey = [Line(_pair(network, pair), "other", x=x_of[network], aside=True) for network, each in sweeps.items()
            for pair in names(each.pair)]
    last = max(map(max, x_of.values()))
    left = Chart(Axis("layer", -0.1 * last, 1.1 * last, ticks=ticks),
                 Axis("gap, in % of the distance from A to B", 0, high, unit="%", digits=1),
                 (*grey, Reference("near", "chance", "below: near"),
                  *(Line(_mean(network), "merged", x=x, dots=True) for network, x in x_of.items())))
    right = Chart(ALPHA_AXIS, Axis("the same in the last block", 0, high, unit="%", digits=1),
                  (Band("pairs", "merged"), Line("last block", "merged", near=True),
                   Star("guess", "merged", x=(0.5,)), Handle("alpha")))
    return [left, right]


def finding_of_layers(layers: list[str], shares: np.ndarray) -> str:
    """In which layers the features point nearly in the direction of the mix, and where behind the last block they do so
    least, if less than in the first by more than the pairs differ.

    Args:
        shares: (pairs, layers), the gap in per cent of the distance between the ends; NaN where they do not differ.
    """
    layers, shares = zip(*((layer, column) for layer, column in zip(layers, shares.T) if np.isfinite(column).all()))
    shares = np.array(shares).T
    if shares.max() < 1e-4:
        return "At an end the network is A or B itself"
    near, means = "The features point nearly in the direction of the mix", shares.mean(0)
    far = [called(layer) for layer, mean in zip(layers, means) if mean > 100 * CLOSE]
    if len(far) == len(layers):
        return "The features do not point in the direction of the mix, in any layer"
    if far:
        return f"{near}, but not in {far[0] if len(far) == 1 else f'{len(far)} of the layers'}"
    first, worst = next(place for place, depth in enumerate(depths(layers)) if depth > 0), int(np.argmax(means))
    farther = worst > first and len(shares) > 1 and is_more(Difference.paired(shares[:, worst], shares[:, first]))
    everywhere = " and for every pair" if shares.max() <= 100 * CLOSE else ""
    where = f", least so in {called(layers[worst])}" if farther and worst >= _last_block(layers) else ""
    return f"{near}, in every layer{everywhere}{where}"
