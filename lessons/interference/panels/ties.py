"""Still pictures of what the learner's own TIES computes on real task vectors."""
from collections.abc import Mapping, Sequence

import torch
from matplotlib.colors import ListedColormap
from torch import Tensor

from lessons.kit import page, plotting
from lessons.kit.page import Page
from lessons.kit.plotting import BLUE, GREEN, ORANGE, Look, still

SHOWN = 40  # weights
_SIGNS = ListedColormap([ORANGE, "white", BLUE])
_LOOKS = (Look(GREEN, "o"), Look(ORANGE, "v"), Look(BLUE, "s"))


@still
def against(label: str, places: Sequence[float], lines: Mapping[str, Sequence[float]], measured: str = ""):
    """Shares against a setting, a line each.

    Args:
        label: of the horizontal axis, the setting's name.
        places: its values.
        lines: {name: share at each of them}.
        measured: of the upright axis, what the shares are.
    """
    fig, ax = plotting.figure(width=6.4, height=2.8)
    for name, look in zip(lines, _LOOKS):
        shares = [float(share) for share in lines[name]]
        ax.plot(places, shares, color=look.colour, marker=look.marker)
        ax.annotate(name, (places[-1], shares[-1]), xytext=(6, 0), textcoords="offset points", va="center",
                    color=look.colour, annotation_clip=False)
    ax.set(xlabel=label, ylabel=measured, ylim=(0, 1))
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
        title = f"density {density:g}: {disputed:.0%} of all weights are disputed, " \
                f"and {lost:.0%} of the kept entries lose"
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


# -- readings --------------------------------------------------------------------------------------

MOST = 0.85  # of the accuracy of a whole task vector: a density that keeps more is nearly enough
ALIKE = 0.05  # shares of disputed weights that differ by less are about the same


def reading_of_trimming(densities: Sequence[float], accuracies: Sequence[float]) -> Page:
    """How much of a task vector is enough; accuracies: at each density, the last of which is 1."""
    full = float(accuracies[-1])
    enough, accuracy = next((density, float(share)) for density, share in zip(densities, accuracies)
                            if float(share) >= MOST * full)
    title = "Most entries are hardly needed" if enough <= 0.2 else "Many entries are needed"
    return page.reading(title, "With {enough:.0%} of its entries, the task vector gives {accuracy:.0f} of {full:.0f} "
                               "points of accuracy.", enough=enough, accuracy=100 * accuracy, full=100 * full)


def unrelated(tasks: int, density: float) -> float:
    """The share of weights in dispute among so many vectors that keep a share of their entries, if which entries they
    keep and which signs these have are drawn independently."""
    return 1 - 2 * (1 - density / 2) ** tasks + (1 - density) ** tasks


def reading_of_disputes(stacks: Mapping[float, tuple[Tensor, Tensor]]) -> Page:
    """Whether there are as many disputes as among unrelated vectors; stacks: as `votes` takes them."""
    drawn = {density: unrelated(len(stack), density) for density, (stack, _) in stacks.items()}
    differences = [abs(drawn[density] - disputes(stack, sign)[0]) for density, (stack, sign) in stacks.items()]
    shares = " and ".join(f"{share:.0%}" for share in drawn.values())
    if max(differences) < ALIKE:
        return page.reading("Disputes are as frequent as by chance",
                            "The same number of unrelated vectors would give about as many disputes ({shares}). So the "
                            "disputes alone do not tell leftovers from real conflicts.", shares=shares)
    return page.reading("Disputes are not as frequent as by chance",
                        "The same number of unrelated vectors would give other shares of disputed weights ({shares}).",
                        shares=shares)


def reading_of_votes(tasks: Sequence[str], stack: Tensor, sign: Tensor,
                     accuracies: Mapping[str, Sequence[float]]) -> Page:
    """Whether the task that is kept best has won the votes.

    Args:
        tasks: their names.
        stack: the trimmed task vectors, (tasks, n); sign: the elected one, (n,).
        accuracies: {network: on every task}, of "merged", "own" and "pretrained".
    """
    lost = [((vector * sign < 0).sum() / (vector != 0).sum().clamp(min=1)).item() for vector in stack]
    shares = [float(merged) / float(single) for merged, single in zip(accuracies["merged"], accuracies["own"])]
    known = [float(accuracy) for accuracy in accuracies["pretrained"]]
    best = shares.index(max(shares))
    if best != lost.index(max(lost)):
        return page.reading("Who won the votes?", "The merge kept most on the task “{task}”, which lost {lost:.0%} of "
                                                  "its kept entries.", task=tasks[best], lost=lost[best])
    why = ""
    if best == known.index(max(known)):
        why = " A possible reason is that the pretrained network knew it best already."
    return page.reading("The votes do not explain which task was kept best",
                        "The merge kept most on the task “{task}”, although it lost the "
                        "largest share of its kept entries ({lost:.0%}).{why}",
                        task=tasks[best], lost=lost[best], why=why)
