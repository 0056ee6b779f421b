"""The loss on two planes, and CART's way through them."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.cart.experiment.plane import LAMS, PLANES
from lessons.cart.panels.parts import percent, titles
from lessons.kit.page import Page
from lessons.kit.panel import slider
from lessons.kit.plotting import BLACK, ORANGE, RED, SKY
from lessons.kit.panel import panel


@panel
def plane(sweep: xarray.Dataset):
    """The mean loss on the plane of the finetuned networks, as in Fig. 5, and on that of the path itself; CART's way
    from rank 0 to full rank at one λ. Controls: rank, lam."""
    ranks = list(map(float, sweep["rank"].values))
    fig, axes = plotting.figure(2, height=4.6)
    paths, spots = [], []
    for ax, name in zip(axes, PLANES):
        part = sweep.sel(plane=name)
        loss = part.loss.mean("task").values
        image = ax.contourf(part.x, part.y, np.log(loss), levels=14, cmap="cividis")
        ax.plot(*part.tuned.values.T, color="white", marker="^", markeredgecolor=BLACK, linestyle="", label="finetuned networks")
        ax.plot(*part.start.values, color=SKY, marker="s", markeredgecolor=BLACK, linestyle="", label="pretrained")
        ax.plot(0, 0, color="white", marker="o", markeredgecolor=BLACK, linestyle="", markersize=8, label="average")
        paths.append(ax.plot([], [], color=RED, linewidth=2, marker=".", markersize=6, label="CART, rank 0 to full", animated=True)[0])
        spots.append(ax.plot([], [], color=ORANGE, marker="*", markersize=16, markeredgecolor=BLACK, linestyle="", label="CART at this rank", animated=True)[0])
        ax.set(xlabel=f"component 1 ({part.explained.values[0]:.0%} of variance)", ylabel=f"component 2 ({part.explained.values[1]:.0%})", xlim=(part.x.min(), part.x.max()), ylim=(part.y.min(), part.y.max()))
        ax.grid(False)
        bar = fig.colorbar(image, ax=ax, shrink=0.85)
        bar.ax.set_ylabel("mean loss (nats)", fontsize=8)
        ticks = np.linspace(np.log(loss.min()), np.log(loss.max()), 5)
        bar.set_ticks(ticks, labels=[f"{np.exp(tick):.2g}" for tick in ticks], fontsize=7)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8.5)
    moving = titles(axes)
    places = [sweep.path.sel(plane=name).values for name in PLANES]
    lowest = ", ".join(f"{value:.3f}" for value in sweep.loss.mean("task").min(["row", "column"]).values)
    inside, losses, away = sweep.inside.values, sweep.path_loss.mean("task").values, sweep.away.values

    def draw(rank, lam):
        row, column = ranks.index(rank), LAMS.index(lam)
        for path, spot, place in zip(paths, spots, places):
            path.set_data(*(lam * place).T)
            spot.set_data(*(lam * place[row])[:, None])
        at_average = row in (0, len(ranks) - 1)
        for title, name, share in zip(moving, PLANES, inside[:, row]):
            title.set_text(f"Plane {name}, rank {percent(rank)}, λ = {lam:g}" + ("" if at_average else f": {share:.1%} in it"))
        said = "at the average" if at_average else ", ".join(f"{share:.2%} of its step lies in the plane {name}" for name, share in zip(PLANES, inside[:, row]))
        return (f"CART at rank {percent(rank)}, λ = {lam:.2f}: loss {losses[row, column]:.3f}, the average's {losses[0, column]:.3f}; distance from the average {lam * away[row]:.2f}, the finetuned "
                f"networks' {sweep.tuned_away.mean().item():.2f}; {said}. Lowest loss along the way {losses[:, column].min():.3f}; lowest on the planes {lowest}.")

    controls = {"rank": slider("rank", ranks, 0.03 if 0.03 in ranks else ranks[1]), "lam": slider("λ", list(LAMS), LAMS[-1])}
    return controls, fig, draw


def reading(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 5 of CART and ours, with this sweep's numbers."""
    way = sweep.path_loss.mean("task")
    lam = LAMS[way.min("rank").values.argmin()]
    best, average = way.sel(lam=lam), way.isel(rank=0, lam=0).item()
    rank = float(best["rank"][best.values.argmin()])
    lower = (sweep.path_loss.sel(lam=lam, rank=rank) < sweep.path_loss.sel(lam=lam).isel(rank=0)).sum().item()
    inside = [sweep.inside.sel(plane=name, rank=rank).item() for name in PLANES]
    on_plane = sweep.loss.sel(plane=PLANES[0]).mean("task").min().item()
    text = (f"The walk begins and ends at the average and is longest in between, and λ is its radius: that holds by construction. Its mean loss falls from {average:.2f} to {best.min().item():.2f} at {percent(rank)}, "
            f"λ = {lam:g}, lower than the average's on {lower} of {sweep.sizes['task']} tasks. Differs: of the step to that point {inside[0]:.2%} lie in the plane of the finetuned networks, {inside[1]:.0%} in that of "
            f"the path, and the lowest loss on the former is {on_plane:.2f}. The basin that CART finds is not in the picture.")
    return Page(text, f"<p><b>Figure 5 of CART, and ours.</b> {text}</p>")
