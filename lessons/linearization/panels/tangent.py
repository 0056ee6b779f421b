"""A network and its tangent: one output along the way of finetuning, and how alike two samples are to the gradient."""
import numpy as np
import torch
from torch import Tensor

from lessons.kit import plotting
from lessons.kit.page import said
from lessons.kit.plotting import BLACK, still
from lessons.kit.view import Axis, Chart, Frame, Handle, Image, Line, Reference, chips, key, percent, slider, view
from lessons.linearization.algorithms.networks import Net

SHARES = tuple(round(0.05 * step, 2) for step in range(21))  # of the way from θ_0
NOTHING = 1e-3  # of the way: what is enlarged where the slider stands at θ_0
HARDLY = 0.1  # of how far the output has moved: a tangent that misses less can hardly be told from the network


@view
def along(net: Net, theta_0: Tensor, theta: Tensor, x: Tensor, y: Tensor):
    """Left, the output for one image on the straight way from θ_0 to θ, and the line that touches it at θ_0; right, the
    part of it between θ_0 and the slider, enlarged. Controls: share (of the way), number (which image)."""
    change = theta - theta_0
    start, slope = (part.numpy() for part in torch.func.jvp(lambda there: net(there, x)[:, 0], (theta_0,), (change,)))

    def outputs(share):
        """Of the network and of its tangent, each (images, places), at every place up to a share of the way."""
        there = share * torch.tensor(SHARES, dtype=torch.float64)
        network = net(theta_0 + there[:, None] * change, x)[..., 0].T.numpy()
        return network, start[:, None] + slope[:, None] * there.numpy()

    curves, lines = outputs(1.0)
    order = np.abs(curves - lines)[:, -1].argsort()[::-1]
    numbers = order[[0, len(order) // 2, -1]].tolist()
    shown = np.stack([curves[numbers], lines[numbers]])
    low, high = min(shown.min(), -1), max(shown.max(), 1)

    def draw(share, number):
        curve, line, place = curves[number], lines[number], SHARES.index(share)
        moved, missed = abs(curve[place] - curve[0]), abs(curve[place] - line[place])
        parts = np.array([some[number] for some in outputs(share or NOTHING)])
        of_network, of_tangent = (parts - parts.min()) / np.ptp(parts)
        values = {"network": curve, "tangent": line, "target": float(y[number]), "digit": x[number].reshape(14, 14),
                  "network, enlarged": of_network, "tangent, enlarged": of_tangent}
        alt = said("""One digit, {share} of the way from θ₀: the network’s output is {output:.3f}, its tangent’s
                      {linear:.3f}. At θ₀ both are {start:.3f}, at the end {end:.3f} and {linear_end:.3f}; the target is
                      {target:+.0f}.""", share=percent(share), output=curve[place], linear=line[place], start=curve[0],
                   end=curve[-1], linear_end=line[-1], target=float(y[number]))
        title = "Here you can hardly tell the network from its tangent" if missed <= max(HARDLY * moved, 1e-9) else \
            "Here the network has clearly left its tangent"
        return Frame(title, alt, values, key(("merged", "The network’s output for this digit"),
                                             ("single", "its tangent: the straight line that touches it at θ₀"),
                                             ("", "dotted: the target")))

    middle, tall = (low + high) / 2, 0.12 * (high - low)
    way = Chart(Axis("share of the way", -0.24, 1, ticks={0: "θ₀", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1: "θ"}),
                Axis("output for one digit", low - 0.1, high + 0.1, digits=2),
                (Image("digit", "single", extent=(-0.23, -0.05, middle - tall, middle + tall)),
                 Reference("target", "chance"), Line("tangent", "single", "tangent", x=SHARES, dashed=True),
                 Line("network", "merged", "network", x=SHARES), Handle("share")))
    near = Chart(Axis("from θ₀ to the slider", 0, 1, ticks={0: "θ₀", 1: "slider"}),
                 Axis("the same two lines, enlarged", -0.05, 1.05, ticks={-9: ""}),
                 (Line("tangent, enlarged", "single", "tangent", x=SHARES, dashed=True, bare=True, aside=True),
                  Line("network, enlarged", "merged", "network", x=SHARES, bare=True, aside=True)))
    bends = dict(zip(("strongest bend", "median bend", "weakest bend"), numbers))
    return {"kicker": "Chapter 11: a curve and its tangent", "charts": [way, near], "draw": draw,
            "controls": {"share": slider("share of the way", {percent(share): share for share in SHARES}, 1.0),
                         "number": chips("digit with the", bends)},
            "caption": f"The finetuned network of the cells above, one of its {len(y)} training digits."}


@still
def matrix(K: Tensor, x: Tensor, y: Tensor):
    """The kernel K (samples, samples) with the digits (samples, 196) at its sides, even ones (y > 0) first."""
    order = torch.argsort(y, descending=True, stable=True)
    K, n, even = K[order][:, order], len(y), int((y > 0).sum())
    fig, ax = plotting.figure(height=5.0, width=6.4)
    largest = float(K.abs().max())
    cells = ax.imshow(K, cmap="PuOr" if K.min() < 0 else "Purples", vmin=-largest if K.min() < 0 else 0, vmax=largest)
    for place, image in enumerate(x[order].reshape(n, 14, 14)):
        ax.imshow(image, cmap="Greys", extent=(-1.6, -0.6, place + 0.45, place - 0.45))
        ax.imshow(image, cmap="Greys", extent=(place - 0.45, place + 0.45, -0.6, -1.6))
    for ends in ([even - 0.5] * 2, [-1.7, n - 0.5]), ([-1.7, n - 0.5], [even - 0.5] * 2):
        ax.plot(*ends, color=BLACK, linewidth=1.5, marker="")
    middles = {"even": (even - 1) / 2, "odd": (even + n - 1) / 2}
    ax.set(xlim=(-1.7, n - 0.5), ylim=(n - 0.5, -1.7), aspect="equal")
    ax.set_yticks(list(middles.values()), list(middles))
    ax.set_xticks(list(middles.values()), list(middles))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(False)
    fig.colorbar(cells, ax=ax, label="$K_{ij}$: inner product of two gradients")
    same = torch.outer(y[order], y[order]) > 0
    off = ~torch.eye(n, dtype=torch.bool)
    alt = said("""The kernel of {n} digits as a square of cells, {even} even digits first, then {odd} odd ones. Its
                  numbers are between {least:.3g} and {most:.3g}. Their mean is {diagonal:.3g} on the diagonal.
                  Elsewhere it is {alike:.3g} within a class and {unlike:.3g} between classes.""", n=n, even=even,
               odd=n - even, least=float(K.min()), most=float(K.max()), diagonal=float(K.diagonal().mean()),
               alike=float(K[same & off].mean()), unlike=float(K[~same].mean()))
    return plotting.show(fig, alt, f"The tangent kernel at θ₀ of the {n} digits that the network is finetuned on.")
