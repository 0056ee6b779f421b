"""The loss on two planes, and CART's way through them."""
import numpy as np
import xarray

from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.plane import LAMS, PLANES
from lessons.cart.experiment.readings import one
from lessons.cart.panels.bell import DISJOINT, SHOWN_RANK
from lessons.cart.panels.parts import Ranks, by_rank
from lessons.kit import page
from lessons.kit.noise import Difference
from lessons.kit.page import Page, said
from lessons.kit.sweep import position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Map, Path, Reference, Spots, chips, key, view

GUESSING = float(np.log(10))  # nats, the loss of a network that takes all ten digits for equally likely
OFF = 0.05  # of a step lies in a plane, at most, if the walk is said to leave it
ON_THE_MAP = {PLANES[0]: "of the networks", PLANES[1]: "of CART’s own path"}
_ALT = """
    Plane {plane}. CART with {rank}, λ = {lam:g}: loss {loss:.3f}, the average's {average:.3f}; distance from the
    average {away:.2f}, the finetuned networks' {tuned_away:.2f}; {share:.2%} of its step lies in this plane. Along the
    way, by directions kept, the loss is {along}. The lowest loss on the map is {lowest:.3f}; the two components carry
    {first:.0%} and {second:.0%} of the variance."""


@view
def plane(sweep: xarray.Dataset):
    """Left, a map of the mean loss on one plane, as in Fig. 5, with the networks, their average, and CART's way from no
    direction to all; right, the loss along this way, with the lowest one that the map has. Controls: rank, plane, lam.
    """
    ranks = Ranks(sweep)
    maps = {name: _Map(sweep.sel(plane=name)) for name in PLANES}
    losses = {lam: sweep.path_loss.sel(lam=lam).mean("task").values for lam in LAMS}
    nowhere = np.full((2, 1), np.nan)

    def draw(rank, plane, lam):
        shown, row = maps[plane], position(ranks.values, rank, "rank")
        walk, of_networks = shown.placed(lam * shown.part.path.values), plane == PLANES[0]
        average = shown.placed(np.zeros((1, 2)))
        spot, start = walk[:, [row]], shown.placed(shown.part.start.values[None])
        values = {"cells": shown.loss[::-1], "walk": walk, "here": nowhere if of_networks else spot,
                  "all here": spot if of_networks else nowhere, "start": nowhere if of_networks else start,
                  "networks": shown.placed(shown.part.tuned.values) if of_networks else nowhere,
                  "together": nowhere if of_networks else average,
                  "loss": losses[lam], "average": losses[lam][0], "lowest": shown.loss.min()}
        share = shown.part.inside.values[row]
        alt = said(_ALT, plane=plane, rank=ranks.said(rank), lam=lam, loss=losses[lam][row], average=losses[lam][0],
                   away=lam * sweep.away.values[row], tuned_away=sweep.tuned_away.mean().item(),
                   share=share if np.isfinite(share) else 1.0, along=by_rank(ranks, losses[lam]),
                   lowest=shown.loss.min(), first=shown.part.explained.values[0], second=shown.part.explained.values[1])
        return Frame(finding(sweep, plane, lam), alt, values,
                     key(("merged", "CART, from no direction to all, as it falls on the map"),
                         ("", "the scale ends at the loss of guessing")))

    everywhere = [shown.loss.min() for shown in maps.values()] + [values.min() for values in losses.values()]
    left = Chart(Axis("", 0, 1, ticks={0: ""}), Axis("mean loss, in nats", 0, 1, ticks={0: ""}),
                 (Map("cells", low=np.floor(10 * min(everywhere)) / 10, high=GUESSING), Path("walk", "merged"),
                  Spots("start", "other", names=("pretrained",)), Spots("networks", "single", names=("networks",)),
                  Spots("together", "single", names=("average and networks",)),
                  Spots("here", "merged", names=("CART",)),
                  Spots("all here", "merged", names=("CART and the average",))))
    places, highest = ranks.places, 1.03 * max(values.max() for values in losses.values())
    right = Chart(ranks.view_axis("directions kept in layer 1"),
                  Axis("mean loss along CART’s way, in nats", 0.5, float(highest), digits=2),
                  (Reference("average", "other", "average"), Reference("lowest", "single", "lowest on the map"),
                   Line("loss", "merged", "CART", x=places, dots=True, near=True), Handle("rank")))
    controls = {"rank": ranks.view_slider(0.03),
                "plane": chips("plane", {text: name for name, text in ON_THE_MAP.items()}),
                "lam": chips("λ", {f"{lam:g}": lam for lam in LAMS}, LAMS[-1], more=True)}
    return {"kicker": "Chapter 8: a walk through the loss landscape", "charts": [left, right], "draw": draw,
            "controls": controls}


