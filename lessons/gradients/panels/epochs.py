"""The pictures of trained networks: the first epoch, and panel (d), merging after 1 to 20 epochs."""
import numpy as np
import xarray

import data
from lessons.gradients.experiment import epochs
from lessons.gradients.experiment.epochs import DIGITS, FAR, GD, SGD, SHOWN
from lessons.kit import drawings, plotting
from lessons.kit.noise import APART, Difference, reach, with_reach
from lessons.kit.page import Page, capital, minus, reading, said, table
from lessons.kit.plotting import COLOURS, GREY, MARKERS, still
from lessons.kit.sweep import caption, names
from lessons.kit.view import (
    Axis,
    Band,
    Chart,
    Frame,
    Handle,
    Line,
    Reference,
    Spots,
    Star,
    chips,
    key,
    slider,
    view,
)

# -- the tasks -------------------------------------------------------------------------------------

@still
def turned_digits(sweep: xarray.Dataset):
    """One test digit as the six tasks of each family of digits turn it."""
    families = [name for name in names(sweep.data) if name != epochs.SPIRALS]
    columns = len(epochs.FAMILIES[DIGITS].angles)
    fig, axes = plotting.figure(columns, len(families), height=1.5 * len(families))
    number = int((data.load("rotated_mnist", "test", angle=0.0).y == 6).nonzero()[0])
    for row, name in zip(np.atleast_2d(axes), families):
        row[0].set_ylabel(name)
        for ax, angle in zip(row, epochs.FAMILIES[name].angles):
            drawings.images(ax, data.load("rotated_mnist", "test", angle=angle).x[number][None], f"{angle:g}°")
    told = [f"{name}: {', '.join(f'{angle:g}°' for angle in epochs.FAMILIES[name].angles)}" for name in families]
    text = said("""A column is a task. The network was pretrained on upright digits. An epoch of mini-batches is {steps}
                   steps of {batch} images.""", steps=_steps_of_an_epoch(sweep), batch=epochs.FAMILIES[DIGITS].batch)
    return plotting.show(fig, f"A digit 6, turned by the angle of each task. {'; '.join(told)}.",
                         f"{caption(sweep)} {text}")


def _steps_of_an_epoch(sweep):
    """So many mini-batches has a task on digits."""
    return epochs.PROFILES[sweep.attrs["profile"]].amounts.images // epochs.FAMILIES[DIGITS].batch


# -- the first epoch -------------------------------------------------------------------------------

REPORTED = 0.8  # the source's Figure 3b: cosines lie above


@still
def first_epoch(sweep: xarray.Dataset, data: str):
    """Figure 3 of TVG for one family, a line a task: above the epochs' shares of the gradient norm, below the cosine of
    every epoch's gradient with the first."""
    family = sweep.sel(data=data)
    optimisers = names(family.optimiser)
    fig, axes = plotting.figure(len(optimisers), 2, height=5.0, sharex=True, sharey="row")
    told = []
    for (above, below), name in zip(axes.T, optimisers):
        part = family.sel(optimiser=name)
        cosines = part.alike_moved.sel(epoch=1).rename(other="epoch", epoch="first")
        _per_task(above, part.share_moved)
        _per_task(below, cosines)
        above.set(title=f"{data}, {name}", ylim=(0, 1.05 * float(family.share_moved.max())))
        below.set(xlabel="epoch", ylim=(-0.1, 1.05), xticks=part.epoch)
        last = name == optimisers[-1]
        _line_at(above, 1 / len(part.epoch), "all epochs alike")
        _line_at(below, REPORTED, "the source: above this" if last else "")
        told.append(f"{name}: shares {_listed(part.share_moved.mean('task'))}, cosine with the first epoch "
                    f"{_listed(cosines.mean('task'))}")
    axes[0, 0].set_ylabel("share of the gradient norm")
    axes[1, 0].set_ylabel("cosine with the first epoch")
    alt = f"{data}, first five epochs, mean over six tasks. {'; '.join(told)}."
    return plotting.show(fig, alt, f"{capital(data)}: six tasks, one line a task. {caption(sweep)}")


