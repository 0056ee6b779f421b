"""The plane that holds the average, task arithmetic and CART."""
import numpy as np
import xarray

from lessons.interference.experiment import IN_THE_LEDGER, results
from lessons.interference.experiment.plane import LINES, lead
from lessons.interference.panels.methods import SEVERAL, suite_of, with_reach
from lessons.kit import claims, drawings, page, plotting
from lessons.kit.page import Page, said
from lessons.kit.plotting import BLACK, GREEN, ORANGE
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Map, Path, Spots, Star, chips, key, slider, view

_ALT = """
    {suite}, rank ratio {rank_ratio:g}: the highest accuracy, as a share of the single networks' on held-out images, is
    {best:.3f} at a = {at:g} and λ = {own:g}. On CART's line, a = 1, it is {cart:.3f}; on task arithmetic's, λ = 0,
    {plain:.3f}; the average has {average:.3f}. With a = {common:g} the best λ is {best_own:g}, with {top:.3f}; λ = 0
    gives {without:.3f}."""


@plotting.themed
def directions():
    """A drawing: θ₀, three finetuned networks and their average, with the direction that they have in common and what
    each has alone. No measurement."""
    networks = np.array([[2.5, 1.15], [2.9, -0.25], [2.1, -0.9]])
    average = networks.mean(0)
    fig, ax = plotting.figure(width=6.4, height=2.9)
    drawings.arrow(ax, (0, 0), average, ORANGE, shrinkB=4)
    drawings.arrow(ax, average, 1.7 * average, ORANGE, shrinkB=4, linestyle=":")
    for place, network in enumerate(networks):
        drawings.arrow(ax, average, network, GREEN, shrinkB=4)
        ax.plot(*network[:, None], color=BLACK, marker="o")
        ax.annotate(f"network {place + 1}", network, xytext=(8, -3), textcoords="offset points")
    for point, name, aside in (((0, 0), "θ₀", (-20, -4)), (average, "average", (-64, 10))):
        ax.plot([point[0]], [point[1]], color=BLACK, marker="s")
        ax.annotate(name, point, xytext=aside, textcoords="offset points")
    ax.text(0.75, -0.32, "in common", color="#9a6a00", ha="center")
    ax.text(4.35, -0.35, "further along the\ncommon direction", color="#9a6a00", ha="center")
    ax.text(2.6, 0.5, "alone", color=GREEN)
    ax.set(xlim=(-0.4, 5.2), ylim=(-1.3, 1.5))
    ax.axis("off")
    return plotting.show(fig, "A drawing. From θ₀ an arrow goes to the average of three networks, which is what they "
                              "have in common, and from the average an arrow goes to each network, which is what it "
                              "has alone.", "A drawing, not a measurement.")


