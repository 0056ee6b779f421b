"""The gap with other optimisers than full-batch gradient descent."""
import xarray

from lessons.gradients.experiment import optimisers
from lessons.kit import plotting
from lessons.kit.page import Page, reading
from lessons.kit.plotting import BLACK, COLOURS, MARKERS, still
from lessons.kit.sweep import caption, names


@still
def gaps(sweep: xarray.Dataset):
    """The gap, as a share of the joint path, against η: in the middle of an epoch, and at its end; for five
    optimisers."""
    fig, axes = plotting.figure(2, height=3.9, sharey=True)
    share = sweep.gap / sweep.far
    last = int(sweep.step[-1])
    middle = last - optimisers.BATCHES // 2
    looks = list(zip((BLACK, *COLOURS), ("X", *MARKERS)))
    told = []
    for ax, step, where in zip(axes, (middle, last), ("in the middle", "at the end")):
        for name, (colour, marker) in zip(names(sweep.optimiser), looks):
            shares = share.sel(optimiser=name, step=step)
            ax.plot(shares.eta, shares, color=colour, marker=marker, markersize=5, linewidth=1.5, label=name)
            told.append(f"{name} after {step} steps {shares.values[0]:.2g} to {shares.values[-1]:.2g}")
        ax.set(xscale="log", yscale="log", xlabel="step size η", title=f"after {step} steps, {where} of an epoch")
    axes[0].set_ylabel("the gap, as a share of the way")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    alt = f"The gap as a share of the joint path, smallest and largest step size: {'; '.join(told)}."
    return plotting.show(fig, alt, caption(sweep) + f" α = {optimisers.ALPHA:g}.")


def reading_of_the_optimisers(sweep: xarray.Dataset) -> Page:
    """Which optimisers keep the theorem, with this sweep's numbers."""
    numbers = optimisers.numbers(sweep)
    return reading("Which optimisers keep the theorem?", """
        The gap falls with the power {full_batch_power:.2f} of η with full batches, {momentum_power:.2f} with momentum,
        and {same_power:.2f} with SGD when joint training draws the same batches. With other batches it is
        {other_power_middle:.2f} in the middle of an epoch and {other_power_end:.2f} at its end. With Adam it is
        {adam_power:.2f}: however small the steps, the sum of the task vectors and the joint path have a cosine of only
        {adam_cosine:.2f}. No α mends a direction.""", adam_cosine=1 - numbers["adam_turn"], **numbers)
