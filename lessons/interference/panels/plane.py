"""The plane that holds the average, task arithmetic and CART."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page
from lessons.interference.experiment.plane import LINES
from lessons.kit.panel import slider
from lessons.kit.plotting import BLACK, BLUE, RED
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel


@panel
def common_and_own(sweep: xarray.Dataset):
    """Panel (d): normalised accuracy over a, how far along what the tasks have in common, and λ, how much of what each has alone. Controls: rank_ratio, scale."""
    fig, (left, right) = plotting.figure(2, height=4.4, width_ratios=(5, 4))
    common, own, ratios = (sweep[name].values for name in ("common", "own", "rank_ratio"))
    values, one = sweep.share.transpose("rank_ratio", "own", "common").values, position(common, 1.0, "a")
    image = left.imshow(values[0], origin="lower", aspect="auto", cmap="cividis", vmin=values.min(), vmax=values.max(), animated=True)
    fig.colorbar(image, ax=left, label="share of the single model's accuracy")
    left.set_xticks(range(len(common)), [f"{value:g}" for value in common])
    left.set_yticks(range(len(own)), [f"{value:g}" for value in own])
    left.set(xlabel="a: along what all tasks have in common", ylabel="λ: what each task has alone, rank-reduced", xlim=(-0.5, len(common) - 0.5), ylim=(-0.5, len(own) - 0.5))
    left.grid(False)
    cart = left.plot([one - 0.5, one - 0.5, one + 0.5, one + 0.5, one - 0.5], [-0.5, len(own) - 0.5, len(own) - 0.5, -0.5, -0.5], color=RED, marker="", linewidth=2.5, label="a = 1: CART", animated=True)[0]
    plain = left.plot([-0.5, len(common) - 0.5, len(common) - 0.5, -0.5, -0.5], [-0.5, -0.5, 0.5, 0.5, -0.5], color=BLUE, marker="", linewidth=2.5, linestyle="--", label="λ = 0: task arithmetic", animated=True)[0]
    star = left.plot([], [], color="white", marker="*", markeredgecolor=BLACK, markersize=15, linestyle="", animated=True)[0]
    fig.legend(handles=[cart, plain], loc="outside lower left", ncols=2)
    right.set(xlabel="a", xlim=(-0.1, common.max() + 0.1), ylim=(0, 1.02))
    curve = right.plot([], [], color=BLACK, marker="o", label="this λ", animated=True)[0]
    right.plot(common, sweep.share.sel(own=0.0).isel(rank_ratio=0).values, color=BLUE, linestyle="--", marker="s", markersize=4, label="λ = 0")
    right.axvline(1, color=RED, linewidth=1.2, marker="")
    right.legend(loc="upper right")
    titles = plotting.moving_titles((left, right))

    def draw(rank_ratio, scale):
        table, row = values[position(ratios, rank_ratio, "rank ratio")], position(own, scale, "λ")
        image.set_data(table)
        at = np.unravel_index(table.argmax(), table.shape)
        star.set_data([at[1]], [at[0]])
        curve.set_data(common, table[row])
        titles[0].set_text(f"rank ratio {rank_ratio:g}: best {table.max():.3f} at a = {common[at[1]]:g}, λ = {own[at[0]]:g}")
        titles[1].set_text(f"λ = {scale:.2f}: best {table[row].max():.3f} at a = {common[table[row].argmax()]:g}")
        return (f"{sweep.attrs['suite']}, rank ratio {rank_ratio:g}: the highest accuracy, as a share of the single model's on held-out images, is {table.max():.3f} at a = {common[at[1]]:g} and λ = "
                f"{own[at[0]]:g}. On CART's line, a = 1, it is {table[:, one].max():.3f}; on task arithmetic's, λ = 0, {values[0, 0].max():.3f}; the average has {table[0, one]:.3f}. With λ = {scale:.2f} the best a "
                f"is {common[table[row].argmax()]:g}, with {table[row].max():.3f}.")

    controls = {"rank_ratio": slider("rank ratio", [float(ratio) for ratio in ratios], float(ratios[0])), "scale": slider("λ", [float(scale) for scale in own], 1.0)}
    return controls, fig, draw, caption(sweep) + " Star: the best of the plane."


def reading(sweeps: dict[str, xarray.Dataset]) -> Page:
    """Where the best of the plane lies and how much better it is than either line, with these sweeps' numbers."""
    parts = []
    for sweep in sweeps.values():
        best, tests = {line: sweep.best.sel(line=line).values for line in LINES}, dict(zip(LINES, sweep.test.values))
        parts.append(f"On {sweep.attrs['suite']} held-out images choose a = {best[LINES[0]][1]:g} and λ = {best[LINES[0]][2]:g} at rank ratio {best[LINES[0]][0]:g}: {tests[LINES[0]]:.3f} on test images, against "
                     f"{tests[LINES[1]]:.3f} with a = 1 (CART) and {tests[LINES[2]]:.3f} with λ = 0 (task arithmetic, a = {best[LINES[2]][1]:g}).")
    text = " ".join(parts)
    return Page(text, f"<p><b>Where the best of the plane lies.</b> {text}</p>")
