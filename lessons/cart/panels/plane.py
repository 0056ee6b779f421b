"""The loss on two planes, and CART's way through them."""
import numpy as np
import xarray

from lessons.cart.experiment.plane import LAMS, PLANES
from lessons.cart.panels.parts import Ranks, titles
from lessons.kit import page, plotting
from lessons.kit.page import Page, said
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, cloud, curve
from lessons.kit.plotting import BLACK, ORANGE, RED, SKY


@panel
def plane(sweep: xarray.Dataset):
    """The mean loss on the plane of the finetuned networks, as in Fig. 5, and on that of the path itself; CART's way
    from rank 0 to full rank at one λ. Controls: rank, lam."""
    ranks = Ranks(sweep)
    fig, axes = plotting.figure(2, height=4.6)
    paths = []
    spots = []
    for ax, name in zip(axes, PLANES):
        _draw_map(fig, ax, sweep.sel(plane=name))
        paths.append(curve(ax, Look(RED, "."), "CART, rank 0 to full", linewidth=2, markersize=6))
        spots.append(cloud(ax, Look(ORANGE, "*"), "CART at this rank", markersize=16, markeredgecolor=BLACK))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    above = titles(axes)
    places = [sweep.path.sel(plane=name).values for name in PLANES]
    inside = sweep.inside.values

    def draw(rank, lam):
        row = ranks.values.index(rank)
        for path, spot, place in zip(paths, spots, places):
            path.set_data(*(lam * place).T)
            spot.set_data(*(lam * place[row])[:, None])
        at_average = row in (0, len(ranks.values) - 1)
        for title, name, share in zip(above, PLANES, inside[:, row]):
            title.set_text(f"Plane {name}, {ranks.said(rank)}" + ("" if at_average else f": {share:.1%} in it"))
        shares = ", ".join(f"{share:.2%} of its step lies in the plane {name}"
                           for name, share in zip(PLANES, inside[:, row]))
        return _said(sweep, row, lam, "at the average" if at_average else shares)

    controls = {"rank": ranks.slider(0.03 if 0.03 in ranks.values else ranks.values[1]),
                "lam": slider("λ", list(LAMS), LAMS[-1])}
    return controls, fig, draw


def _draw_map(fig, ax, part):
    """The mean loss on one plane, and what lies in it."""
    loss = part.loss.mean("task").values
    image = ax.contourf(part.x, part.y, np.log(loss), levels=14, cmap="cividis")
    edge = {"markeredgecolor": BLACK, "linestyle": ""}
    ax.plot(*part.tuned.values.T, color="white", marker="^", label="finetuned networks", **edge)
    ax.plot(*part.start.values, color=SKY, marker="s", label="pretrained", **edge)
    ax.plot(0, 0, color="white", marker="o", label="average", markersize=8, **edge)
    first, second = part.explained.values
    ax.set(xlabel=f"component 1 ({first:.0%} of variance)", ylabel=f"component 2 ({second:.0%})",
           xlim=(part.x.min(), part.x.max()), ylim=(part.y.min(), part.y.max()))
    ax.grid(False)
    bar = fig.colorbar(image, ax=ax, shrink=0.85)
    bar.ax.set_ylabel("mean loss (nats)")
    ticks = np.linspace(np.log(loss.min()), np.log(loss.max()), 5)
    bar.set_ticks(ticks, labels=[f"{np.exp(tick):.2g}" for tick in ticks])


def _said(sweep, row, lam, where):
    """The alternative text."""
    losses = sweep.path_loss.mean("task").values[:, LAMS.index(lam)]
    lowest = sweep.loss.mean("task").min(["row", "column"]).values
    return said("""CART with {rank}, λ = {lam:.2f}: loss {loss:.3f}, the average's {average:.3f}; distance from the
                   average {away:.2f}, the finetuned networks' {tuned_away:.2f}; {where}. Lowest loss along the way
                   {least:.3f}; lowest on the planes {lowest}.""",
                rank=Ranks(sweep).said(float(sweep["rank"][row])),
                lam=lam,
                loss=losses[row],
                average=losses[0],
                away=lam * sweep.away.values[row],
                tuned_away=sweep.tuned_away.mean().item(),
                where=where,
                least=losses.min(),
                lowest=", ".join(f"{value:.3f}" for value in lowest))


def reading(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 5 of CART and ours, with this sweep's numbers."""
    way = sweep.path_loss.mean("task")
    lam = LAMS[way.min("rank").values.argmin()]
    best = way.sel(lam=lam)
    rank = float(best["rank"][best.values.argmin()])
    at_lam = sweep.path_loss.sel(lam=lam)
    lower = (at_lam.sel(rank=rank) < at_lam.isel(rank=0)).sum().item()
    inside = sweep.inside.sel(rank=rank)
    return page.reading("Choi et al.’s Figure 5, and ours",
                        """The walk begins and ends at the average and is longest in between, and λ is its radius: that
                           holds by construction. Its mean loss falls from {average:.2f} to {best:.2f} with {rank},
                           λ = {lam:g}, lower than the average's on {lower} of {tasks} tasks. Differs: of the step to
                           that point {of_networks:.2%} lie in the plane of the finetuned networks, {of_path:.0%} in
                           that of the path, and the lowest loss on the former is {on_plane:.2f}. The basin that CART
                           finds is not in the picture.""",
                        average=way.isel(rank=0, lam=0).item(),
                        best=best.min().item(),
                        rank=Ranks(sweep).said(rank),
                        lam=lam,
                        lower=lower,
                        tasks=sweep.sizes["task"],
                        of_networks=inside.sel(plane=PLANES[0]).item(),
                        of_path=inside.sel(plane=PLANES[1]).item(),
                        on_plane=sweep.loss.sel(plane=PLANES[0]).mean("task").min().item())
