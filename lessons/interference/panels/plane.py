"""The plane that holds the average, task arithmetic and CART."""
import numpy as np
import xarray

from lessons.interference.experiment.plane import LINES, lead
from lessons.interference.panels.methods import with_reach
from lessons.kit import page
from lessons.kit.noise import told
from lessons.kit.page import Page, said
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Map, Path, Spots, chips, key, slider, view

_ALT = """
    {suite}, rank ratio {rank_ratio:g}: the highest accuracy, as a share of the single networks' on held-out images, is
    {best:.3f} at a = {at:g} and λ = {own:g}. On CART's line, a = 1, it is {cart:.3f}; on task arithmetic's, λ = 0,
    {plain:.3f}; the average has {average:.3f}. With a = {common:g} the best λ is {best_own:g}, with {top:.3f}; λ = 0
    gives {without:.3f}."""


@view
def common_and_own(sweep: xarray.Dataset):
    """Panel (d): left, a map of the normalised accuracy over a, how far along what the tasks have in common, and λ, how
    much of what each has alone, with the lines of CART and of task arithmetic; right, the best λ for every a, beside
    λ = 0. Controls: common, rank_ratio."""
    commons, owns, ratios = ([float(value) for value in sweep[name].values] for name in ("common", "own", "rank_ratio"))
    tables = sweep.share.transpose("rank_ratio", "own", "common").values
    one, columns, images = position(commons, 1.0, "a"), np.arange(len(commons)), int(sweep.attrs["held_out"])

    def draw(common, rank_ratio):
        table = tables[position(ratios, rank_ratio, "rank ratio")]
        top, at_top, column = table.max(0), table.argmax(0), position(commons, common, "a")
        highest, on_line = int(top.argmax()), int(table[0].argmax())
        values = {"cells": table[::-1], "CART": ([one, one], [-0.5, len(owns) - 0.5]),
                  "task arithmetic": ([len(commons) - 0.5, -0.5], [0, 0]), "best": ([highest], [at_top[highest]]),
                  "walk": (columns, at_top), "best λ": top, "λ = 0": table[0], "CART’s best": ([one], [top[one]]),
                  "average": ([one], [table[0, one]])}
        alt = said(_ALT, suite=sweep.attrs["suite"], rank_ratio=rank_ratio, best=top.max(), at=commons[highest],
                   own=owns[at_top[highest]], cart=top[one], plain=table[0].max(), average=table[0, one], common=common,
                   best_own=owns[at_top[column]], top=top[column], without=table[0, column])
        sure = with_reach([top.max(), top[one], table[0, on_line]], sweep.single, images)
        about = key(("merged", "the best λ for every a"), ("", "a: how far along what the tasks share"))
        off = commons[highest] > 1 and at_top[highest] > 0
        return Frame(finding_of_plane(sure, off), alt, values, about)

    last = len(commons) - 1
    across = Axis("a", -0.5, last + 0.5, kind="places", ticks={place: f"{a:g}" for place, a in enumerate(commons)})
    cells = Map("cells", low=float(np.floor(10 * tables.min()) / 10), high=float(np.ceil(10 * tables.max()) / 10))
    left = Chart(across, Axis("λ: how much of each task’s own", -0.5, len(owns) - 0.5, kind="places",
                              ticks={place: f"{own:g}" for place, own in enumerate(owns)}),
                 (cells, Path("CART", "single", "CART"), Path("task arithmetic", "single", "task arithmetic"),
                  Path("walk", "merged"), Spots("best", "merged"), Handle("common")))
    right = Chart(across, Axis("accuracy, share of the single networks’", 0, 1, unit="percent"),
                  (Line("λ = 0", "other", "λ = 0", dots=True, x=tuple(columns)),
                   Line("best λ", "merged", "", dots=True, near=True, x=tuple(columns)),
                   Spots("average", "other", names=("average",)), Spots("CART’s best", "single", names=("CART",)),
                   Handle("common")))
    best = min(commons, key=lambda a: abs(a - float(sweep.best.sel(line=LINES[0], coordinate="common"))))
    opens = float(sweep.best.sel(line=LINES[0], coordinate="rank_ratio"))
    controls = {"common": slider("a", {f"{a:g}": a for a in commons}, best, words=_words, places=columns,
                                 ends=[("", "pretrained"), ("", "beyond the average")]),
                "rank_ratio": chips("rank kept of each task", {f"{100 * ratio:g} %": ratio for ratio in ratios}, opens)}
    return {"kicker": "Chapter 7: what tasks have in common, and what each has alone", "charts": [left, right],
            "draw": draw, "controls": controls, "caption": f"{caption(sweep)} On held-out images."}


def _words(common):
    return "a = 1, the average" if common == 1 else f"a = {common:g}"


def finding_of_plane(sure: np.ndarray, off: bool) -> str:
    """Whether the best of the plane beats both lines by more than the noise of the images.

    Args:
        sure: (3, 3): accuracy, and what is two standard errors below and above it, of the best of the plane, of CART's
            line and of task arithmetic's.
        off: whether the best lies beyond the average and has something of each task's own.
    """
    best, cart, plain = sure[0]
    of_lines = max(cart, plain)
    error = np.hypot(*(sure[2, [0, 1 if cart >= plain else 2]] - sure[0, [0, 1 if cart >= plain else 2]]))
    if best - of_lines >= error:
        where = "goes beyond the average and keeps something of each task’s own" if off else "lies on neither line"
        return f"The best merge {where}"
    if abs(cart - plain) < error:
        return "The best merge cannot be told from those of CART and of task arithmetic"
    return f"The best merge cannot be told from the best of {'CART' if cart > plain else 'task arithmetic'}"


def reading(sweeps: dict[str, xarray.Dataset]) -> Page:
    """Where the best of the plane lies and how much better it is than either line, with these sweeps' numbers."""
    text = " ".join(_best(sweep) for sweep in sweeps.values())
    return page.reading("Where the best of the plane lies", "{text}", text=text)


def _best(sweep):
    best = {line: sweep.best.sel(line=line).values for line in LINES}
    anywhere, cart, plain = sweep.test.mean("task").values
    ahead, half, line = lead(sweep)
    rank_ratio, common, scale = best[LINES[0]]
    return said(
        """On {suite} held-out images choose a = {common:g} and λ = {scale:g} at rank ratio {rank_ratio:g}:
           {anywhere:.3f} on test images, against {cart:.3f} with a = 1 (CART) and {plain:.3f} with λ = 0 (task
           arithmetic, a = {plain_common:g}). That the plane holds something better than both lines: {verdict}
           ({ahead:+.3f} ± {half:.3f} over “{line}”, 95 % over tasks).""",
        verdict=told(ahead, half / 2).lower(),
        ahead=ahead,
        half=half,
        line=line,
        suite=sweep.attrs["suite"],
        common=common,
        scale=scale,
        rank_ratio=rank_ratio,
        anywhere=anywhere,
        cart=cart,
        plain=plain,
        plain_common=best[LINES[2]][1])
