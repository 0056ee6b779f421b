"""The plane that holds the average, task arithmetic and CART."""
import numpy as np
import xarray

from lessons.interference.experiment.plane import LINES, lead
from lessons.kit import page, plotting
from lessons.kit.noise import told
from lessons.kit.page import Page, said
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, moving_titles
from lessons.kit.plotting import BLACK, BLUE, RED
from lessons.kit.sweep import caption, position

CART = Look(RED)
PLAIN = Look(BLUE, line="--")


@panel
def common_and_own(sweep: xarray.Dataset):
    """Panel (d): normalised accuracy over a, how far along what the tasks have in common, and λ, how much of what each
    has alone. Controls: rank_ratio, scale."""
    fig, (left, right) = plotting.figure(2, height=4.4, width_ratios=(5, 4))
    common = sweep.common.values
    own = sweep.own.values
    ratios = sweep.rank_ratio.values
    values = sweep.share.transpose("rank_ratio", "own", "common").values
    at_average = position(common, 1.0, "a")
    image = left.imshow(values[0], origin="lower", aspect="auto", cmap="cividis", vmin=values.min(), vmax=values.max(),
                        animated=True)
    left.set_xticks(range(len(common)), [f"{value:g}" for value in common])
    left.set_yticks(range(len(own)), [f"{value:g}" for value in own])
    left.set(xlabel="a: along what all tasks have in common", ylabel="λ: what each task has alone, rank-reduced",
             xlim=(-0.5, len(common) - 0.5), ylim=(-0.5, len(own) - 0.5))
    left.grid(False)
    fig.colorbar(image, ax=left, label="share of the single model's accuracy")
    fig.legend(handles=_frames(left, at_average, len(common), len(own)), loc="outside lower left", ncols=2)
    star = cloud(left, Look("white", "*"), markeredgecolor=BLACK, markersize=15)
    right.set(xlabel="a", xlim=(-0.1, common.max() + 0.1), ylim=(0, 1.02))
    line = curve(right, Look(BLACK, "o"), "this λ")
    without = sweep.share.sel(own=0.0).isel(rank_ratio=0).values
    right.plot(common, without, color=BLUE, linestyle="--", marker="s", markersize=4, label="λ = 0")
    right.axvline(1, color=RED, linewidth=1.2, marker="")
    right.legend(loc="upper right")
    titles = moving_titles((left, right))

    def draw(rank_ratio, scale):
        table = values[position(ratios, rank_ratio, "rank ratio")]
        row = table[position(own, scale, "λ")]
        image.set_data(table)
        highest = np.unravel_index(table.argmax(), table.shape)
        star.set_data([highest[1]], [highest[0]])
        line.set_data(common, row)
        best = {"best": table.max(), "a": common[highest[1]], "own": own[highest[0]], "of_row": row.max(),
                "a_of_row": common[row.argmax()]}
        titles[0].set_text("rank ratio {:g}: best {best:.3f} at a = {a:g}, λ = {own:g}".format(rank_ratio, **best))
        titles[1].set_text("λ = {:.2f}: best {of_row:.3f} at a = {a_of_row:g}".format(scale, **best))
        return said(
            """{suite}, rank ratio {rank_ratio:g}: the highest accuracy, as a share of the single model's on held-out
               images, is {best:.3f} at a = {a:g} and λ = {own:g}. On CART's line, a = 1, it is {cart:.3f}; on task
               arithmetic's, λ = 0, {plain:.3f}; the average has {average:.3f}. With λ = {scale:.2f} the best a is
               {a_of_row:g}, with {of_row:.3f}.""",
            suite=sweep.attrs["suite"],
            rank_ratio=rank_ratio,
            scale=scale,
            cart=table[:, at_average].max(),
            plain=values[0, 0].max(),
            average=table[0, at_average],
            **best)

    controls = {"rank_ratio": slider("rank ratio", [float(ratio) for ratio in ratios], float(ratios[0])),
                "scale": slider("λ", [float(scale) for scale in own], 1.0)}
    return controls, fig, draw, caption(sweep) + " Star: the best of the plane."


def _frames(ax, one, columns, rows):
    """Frames around CART's column, at the place `one`, and task arithmetic's row; they move, to lie above the map."""
    cart = curve(ax, CART, "a = 1: CART", linewidth=2.5)
    cart.set_data(*_frame(one - 0.5, one + 0.5, -0.5, rows - 0.5))
    plain = curve(ax, PLAIN, "λ = 0: task arithmetic", linewidth=2.5)
    plain.set_data(*_frame(-0.5, columns - 0.5, -0.5, 0.5))
    return cart, plain


def _frame(left, right, low, high):
    """x and y along a rectangle's edge."""
    return [left, right, right, left, left], [low, low, high, high, low]


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
