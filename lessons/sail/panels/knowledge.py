"""A parent and the same numbers at random places, as starts."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, capital, reading
from lessons.kit.plotting import BLACK, GREY, ORANGE, still
from lessons.kit.sweep import caption
from lessons.sail.experiment import digits, knowledge

_STARTS = {knowledge.RANDOM: (GREY, "o"), knowledge.SHUFFLED: (ORANGE, "^"), knowledge.PARENT: (BLACK, "D")}
_CASES = {digits.THIRDS.name: "parents differ in brightness", digits.HALVES.name: "parents know different digits"}
MOST = 0.5  # of the parent's gain, from which on the title says that most of it needed no knowledge


@still
def without(sweep: xarray.Dataset):
    """The loss on the target over the steps from random weights, from the better parent, and from its shuffled weights.
    """
    fig, axes = plotting.figure(2, height=3.4, sharey=True)
    told = []
    for ax, (case, title) in zip(axes, _CASES.items()):
        places = np.arange(sweep.sizes["steps"])
        for start, (colour, marker) in _STARTS.items():
            loss = sweep.loss.isel(rate=0).sel(case=case, start=start).values
            ax.plot(places, loss, color=colour, marker=marker, label=start)
            told.append(f"{title}, {start}: {', '.join(f'{value:.2f}' for value in loss)}")
        ax.set_xticks(places, [str(int(steps)) for steps in sweep.steps.values])
        ax.set(xlabel="steps on the target", title=capital(title))
    axes[0].set(ylabel="loss on the target, in nats", ylim=(0, 1.05 * float(sweep.loss.isel(rate=0).max())))
    axes[0].legend()
    return plotting.show(fig, f"Loss after {', '.join(str(int(steps)) for steps in sweep.steps.values)} steps. "
                              f"{'; '.join(told)}.",
                         f"{caption(sweep)} Parents share an initialisation. Means over 3 random initialisations and 4 "
                         "shuffles, at learning rate 0.1.")


def reading_of_knowledge(sweep: xarray.Dataset) -> Page:
    """Which share of the better parent's gain its shuffled weights have, which know nothing."""
    numbers = knowledge.claims(sweep)["SAIL-5"]
    brightness, classes = (numbers[f"unknowing_{name}_{knowledge.AFTER}"] for name in ("brightness", "digits"))
    known = max(1 / numbers[f"unknowing_{name}_0"] for name in ("brightness", "digits"))
    first = "Before the first step they were no better than random weights." if known < 1.05 else ""
    title = ("At this learning rate, most of the gain needed no knowledge" if min(brightness, classes) >= MOST
             else "What a parent’s gain needs of its knowledge")
    return reading(title, """
        After {steps} steps, the shuffled weights had {brightness:.0%} of the better parent’s gain over random weights
        with “brightness”, and {classes:.0%} with “digits”. {first}""", first=first, steps=knowledge.AFTER,
                   brightness=brightness, classes=classes)


def reading_of_own_rates(sweep: xarray.Dataset) -> Page:
    """The losses after as many steps, each start with the learning rate that is best for it."""
    losses = sweep.loss.sel(steps=knowledge.AFTER).min("rate")
    starts = {"parent": knowledge.PARENT, "shuffled": knowledge.SHUFFLED, "random": knowledge.RANDOM}
    numbers = {f"{start}_{name}": float(losses.sel(case=case, start=starts[start])) for start in starts
               for name, case in (("brightness", digits.THIRDS.name), ("classes", digits.HALVES.name))}
    share = knowledge.share_without_knowledge(losses.sel(case=digits.THIRDS.name)).item()
    title = ("With learning rates of their own, knowledge counts for more with “brightness”" if share < MOST
             else "And if each start has its own learning rate?")
    return reading(title, """
        With the best of several rates for each, the losses after the same number of steps were {parent_brightness:.2f}
        from the parent, {shuffled_brightness:.2f} from its shuffled weights and {random_brightness:.2f} from random
        ones with “brightness”, and {parent_classes:.2f}, {shuffled_classes:.2f} and {random_classes:.2f} with “digits”.
        (The rates are chosen on the test images.)""", **numbers)