@view
def common_and_own(sweep: xarray.Dataset, prediction=None):
    """Panel (d): left, a map of the normalised accuracy over a, how far along what the tasks have in common, and λ, how
    much of what each has alone, with the lines of CART and of task arithmetic; right, the best λ for every a, beside
    λ = 0. Controls: common, rank_ratio.

    The prediction, the highest accuracy of the plane, is a star.
    """
    commons, owns, ratios = ([float(value) for value in sweep[name].values] for name in ("common", "own", "rank_ratio"))
    tables = sweep.share.transpose("rank_ratio", "own", "common").values
    one, columns, images = position(commons, 1.0, "a"), np.arange(len(commons)), int(sweep.attrs["held_out"])
    opens = float(sweep.best.sel(line=LINES[0], coordinate="rank_ratio"))
    asked = tables[position(ratios, opens, "rank ratio")]
    if prediction:
        prediction.panel_answers(asked.max(), {"rank_ratio": opens})

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
        about = key(("merged", "the best λ for every a"), ("", "a: how far along the common direction"))
        off = commons[highest] > 1 and at_top[highest] > 0
        return Frame(finding_of_plane(sure, off), alt, values, about)

    last = len(commons) - 1
    across = Axis("a", -0.5, last + 0.5, kind="places", ticks={place: f"{a:g}" for place, a in enumerate(commons)})
    cells = Map("cells", low=float(np.floor(10 * tables.min()) / 10), high=float(np.ceil(10 * tables.max()) / 10))
    left = Chart(across, Axis("λ: how much of each task’s own; colour: accuracy", -0.5, len(owns) - 0.5, kind="places",
                              ticks={place: f"{own:g}" for place, own in enumerate(owns)}),
                 (cells, Path("CART", "single", "CART"), Path("task arithmetic", "single", "task arithmetic"),
                  Path("walk", "merged"), Spots("best", "merged"), Handle("common")))
    right = Chart(across, Axis("accuracy, share of the single networks’", 0, 1, unit="percent"),
                  (Line("λ = 0", "other", "λ = 0", dots=True, x=tuple(columns)),
                   Line("best λ", "merged", "", dots=True, near=True, x=tuple(columns)),
                   Spots("average", "other", names=("average",)), Spots("CART’s best", "single", names=("CART",)),
                   Star("guess", "merged", x=(float(asked.max(0).argmax()),)), Handle("common")))
    best = min(commons, key=lambda a: abs(a - float(sweep.best.sel(line=LINES[0], coordinate="common"))))
    controls = {"common": slider("a", {f"{a:g}": a for a in commons}, best, words=_words, places=columns,
                                 ends=[("", "pretrained"), ("", "beyond the average")]),
                "rank_ratio": chips("rank kept of each task", {f"{100 * ratio:g} %": ratio for ratio in ratios}, opens)}
    return {"kicker": "Chapter 7: what tasks have in common, and what each has alone", "charts": [left, right],
            "draw": draw, "controls": controls, "caption": f"{caption(sweep)} On held-out images. Best values may "
                                                                   "lie at the edge of what was tried.",
            "hides": ["cells", "best", "walk", "best λ", "λ = 0", "average", "CART’s best"]}


def question(sweep: xarray.Dataset) -> str:
    """How high the plane rises above CART's and task arithmetic's lines, asked."""
    table = sweep.share.sel(rank_ratio=sweep.best.sel(line=LINES[0], coordinate="rank_ratio"))
    cart, plain = table.sel(common=1.0).max().item(), table.sel(own=0.0).max().item()
    return said("""On CART’s line the best merge has {cart:.0%} of the single networks’ accuracy, and on task
                   arithmetic’s line it has {plain:.0%}. What share does the **best merge of the whole
                   plane** reach?""",
                cart=cart, plain=plain)


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
        return "The best merge is within the noise of those of CART and of task arithmetic"
    return f"The best merge is within the noise of the best of {'CART' if cart > plain else 'task arithmetic'}"


def reading(sweeps: dict[str, xarray.Dataset]) -> Page:
    """How much better the best of the plane is than either line, and a table of where it lies, with these sweeps'
    numbers."""
    said_first = best_in_words({suite_of(sweep): lead(sweep)[:2] for sweep in sweeps.values()}, over_seeds())
    rows = [row for sweep in sweeps.values() for row in _bests(sweep)]
    below = said("""Chosen on held-out images; accuracy on test images, as a share of the single networks', mean over
                    tasks. The rank is the rank ratio times the shorter side of each matrix. * is the largest a or λ
                    that was tried. ± above: the 95 % interval over tasks.""")
    made = page.table(("best of", "a", "λ", "rank ratio", "accuracy"), rows, before=said_first.page,
                      after=page.quiet(below))
    return Page(f"{said_first.text}\n{made.text}\n{below}", made.page)


def _bests(sweep):
    """Rows of the table: the best of the plane and of both lines on one suite."""
    names = ("the plane", "CART’s line, a = 1", "task arithmetic’s line, λ = 0")
    rows = []
    for line, name in zip(LINES, names):
        rank_ratio, common, scale = sweep.best.sel(line=line).values
        accuracy = sweep.test.mean("task").sel(line=line).item()
        edges = ["*" if value == sweep[knob].max() else "" for knob, value in (("common", common), ("own", scale))]
        rows.append((f"{suite_of(sweep)}: {name}", f"{common:g}{edges[0]}", f"{scale:g}{edges[1]}",
                     f"{rank_ratio:g}" if scale else "–", f"{accuracy:.3f}"))
    return rows


