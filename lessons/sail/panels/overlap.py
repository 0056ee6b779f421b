"""What the data have in common, and the spike half-way (SAIL, Fig. 2c)."""
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, minus, reading, said
from lessons.kit.plotting import BLUE, GREY, ORANGE, Look, still
from lessons.kit.sweep import caption
from lessons.sail.experiment import overlap

LOOKS = {"one start": Look(BLUE, "o"), "two starts": Look(ORANGE, "s")}


@still
def curves(sweep: xarray.Dataset):
    """The loss after 50 steps along γ for every pair of overlaps, from one start and from two."""
    side = sweep.sizes["alpha"]
    fig, axes = plotting.figure(side, rows=side, height=1.3 + 1.65 * side, sharex=True, sharey=True)
    told = []
    for row, alpha in zip(axes, sweep.alpha.values):
        for ax, beta in zip(row, sweep.beta.values):
            part = sweep.loss.sel(alpha=alpha, beta=beta, steps=50)
            for start, look in LOOKS.items():
                ax.plot(sweep.gamma, part.sel(start=start), color=look.colour, marker=look.marker, markersize=3.5,
                        linewidth=1.3, label=start)
            ax.axhline(float(sweep.random_loss.sel(steps=50)), color=GREY, linestyle="--", marker="", linewidth=1.1,
                       label="random start")
            ax.set_title(f"α = {alpha:g}, β = {beta:g}", fontsize=10)
            bump = overlap.bump(sweep).sel(alpha=alpha, beta=beta, steps=50, start="two starts")
            told.append(minus(f"α = {alpha:g}, β = {beta:g}: {float(bump):+.3f}"))
    shown = sweep.loss.sel(steps=50)
    axes[0, 0].set_ylim(0.9 * float(shown.min()), 1.05 * float(max(shown.max(), sweep.random_loss.sel(steps=50))))
    for ax in axes[-1]:
        ax.set_xlabel("γ")
    axes[-1, 0].set_ylabel("loss after 50 steps (nats)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    alt = f"Rise of the loss half-way over the mean of both ends, two starts: {'; '.join(told)}."
    remarks = said("""α: share of their own data that the parents have in common; β: share of their data that is like
                      the target's.""")
    return plotting.show(fig, alt, f"{caption(sweep)} {remarks}")


def reading_of_figure_2c(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 2c of SAIL and ours, with this sweep's numbers."""
    numbers = overlap.claim_6(sweep)
    return reading("Figure 2c of the source, and ours", """
        After 50 steps the loss half-way lies above the mean of both ends by {spike_least:.3f} to {spike_most:.3f} in
        the pictures if the parents began from two starts, and by {one_least:.3f} to {one_most:.3f} if from one.
        From one start, the losses of the two parents alone are {lopsided_00:.2f} nats apart at α = β = 0, and
        {lopsided_11:.3f} at α = β = 1.""", **numbers)