def _per_task(ax, values):
    """(task, epoch) against the epoch."""
    for of_task, colour, marker in zip(values.transpose("task", "epoch"), COLOURS, MARKERS):
        ax.plot(of_task.epoch, of_task, color=colour, marker=marker, linewidth=1.2, markersize=5)


def _line_at(ax, height, label):
    ax.axhline(height, color=GREY, linestyle=":", linewidth=1.4, marker="")
    ax.text(5.1, height, label, ha="right", va="bottom", fontsize=9.5, color="#555555")


def _listed(values):
    return ", ".join(f"{value:.2f}" for value in values.values)


def reading_of_figure_3(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 3 of TVG and ours, with this sweep's numbers; below it a table."""
    by_claim = epochs.claims(sweep)
    numbers = by_claim["TVG-6"] | by_claim["TVG-7"]
    parted = numbers["sgd_first_share"] > numbers["gd_first_share"] and \
        numbers["sgd_cosine_mean"] < numbers["gd_cosine_mean"]
    first = reading("With SGD the first epoch has a larger share than with full batches, and the later ones keep less "
                    "of its direction" if parted else "Figure 3 of Zhou, Solombrino et al., and ours",
                    """With SGD the first of five epochs has {sgd_first_share:.0%} of the gradient norm, where a fifth
                       would be 20%, and the later ones have a mean cosine of {sgd_cosine_mean:.2f} with it. With full
                       batches it has {gd_first_share:.0%}, and the mean cosine is {gd_cosine_mean:.2f}. The table has
                       the mean over all tasks of all families.""", **numbers)
    rows = []
    for short, name in (("sgd", SGD), ("gd", GD)):
        least = sweep.alike_moved.sel(optimiser=name, epoch=1).min("other")
        shown = {what: numbers[f"{short}_{what}"] for what in (
            "first_share", "first_largest", "cosine_mean", "cosine_least", "cosine_mean_at_start")}
        rows.append((name, f"{shown['first_share']:.0%}", f"{shown['first_largest']:.0%}",
                     f"{shown['cosine_mean']:.2f}", f"{shown['cosine_least']:.2f}",
                     f"{float((least < REPORTED).mean()):.0%}", f"{shown['cosine_mean_at_start']:.2f}"))
    head = ("", "share of the first epoch", "tasks in which it is the largest",
            "cosine of the later ones with it, mean", "least", f"tasks in which it falls below {REPORTED} by epoch 5",
            "mean, if an epoch’s gradient is that at its first point")
    below = table(head, rows)
    return Page(f"{first.text}\n{below.text}", first.page + below.page)


# -- panel (d): how long to finetune ---------------------------------------------------------------

_ALT = """
    {data}, {optimiser}, {epochs}: on their own tasks the six networks have accuracy {own:.3f} ± {own_sure:.3f}, their
    merge has {accuracy:.3f} ± {sure:.3f} on all six at the scale {scale:g}, chosen on held-out samples; the average has
    {average:.3f}. The network before finetuning has {before:.3f}. The merges by epochs: {merged}."""


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (d)."""
    part = sweep.sel(data=DIGITS, optimiser=SGD)
    return said("""After one epoch of SGD on digits to 90°, six networks have accuracy {own:.2f} on their own tasks. The
                   network before finetuning has {before:.2f} on all six. How accurate on all six is their **merge**,
                   at the best scale?""", own=float(part.own.sel(epochs=1).mean()), before=float(part.before))


@view
def merging(sweep: xarray.Dataset, prediction=None):
    """Panel (d): accuracy of the six networks, each on its own task, and of their merge on all six, against the epochs;
    right, accuracy of the merge against its scale, after so many epochs and, in grey, after the other numbers.

    Controls: epochs, data, optimiser. The prediction, the accuracy of the merge after one epoch of SGD on digits, is a
    star.
    """
    best, own = epochs.chosen(sweep), sweep.own.mean("task")
    numbers = [int(number) for number in sweep.epochs.values]
    images = images_of(sweep)
    asked = {"epochs": 1, "data": DIGITS, "optimiser": SGD}
    if prediction:
        prediction.panel_answers(float(best.accuracy.sel(asked)), asked)

    def draw(epochs, **where):
        part, merged, scales = sweep.sel(where), best.accuracy.sel(where).values, best.scale.sel(where).values
        alone, by_scale, place = own.sel(where).values, part.accuracy.values, numbers.index(epochs)
        values = {"own": alone, "own, sure": with_reach(alone, images)[1:], "merged": merged,
                  "merged, sure": with_reach(merged, images)[1:], "before": part.before.item(),
                  "by scale": by_scale[place], "chosen": ([scales[place]], [merged[place]])}
        for number, of_number in zip(numbers, by_scale):
            values[f"{number} epochs"] = np.full(len(of_number), np.nan) if number == epochs else of_number
        alt = said(_ALT, epochs=_words(epochs), own=alone[place], own_sure=reach(alone[place], images),
                   accuracy=merged[place], sure=reach(merged[place], images), scale=scales[place],
                   average=part.accuracy.sel(epochs=epochs, scale=1.0).item(), before=part.before.item(),
                   merged=", ".join(f"{number} {accuracy:.3f}" for number, accuracy in zip(numbers, merged)), **where)
        return Frame(finding_of_epochs(alone, merged, images), alt, values,
                     key(("single", "Six networks, each on its own task"), ("merged", "Their merge, on all six tasks"),
                         ("", "grey, right: after other numbers of epochs")))

    optimisers = sorted(names(sweep.optimiser), key=lambda name: name != SGD)
    return {"kicker": "Chapter 6: how long to finetune", "charts": _charts(numbers, sweep), "draw": draw,
            "controls": {"epochs": slider("epochs", {_words(number): number for number in numbers}, 1),
                         "data": chips("tasks", names(sweep.data)),
                         "optimiser": chips("finetuned with", optimisers, more=True)},
            "hides": ["merged", "merged, sure", "by scale", "chosen", *(f"{number} epochs" for number in numbers)],
            "caption": f"{caption(sweep)} Bands: two standard errors, {APART}."}


def _charts(numbers, sweep):
    """Accuracy over the epochs, and over the scale of the merge."""
    lowest = min(float(values.min()) for values in (sweep.before, sweep.accuracy, sweep.own.mean("task")))
    low = np.floor(10 * lowest) / 10
    left = Chart(Axis("epochs", numbers[0], numbers[-1], "log", {number: f"{number}" for number in SHOWN}),
                 Axis("accuracy", low, 1, unit="percent"),
                 (Reference("before", "other", "before"), Band("own, sure", "single"),
                  Line("own", "single", "each alone", dots=True), Band("merged, sure", "merged"),
                  Line("merged", "merged", "merged", dots=True), Star("guess", "merged", x=(1,)), Handle("epochs")))
    across = tuple(float(scale) for scale in sweep.scale.values)
    right = Chart(Axis("scale αT of the merge (T tasks); 1 is the average", across[0], across[-1]),
                  Axis("accuracy of the merge; the diamond is the scale chosen", low, 1, unit="percent"),
                  (*(Line(f"{number} epochs", "other", x=across) for number in numbers),
                   Line("by scale", "merged", x=across), Spots("chosen", "merged")))
    return [left, right]


def _words(number):
    """So many epochs."""
    return f"{number} epoch{'s' * (number > 1)}"


def images_of(sweep: xarray.Dataset, experiment=epochs) -> int:
    """On how many test images of all tasks an experiment on digits measured an accuracy."""
    return len(epochs.FAMILIES[DIGITS].angles) * experiment.PROFILES[sweep.attrs["profile"]].amounts.test


def finding_of_epochs(alone: np.ndarray, merged: np.ndarray, images: int) -> str:
    """What the networks and their merge gain between the first number of epochs and the last, in one sentence. Both:
    (epochs,) accuracies, on so many images."""
    own, gain = (Difference.of(float(accuracy[-1]), float(accuracy[0]), images) for accuracy in (alone, merged))
    kept_back = Difference(own.value - gain.value, float(np.hypot(own.error, gain.error)))
    if not (own.is_news and own.value > 0):
        return "The networks learn nothing more, within the noise"
    if not gain.is_news:
        return "The networks go on learning, their merge gains nothing beyond the noise"
    if gain.value < 0:
        return "The networks go on learning, and their merge gets worse"
    if kept_back.is_news and kept_back.value > 0:
        return "The networks go on learning, but only part of it reaches their merge"
    return "The longer the networks learn, the better their merge"


def reading_of_figure_2(sweep: xarray.Dataset) -> Page:
    """The networks by themselves and their merges over the epochs; what the merge keeps of the networks' own gain from
    epoch 1 to 20, and the correlation of the two, all with all."""
    best = epochs.chosen(sweep).accuracy
    own = sweep.own.mean("task")
    rows = []
    for family in names(sweep.data):
        for optimiser in names(sweep.optimiser):
            selection = {"data": family, "optimiser": optimiser}
            name = f"{family}, {optimiser}"
            alone = own.sel(selection)
            merged = best.sel(selection)
            kept = float((merged[-1] - merged[0]) / (alone[-1] - alone[0]))
            together = float(np.corrcoef(alone, merged)[0, 1])
            before = f"{float(sweep.before.sel(selection)):.2f}"
            rows.append((f"{name}: alone", "", *_at_shown(alone), "", ""))
            rows.append((f"{name}: merged", before, *_at_shown(merged), f"{kept:.2f}", f"{together:.2f}"))
    head = ("accuracy after … epochs", "0", *map(str, SHOWN), "share of own gain kept, epochs 1–20", "correlation")
    return table(head, rows)


def _at_shown(accuracy):
    return [f"{float(accuracy.sel(epochs=number)):.2f}" for number in SHOWN]


def does_one_epoch_do(sweep: xarray.Dataset) -> Page:
    """Is merging after one epoch as good as after twenty, and after five? With the standard error of each
    difference."""
    best = epochs.chosen(sweep).accuracy
    images = images_of(sweep)
    sentences = []
    for family in (DIGITS, FAR):
        accuracies = best.sel(data=family, optimiser=SGD)
        gains = [_gain_said(accuracies, first, images) for first in (1, 5)]
        sentences.append(f"{capital(family)}, from epoch 1 to 20 the merge {gains[0]}; "
                         f"from epoch 5 to 20 it {gains[1]}.")
    return reading("Is one epoch enough?", " ".join(sentences))


def _gain_said(accuracy, first, images):
    """What the merge gains from an epoch to the last, and whether that is within the noise."""
    gain = _gain(accuracy, first, images)
    signed = minus(f"{gain.value:+.3f}")
    return f"{'gains' if gain.value >= 0 else 'loses'} {signed} ± {gain.error:.3f}{gain.doubt()}"


def _gain(accuracy, first, images):
    """What an accuracy over the epochs gains from an epoch to the last."""
    return Difference.of(float(accuracy.sel(epochs=epochs.EPOCHS[-1])), float(accuracy.sel(epochs=first)), images)


def reading_of_the_first_epoch(sweep: xarray.Dataset) -> Page:
    """How much of what twenty epochs of SGD bring a merge comes with the first, and how much of what the networks gain
    afterwards arrives, for both families of digits."""
    best, alone, images = epochs.chosen(sweep).accuracy, sweep.own.mean("task"), images_of(sweep)
    near, far = ({"data": name, "optimiser": SGD} for name in (DIGITS, FAR))
    before, near_best = float(sweep.before.sel(near)), best.sel(near)
    first, last = (float(near_best.sel(epochs=number)) for number in (1, 20))
    title = "With SGD, the first epoch brought the merge most of what twenty brought, but not all" if \
        (first - before) > 0.5 * (last - before) and _is_up(near_best, images) else \
        "How much does the first epoch bring the merge?"
    sentences = [said("""With the smaller rotations, its accuracy rose from {before:.0%} to {first:.0%} in the first
        epoch, and to {last:.0%} after twenty.""", before=before, first=first, last=last)]
    if all(_is_up(alone.sel(where), images) for where in (near, far)):
        shares = [float((best.sel(where)[-1] - best.sel(where)[0]) / (alone.sel(where)[-1] - alone.sel(where)[0]))
                for where in (near, far)]
        less = "only " if shares[1] < shares[0] else ""
        sentences.append(said("""Of what the single networks gained after their first epoch, the merge gained {near:.0%}
            with the smaller rotations, and {less}{far:.0%} with the larger ones.""",
                              near=shares[0], far=shares[1], less=less))
    return reading(title, " ".join(sentences))


def _is_up(accuracy, images):
    gain = _gain(accuracy, 1, images)
    return gain.is_news and gain.value > 0


@still
def likeness(sweep: xarray.Dataset):
    """Accuracy of the merge against how much its task vectors are like the first gradient, a path over the epochs for
    each family of digits (SGD)."""
    fig, ax = plotting.figure(height=3.8, width=7.2)
    best, told = epochs.chosen(sweep).accuracy, []
    for name, colour, marker in zip((DIGITS, FAR), COLOURS, MARKERS):
        part = sweep.sel(data=name, optimiser=SGD)
        cosines, accuracies = part.towards.mean("task"), best.sel(data=name, optimiser=SGD)
        ax.plot(cosines, accuracies, color=colour, marker=marker, linewidth=1.6, label=name)
        for number in (SHOWN[0], SHOWN[-1]):
            place = cosines.sel(epochs=number), accuracies.sel(epochs=number)
            ax.annotate(_words(number), place, (6, 6), textcoords="offset points", fontsize=9.5, color=colour)
        told.append(f"{name}: " + ", ".join(
            f"{_words(int(number))} {float(cosine):.2f} and {float(accuracy):.2f}"
            for number, cosine, accuracy in zip(sweep.epochs, cosines, accuracies)))
    ax.set(xlabel="cosine of the task vectors with the negative gradient at the start", ylabel="accuracy of the merge")
    ax.margins(0.12)
    ax.legend()
    alt = f"Cosine of the task vectors with the negative gradient, and accuracy of the merge. {'; '.join(told)}."
    return plotting.show(fig, alt, f"{caption(sweep)} SGD; a dot is a number of epochs, mean over six tasks.")


def reading_of_likeness(sweep: xarray.Dataset) -> Page:
    """Whether the merge gets better while its task vectors become less like the gradient, and how much of what the
    single networks gained over the start it has."""
    part = sweep.sel(data=DIGITS, optimiser=SGD)
    cosines = part.towards.mean("task")
    merged, single = epochs.chosen(sweep).accuracy.sel(data=DIGITS, optimiser=SGD), part.own.mean("task")
    images = images_of(sweep)
    text = said("""The cosine between the task vectors and the negative gradients was {first:.2f} after one epoch and
                   {last:.2f} after twenty.""", first=float(cosines[0]), last=float(cosines[-1]))
    if not (float(cosines[-1]) < float(cosines[0]) and _is_up(merged, images)):
        return reading("Are task vectors that are more like gradients better to merge?", text)
    text += " So likeness to a gradient does not decide it."
    if _is_up(single, images):
        shares = ((merged - part.before) / (single - part.before)).values
        text += " " + said("""The single networks learn more at the same time. Of what they gained over the pretrained
            network, the merge had {first:.0%} after one epoch and {last:.0%} after twenty.""",
                           first=shares[0], last=shares[-1])
    return reading("With the smaller rotations, the merge became better while its task vectors became less like "
                   "gradients", text)
