"""What is to be merged, and what the chapter's sweep says; the view of it is in `directions`."""
import numpy as np
import xarray

from lessons.cart.experiment import bell
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import chosen, one
from lessons.cart.panels.parts import AVERAGE, OWN, Ranks
from lessons.kit import plotting
from lessons.kit.noise import APART, Difference, error_of_share
from lessons.kit.page import Page, reading, said
from lessons.kit.plotting import ACCURACY, BLACK, GREEN, GREY, Look, still
from lessons.kit.sweep import caption, position

DISJOINT = bell.name_of(1.0)
# in the view of the chapter, if measured; not the half, which is asked for later
SHOWN = (DISJOINT, bell.name_of(0.875), bell.name_of(0.0), bell.SEVERAL)
CHANCE = 0.1  # of ten digits
SHOWN_RANK, SHOWN_LAM = 0.03, 3.0  # where the view opens, and what the prediction asks for
KINDS = {  # of networks in the overview: how they look, and what `levels_of` calls them
    "pretrained": (Look(GREY, "X"), "base"),
    AVERAGE: (Look(GREEN, "o"), "average"),
    OWN: (Look(BLACK, "|"), "own")}


@still
def overview(sweep: xarray.Dataset):
    """What is to be merged: for every set of tasks the accuracy of θ₀, of the average and of the own networks."""
    fig, ax = plotting.figure(height=1.2 + 0.42 * sweep.sizes["setting"])
    names = settings_of(sweep)
    places = np.arange(len(names))[::-1]
    rows = {name: levels_of(one(sweep, setting=name)) for name in names}
    for label, (look, key) in KINDS.items():
        values = [row[key] for row in rows.values()]
        ax.plot(values, places, color=look.colour, marker=look.marker, markersize=9, linestyle="", label=label)
    ax.axvline(CHANCE, color=GREY, linestyle=":", linewidth=1.2, marker="", label="by chance")
    ax.set(xlabel=ACCURACY, xlim=(0, 1.02), ylim=(-0.6, len(names) - 0.4))
    ax.set_yticks(places, names)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    sentences = []
    for name, row in rows.items():
        levels = ", ".join(f"{label} {row[key]:.3f}" for label, (_, key) in KINDS.items())
        sentences.append(f"{name}: {levels}")
    return plotting.show(fig, f"Mean accuracy over tasks. {'; '.join(sentences)}.",
                         f"{caption(sweep)} {error_said(sweep)}")


def error_said(sweep: xarray.Dataset) -> str:
    """For captions: how sure the mean accuracy over four tasks is at most."""
    images = 4 * int(sweep.attrs["test_images"])
    return said("One standard error of a mean over four tasks is at most {points:.1f} points, {apart}.",
                points=100 * error_of_share(0.5, images), apart=APART)


def question(sweep: xarray.Dataset) -> str:
    """What is asked before the view."""
    return said("""{tasks} networks learned digits, each with its pixels in another order. CART keeps the **{kept}** of
                   each that are strongest, with λ = {lam:g}. How accurate is the merged network, over all tasks?""",
                tasks=one(sweep, setting=DISJOINT).sizes["task"], kept=Ranks(sweep).said(SHOWN_RANK), lam=SHOWN_LAM)


def settings_of(sweep: xarray.Dataset) -> list[str]:
    """The sets of tasks of a sweep, by name."""
    return [str(name) for name in sweep.setting.values]


def levels_of(part: xarray.Dataset) -> dict[str, float]:
    """Mean test accuracies of one set of tasks: of θ₀, the average, the own networks, task arithmetic at full rank and
    truncated, and CART, each at its best on held-out images."""
    levels = {name: part[name].sel(part="test").mean().item() for name in ("base", "average", "own")}
    levels["arithmetic"] = chosen(part, HOWS[1], full_rank=True).accuracy.mean().item()
    levels["truncated"] = chosen(part, HOWS[1]).accuracy.mean().item()
    levels["cart"] = chosen(part, HOWS[0]).accuracy.mean().item()
    return levels


def reading_of_figure_1(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 1 of CART and ours, with this sweep's numbers."""
    disjoint = one(sweep, setting=DISJOINT)
    row = levels_of(disjoint)
    turned = levels_of(one(sweep, setting=bell.ROTATED))
    best = chosen(disjoint, HOWS[0]).attrs
    truncated = chosen(disjoint, HOWS[1]).attrs
    images = disjoint.sizes["task"] * int(sweep.attrs["test_images"])
    ranks = Ranks(sweep)

    def told_of(more, less, least=0.0):
        return Difference.of(row[more], row[less], images).agrees(least)

    return reading("Choi et al.’s Figure 1, and ours",
                   """All pixels permuted. {bell}: CART at its best ({best_rank}, λ = {best_lam:g}) has {cart:.3f},
                      the average {average:.3f}, and at both ends of the rank axis it is the average. {above}: that
                      CART is above task arithmetic, which at full rank and its best λ has {arithmetic:.3f}. {only}:
                      that truncating task vectors from θ₀ only loses. At {truncated_rank}, λ = {truncated_lam:g}, they
                      have {truncated:.3f}. Rotations: CART {turned:.3f}, the average {turned_average:.3f}. λ is chosen
                      up to {most_lam:g} for both.""",
                   bell=told_of("cart", "average", 0.05),
                   best_rank=ranks.said(best["rank"]),
                   best_lam=best["lam"],
                   above=told_of("cart", "arithmetic"),
                   only=told_of("arithmetic", "truncated"),
                   truncated_rank=ranks.said(truncated["rank"]),
                   truncated_lam=truncated["lam"],
                   turned=turned["cart"],
                   turned_average=turned["average"],
                   most_lam=float(sweep.lam.max()),
                   **row)


def reading_of_the_needle(sweep: xarray.Dataset) -> Page:
    """What the axis with its widening steps hides: how narrow the bell is, and that it begins with a loss."""
    part = one(sweep, setting=DISJOINT)
    ranks = Ranks(sweep)
    images = part.sizes["task"] * int(sweep.attrs["test_images"])
    average = part.average.sel(part="test").mean().item()
    mean = part.accuracy.sel(how=HOWS[0], part="test", lam=SHOWN_LAM).mean("task").values
    half = [rank for rank, value in zip(ranks.values, mean) if value - average > (mean.max() - average) / 2]
    lost = []
    for rank, value in zip(ranks.values, mean):
        behind = Difference.of(average, value, images)
        if behind.value > 0 and behind.is_news:
            lost.append(ranks.texts[position(ranks.values, rank, "rank")])
    below = ("With few directions CART can be below the average. On these networks it is so, by two standard errors or "
             f"more, with {', '.join(lost)}; other networks may give others.") if lost else \
        "At no rank is it below the average by more than two standard errors."
    return reading(f"λ = {SHOWN_LAM:g}, all pixels permuted",
                   """More than half of the bell's height is there from {first} to {last} of {all} directions, which is
                      {share:.1f} % of a linear axis: a needle. {below}""",
                   first=ranks.count(half[0]),
                   last=ranks.said(half[-1]).partition(" ")[0],
                   all=ranks.count(1.0),
                   share=100 * (half[-1] - half[0]),
                   below=below)
