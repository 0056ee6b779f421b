"""What the chapter's tasks look like, and how accurate networks are on each of them."""
from collections.abc import Mapping, Sequence

import data
from lessons.kit import drawings, plotting
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, RED, Look, still
from lessons.suites import Suite

PRETRAINED, OWN = "pretrained network", "the task's own network"
_LOOKS = {PRETRAINED: Look(GREY, "s"), OWN: Look(BLACK, "D")}
_OTHERS = (Look(GREEN, "o"), Look(BLUE, "^"), Look(RED, "v"))


@still
def images(suites: Mapping[str, Suite]):
    """An image of every task, a row a suite: the first test image of its data set, as the task shows it. Suites of
    CIFAR-100 are left out."""
    shown = {name: suite for name, suite in suites.items() if not suite.splits}
    widest = max(len(suite.tasks) for suite in shown.values())
    fig, axes = plotting.figure(widest, len(shown), height=1.6 * len(shown), squeeze=False)
    for row, suite in zip(axes, shown.values()):
        for ax in row:
            ax.axis("off")
        for ax, (task, recipe) in zip(row, suite.recipes.items()):
            drawings.images(ax, _first_image(recipe)[None])
            ax.set_title(task.replace(", ", "\n"), fontsize=8.5, fontweight="normal", loc="center")
    told = "; ".join(f"{suite.title}: {', '.join(suite.tasks)}" for suite in shown.values())
    sources = dict.fromkeys(str(source) for suite in shown.values() for source in suite.sources)
    return plotting.show(fig, f"An image of each task. {told}.",
                         f"Above {' and below '.join(suite.title for suite in shown.values())}. {'; '.join(sources)}.")


def _first_image(recipe):
    options = dict(recipe.options)
    options |= {"first": 0, "size": 1} if "angle" in options else {"size": None}
    return data.load(recipe.dataset, "test", **options).x[0]


@still
def by_task(tasks: Sequence[str], networks: Mapping[str, Sequence[float]]):
    """Accuracies on every task, a row a task and a mark a network.

    Args:
        tasks: their names.
        networks: {name: accuracy on every task}, PRETRAINED and OWN among the names or not, and at most three others.
    """
    fig, ax = plotting.figure(height=0.33 * len(tasks) + 1.3)
    rows = range(len(tasks))[::-1]
    others = iter(_OTHERS)
    for name in networks:
        look = _LOOKS.get(name) or next(others)
        ax.plot([float(share) for share in networks[name]], rows, color=look.colour, marker=look.marker, linestyle="",
                markersize=8, label=name)
    ax.axvline(0.1, color=GREY, linestyle=":", marker="")
    ax.set_yticks(list(rows), tasks)
    ax.set(xlim=(0, 1), xlabel=f"{plotting.ACCURACY} (dotted: guessing among ten classes)")
    fig.legend(loc="outside upper left", ncols=len(networks))
    told = "; ".join(f"{task}: " + ", ".join(f"{name} {float(shares[place]):.2f}" for name, shares in networks.items())
                     for place, task in enumerate(tasks))
    return plotting.show(fig, f"Accuracy on every task. {told}.")
