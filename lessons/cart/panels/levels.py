"""What averaging loses, against the share of the pixels that are permuted."""
import numpy as np
import xarray

from lessons.cart.panels.bell import CHANCE, error_said, levels_of
from lessons.cart.panels.overlap import permutations_of
from lessons.cart.panels.parts import percent
from lessons.kit.noise import Difference
from lessons.kit.page import said
from lessons.kit.sweep import caption
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Reference, Star, key, slider, view

_ALT = """
    {share} of the pixels permuted: each network alone {own:.3f}, average {average:.3f}, pretrained {base:.3f}. Over all
    shares of permuted pixels: average {averages}."""


def question(sweep: xarray.Dataset) -> str:
    """What is asked before `levels`."""
    part = permutations_of(sweep)[1.0]
    return said("""**All** pixels are permuted. {tasks} networks are {own:.0f} % accurate on average, each on its
                   own task. How accurate is the average of their weights, over all tasks?""",
                tasks=part.sizes["task"], own=100 * levels_of(part)["own"])


@view
def levels(sweep: xarray.Dataset, prediction=None):
    """The mean accuracies of the single networks, of their average and of the pretrained network, against the share of
    the pixels that are permuted. Control: share. The prediction, the average's at 100 %, is a star."""
    parts = permutations_of(sweep)
    shares, by_share = tuple(parts), [levels_of(part) for part in parts.values()]
    lines = {name: np.array([row[name] for row in by_share]) for name in ("own", "average", "base")}
    images = next(iter(parts.values())).sizes["task"] * int(sweep.attrs["test_images"])
    if prediction:
        prediction.panel_answers(lines["average"][-1], {"share": 1.0})

    def draw(share):
        row = by_share[shares.index(share)]
        averages = ", ".join(f"{percent(each)} {value:.3f}" for each, value in zip(shares, lines["average"]))
        alt = said(_ALT, share=percent(share), averages=averages, **row)
        return Frame(finding(lines["own"] - lines["average"], images), alt, {**lines, "chance": CHANCE},
                     key(("merged", "the average of the networks"), ("single", "each network alone, on its own task"),
                         ("", "grey: the pretrained network")))

    ticks = {tick: f"{100 * tick:.0f} %" for tick in (0, 0.25, 0.5, 0.75, 1)}
    chart = Chart(Axis("pixels permuted", 0, 1, ticks=ticks),
                  Axis("mean accuracy over the tasks", 0, 1, unit="percent"),
                  (Reference("chance", "chance", "chance"), Line("base", "other", "pretrained", x=shares),
                   Line("own", "single", "each alone", x=shares),
                   Line("average", "merged", "average", x=shares, dots=True), Star("guess", "merged", x=(1.0,)),
                   Handle("share")))
    control = slider("pixels permuted", {percent(share): share for share in shares}, 1.0, places=shares,
                     words=lambda share: f"{percent(share)} of the pixels",
                     ends=[("", "the same inputs"), ("", "other inputs")])
    return {"kicker": "Chapter 8: what averaging loses", "charts": [chart], "draw": draw,
            "controls": {"share": control}, "hides": ["average"], "caption": f"{caption(sweep)} {error_said(sweep)}"}


def finding(losses: np.ndarray, images: int) -> str:
    """Whether the average loses more with every larger share of permuted pixels.

    Args:
        losses: the single networks' accuracy minus the average's, by rising shares.
        images: how many the accuracies are a share of.
    """
    grows = Difference.of(0.5 + losses[-1] / 2, 0.5 + losses[0] / 2, images)  # at an error that is at most so large
    if not (grows.value > 0 and grows.is_news):
        return "Averaging loses about as much however many pixels are permuted"
    return "The more pixels are permuted, the more averaging loses" if (np.diff(losses) > 0).all() else \
        "Averaging loses most where most pixels are permuted"