class _Map:
    """One plane: its mean loss (row, column), and where points of the plane lie on a map that runs from 0 to 1."""

    def __init__(self, part: xarray.Dataset):
        self.part = part
        self.loss = part.loss.mean("task").values
        self._starts, self._lengths = np.array([_ends(part.x.values), _ends(part.y.values)]).T

    def placed(self, points: np.ndarray) -> np.ndarray:
        """points: (count, 2), as the sweep has them -> (2, count), NaN where they lie off the map."""
        on_map = (points - self._starts) / self._lengths
        return np.where((on_map >= 0) & (on_map <= 1), on_map, np.nan).T


def _ends(middles):
    """Where the first cell of a map begins and how long the map is, from the middles of its cells."""
    step = middles[1] - middles[0]
    return middles[0] - step / 2, len(middles) * step


def finding(sweep: xarray.Dataset, plane: str, lam: float) -> str:
    """Whether CART's way lies on the map, and whether its lowest loss is lower than any there, by more than two
    standard errors over the tasks."""
    way = sweep.path_loss.sel(lam=lam)
    best = int(way.mean("task").values.argmin())
    on_map = sweep.loss.sel(plane=plane)
    cell = on_map.mean("task").argmin(["row", "column"])
    lower = Difference.paired(on_map.isel(cell).values, way.isel(rank=best).values)
    is_lower = lower.is_news and lower.value > 0
    if sweep.inside.sel(plane=plane).values[best] > OFF:
        return "On the plane of its own path, CART’s way looks like a loop"
    if is_lower:
        return "CART leaves this map: nothing on it has so low a loss"
    return "CART leaves this map"


def reading(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 5 of CART and ours, with this sweep's numbers."""
    way = sweep.path_loss.mean("task")
    lam = LAMS[way.min("rank").values.argmin()]
    best = way.sel(lam=lam)
    rank = float(best["rank"][best.values.argmin()])
    at_lam = sweep.path_loss.sel(lam=lam)
    lower = (at_lam.sel(rank=rank) < at_lam.isel(rank=0)).sum().item()
    inside = sweep.inside.sel(rank=rank)
    average, on_plane = way.isel(rank=0, lam=0).item(), sweep.loss.sel(plane=PLANES[0]).mean("task").min().item()
    return page.reading("Choi et al.’s Figure 5, and ours",
                        """The walk begins and ends at the average, and λ is its radius: that holds by construction.
                           Its mean loss falls from {average:.2f} to {best:.2f} with {rank}, λ = {lam:g}, lower than
                           the average's on {lower} of {tasks} tasks. Differs: of the squared length of the step to that
                           point {of_networks:.2%} lies in the plane of the finetuned networks, {of_path:.0%} in that
                           of the path, and no cell of the former’s map is below {on_plane:.2f}{between}. The paper does
                           not say of which weights its plane is. In its picture the walk is a loop past a basin, which
                           the plane of our finetuned networks does not show.""",
                        average=average,
                        best=best.min().item(),
                        rank=Ranks(sweep).said(rank),
                        lam=lam,
                        lower=lower,
                        tasks=sweep.sizes["task"],
                        of_networks=inside.sel(plane=PLANES[0]).item(),
                        of_path=inside.sel(plane=PLANES[1]).item(),
                        on_plane=on_plane,
                        between=" (the average lies on it between the middles of four cells)" if average < on_plane
                        else "")


def reading_of_the_span(sweep: xarray.Dataset) -> Page:
    """Of the sweep of the bell: how much of a truncated centred task vector is along the whole one, and why the sum of
    all is not. The share is 1 − R(k): ⟨SVD_k(τ̄), τ̄⟩ = ‖SVD_k(τ̄)‖²."""
    error = one(sweep, setting=DISJOINT).error.isel(layer=0).sel(how=HOWS[0], rank=SHOWN_RANK).item()
    return page.reading("Each truncated task vector is near the whole one, but the step is far from the plane",
                        """With {rank}, {share:.0%} of the squared length of a truncated centred task vector in layer 1
                           is along the whole one. But the whole ones sum to zero, so these parts nearly cancel in the
                           sum over the tasks. Nearly all of the step is what remains, outside the plane.""",
                        rank=Ranks(sweep).said(SHOWN_RANK), share=1 - error)