def best_in_words(leads: dict[str, tuple[float, float]], more: str = "") -> Page:
    """On which suites the best of the plane is better than both lines, of {suite: (by how much it is ahead of the
    better line, half of its 95 % interval over tasks)}; more: a sentence at the end."""
    ahead = {suite: mean > half for suite, (mean, half) in leads.items()}
    if all(ahead.values()):
        title = "In this run, a merge off both lines was better"
    elif not any(ahead.values()):
        title = "In this run, no merge off both lines was measurably better"
    elif all(mean > 0 for mean, _ in leads.values()):
        winning = " and ".join(suite for suite, of_suite in ahead.items() if of_suite)
        title = f"In this run, a merge off both lines was measurably better only on {winning}"
    else:
        title = "In this run, a merge off both lines was not better on every suite"
    text = " ".join(_beside(suite, *lead) for suite, lead in leads.items())
    return page.reading(title, "{text} The settings were chosen on held-out images. {more}", text=text, more=more)


def _beside(suite, mean, half):
    """How far the best of the plane is ahead of the better line on a suite, in a sentence."""
    if mean == half == 0:
        return f"On {suite}, the best merge of the plane was on the better of the two lines."
    return said("""On {suite}, the best merge of the plane had {points:.1f} points {more} normalised accuracy than the
                   better of the two lines (± {half:.1f}){noise}.""", suite=suite, points=100 * abs(mean),
                more="more" if mean >= 0 else "less", half=100 * half,
                noise="" if abs(mean) > half else ", which is within the noise of these tasks")


_OF_MLPS = ("several", "rotated")  # suites


def over_seeds() -> str:
    """Whether the best of the plane is ahead of both lines over the ledger's seeds, on the suites of MLPs, in a
    sentence; "" where the ledger has no two seeds of both suites."""
    numbers = claims.measured().get("CART-8", {})
    leads = [100 * np.array(numbers.get(f"{IN_THE_LEDGER[name]}: plane over both lines", [])) for name in _OF_MLPS]
    if min(map(len, leads)) < 2:
        return ""
    if not all(of_suite.mean() > results.interval(of_suite) for of_suite in leads):
        return f"Over {len(leads[0])} seeds in profile full, it was not measurably better on both suites."
    first, second = (of_suite.mean() for of_suite in leads)
    return said("On average over {count} seeds in profile full, it was better on both, by {first:.0f} points on "
                "several data sets and by {second:.0f} on Rotated MNIST.",
                count="ten" if len(leads[0]) == 10 else len(leads[0]), first=first, second=second)


@plotting.still
def logits(spreads: dict[str, float], suite: str = SEVERAL):
    """How large the average's logits are, a row a task, beside those of the task's own network; of what `plane.spreads`
    gives of a suite."""
    fig, ax = plotting.figure(height=0.3 * len(spreads) + 1.3)
    rows = range(len(spreads))[::-1]
    ax.plot(list(spreads.values()), rows, color=BLACK, marker="s", linestyle="", markersize=8)
    ax.axvline(1, color=GREEN, marker="")
    ax.set_yticks(list(rows), list(spreads))
    ax.set(xlim=(0, max(1.1, 1.05 * max(spreads.values()))),
           xlabel="spread of the average’s logits (green line: the task’s own network’s)")
    plotting.in_percent(ax.xaxis)
    told = "; ".join(f"{task} {spread:.2f}" for task, spread in spreads.items())
    smaller = sum(spread < 1 for spread in spreads.values())
    count = "each" if smaller == len(spreads) else smaller
    caption = f"{page.capital(suite)}. On {count} of the {len(spreads)} tasks, the average’s logits spread less than " \
              "those of the task’s own network. Spread: how far the logits of an image lie from their mean (root " \
              "mean square over the test images)."
    return plotting.show(fig, f"Spread of the average’s logits, as a share of the own network’s. {told}.", caption)
