"""Still pictures of what the learner's own TIES computes on real task vectors."""
from collections.abc import Mapping, Sequence

import torch
from matplotlib.colors import ListedColormap
from torch import Tensor

from lessons.kit import plotting
from lessons.kit.plotting import BLUE, GREEN, ORANGE, Look, still

SHOWN = 40  # weights
_SIGNS = ListedColormap([ORANGE, "white", BLUE])
_LOOKS = (Look(GREEN, "o"), Look(ORANGE, "v"), Look(BLUE, "s"))


@still
def against(label: str, places: Sequence[float], lines: Mapping[str, Sequence[float]]):
    """Shares against a setting, a line each.

    Args:
        label: of the horizontal axis, the setting's name.
        places: its values.
        lines: {name: share at each of them}.
    """
    fig, ax = plotting.figure(width=6.4, height=2.8)
    for name, look in zip(lines, _LOOKS):
        shares = [float(share) for share in lines[name]]
        ax.plot(places, shares, color=look.colour, marker=look.marker)
        ax.annotate(name, (places[-1], shares[-1]), xytext=(6, 0), textcoords="offset points", va="center",
                    color=look.colour, annotation_clip=False)
    ax.set(xlabel=label, ylim=(0, 1))
    plotting.in_percent(ax.yaxis)
    told = "; ".join(f"{name}: " + ", ".join(f"{float(share):.2f} at {place:g}" for place, share in zip(places, shares))
                     for name, shares in lines.items())
    return plotting.show(fig, f"Against {label}. {told}.")


@still
def votes(stacks: Mapping[float, tuple[Tensor, Tensor]]):
    """The signs of a few weights in every task vector, and the elected sign below, for several densities.

    Args:
        stacks: {density: (task vectors (tasks, n), elected sign (n,))}.
    """
    fig, axes = plotting.figure(rows=len(stacks), height=1.9 * len(stacks), squeeze=False)
    told = []
    for ax, (density, (stack, sign)) in zip(axes[:, 0], stacks.items()):
        sign = torch.as_tensor(sign)
        disputed, lost = disputes(stack, sign)
        some = torch.randperm(stack.shape[1], generator=torch.Generator().manual_seed(0))[:SHOWN]
        gap = torch.zeros(1, SHOWN)
        rows = torch.cat([stack[:, some].sign(), gap, sign[some][None].float()])
        ax.imshow(rows.numpy(), cmap=_SIGNS, vmin=-1, vmax=1, aspect="auto", interpolation="none")
        ax.grid(False)
        title = f"density {density:g}: {disputed:.0%} of all weights are disputed, and {lost:.0%} of all entries lose"
        ax.set_title(title)
        ax.set_xticks([])
        ax.set_yticks([*range(len(stack)), len(stack) + 1], [*(f"task {task + 1}" for task in range(len(stack))),
                                                             "elected"], fontsize=7)
        told.append(title)
    caption = f"A column is a weight, {SHOWN} drawn at random. Blue: +. Orange: −. White: trimmed, or exactly 0."
    return plotting.show(fig, f"Signs of {SHOWN} weights in {len(stack)} task vectors. {'. '.join(told)}.", caption)


def disputes(stack: Tensor, sign: Tensor) -> tuple[float, float]:
    """Which share of the weights has task vectors of both signs, and which share of the entries that are not 0 has not
    the elected sign; stack: (tasks, n), sign: (n,)."""
    disputed = ((stack > 0).any(0) & (stack < 0).any(0)).double().mean().item()
    entries = (stack != 0).sum().clamp(min=1)
    return disputed, ((stack * sign < 0).sum() / entries).item()
