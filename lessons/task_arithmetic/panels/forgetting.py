"""What is left of a task whose vector was subtracted, in pictures."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Markup, Page, folded, paragraph, quiet, said, table
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREEN, GREY, RED, Look, still
from lessons.task_arithmetic.experiment import forgetting
from lessons.task_arithmetic.experiment.forgetting import NETWORKS
from lessons.task_arithmetic.panels.common import CHANCE, dotted, with_error

LOOKS = dict(zip(NETWORKS, (Look(BLUE, "s"), Look(GREEN, "^"), Look(RED, "o"), Look(BLACK, "x"), Look(GREY, "D"))))
ALIKE = 0.03  # of accuracy: closer than this, two networks are called alike
QUESTIONS = ("its own answer", "its smallest\noutput", "new last layer\non layer 3", "after 20 more\nsteps of training")


@still
def is_it_forgotten(sweep: xarray.Dataset):
    """Four questions to five networks about the eight tasks, mean over the tasks."""
    fig, ax = plotting.figure(height=4.6)
    places = np.arange(len(QUESTIONS))
    sentences = []
    for place, (network, look) in enumerate(LOOKS.items()):
        values = _answers(sweep, network)
        ax.plot(places + 0.14 * (place - 2), values, color=look.colour, marker=look.marker, markersize=9, linestyle="",
                label=network)
        sentences.append(f"{network}: " + ", ".join(f"{value:.3f}" for value in values))
    dotted(ax)
    ax.set(ylabel=ACCURACY, ylim=(0, 1), xlim=(-0.5, len(places) - 0.5), title="What does a network know of the task?")
    ax.set_xticks(places, QUESTIONS)
    ax.grid(axis="x", visible=False)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    asked = ", ".join(question.replace("\n", " ") for question in QUESTIONS)
    alt = f"Share correct, mean over eight tasks, by {asked}. {'; '.join(sentences)}."
    return plotting.show(fig, alt, with_error(sweep) + " Means over eight tasks.")


def _answers(sweep, network):
    return [forgetting.over_tasks(sweep, "accuracy")[network],
            forgetting.over_tasks(sweep, "smallest")[network],
            forgetting.over_tasks(sweep, "read_out", layer="layer 3")[network],
            forgetting.over_tasks(sweep, "again", step=20)[network]]


@still
def learned_again(sweep: xarray.Dataset):
    """Accuracy on the task against the steps of SGD on it, mean over the eight tasks."""
    fig, ax = plotting.figure(height=3.9, width=7.2)
    steps = sweep.step.values
    sentences = []
    for network, look in LOOKS.items():
        values = sweep.again.sel(network=network).mean("angle")
        ax.plot(steps, values, color=look.colour, marker=look.marker, label=network)
        sentences.append(f"{network}: " + ", ".join(f"{value:.3f}" for value in values.values))
    dotted(ax)
    ax.set(xlabel="steps of training on the task", ylabel=ACCURACY, ylim=(0, 1.02))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
    alt = f"After {', '.join(map(str, steps))} steps. {'; '.join(sentences)}."
    below = with_error(sweep) + " Means over eight tasks; the same images in the same order."
    difference = sweep.again.sel(network="θ₀").mean("angle") - sweep.again.sel(network="θ₀ − shuffled τ").mean("angle")
    if abs(difference).max() < ALIKE:
        below += " The curves of θ₀ and θ₀ − shuffled τ nearly coincide."
    return plotting.show(fig, alt, below)


def reading_of_below_chance(sweep: xarray.Dataset) -> Page:
    """That a task whose vector was subtracted is worse than guessed, not by its sign, and learned sooner than by an
    untrained network, but not than by the pretrained one; with this sweep's numbers, on the seven tasks that θ₀ hardly
    knew."""
    far = sweep.isel(angle=slice(1, None))
    images, own = int(sweep.attrs["test_images"]), forgetting.over_tasks(far, "accuracy")
    right, smallest = own["θ₀ − τ"], forgetting.over_tasks(far, "smallest")["θ₀ − τ"]
    again = forgetting.over_tasks(far, "again", step=20)
    lead, lag = (Difference.of(again[a], again[b], images) for a, b in (("θ₀ − τ", "untrained"), ("θ₀", "θ₀ − τ")))
    sooner = lead.is_news and lead.value > 0
    title = "θ₀ − τ is below chance, and still learns its task faster than an untrained network." \
        if right < CHANCE and sooner else "What is left of a task that was subtracted."
    text = said("""Leave out 22.5°, which θ₀ knew. On the other seven tasks θ₀ − τ is right for {right:.1%} of the
                   images. If only its sign were wrong, the right class would have the smallest output. That is so for
                   {smallest:.0%}. After 20 steps of training, θ₀ − τ is {again:.0%} accurate on these seven (the
                   figure shows all eight), and the untrained network {untrained:.0%}.""",
                right=right, smallest=smallest, again=again["θ₀ − τ"], untrained=again["untrained"])
    if lag.is_news and lag.value > 0:
        text += " " + said("""The pretrained network learns it faster still, although it was never trained on this task.
                              So part of this lead may be what pretraining taught about digits in general.""")
    by_shuffled = max(abs(values["θ₀"] - values["θ₀ − shuffled τ"]) for values in (own, again))
    if by_shuffled < ALIKE < own["θ₀"] - right:
        text += " " + said("""Subtracting shuffled τ changes almost nothing, so the direction of τ matters, not only its
                              length.""")
    return Page(f"{title} {text}", Markup("<p><b>{}</b> {}</p>").format(title, text))


def reading_of_forgetting(sweep: xarray.Dataset) -> Page:
    """What a network below chance still knows, in a sentence, and a table of the single tasks, with this sweep's
    numbers."""
    far, images = sweep.isel(angle=slice(1, None)), int(sweep.attrs["test_images"])
    right, smallest = forgetting.over_tasks(far, "accuracy"), forgetting.over_tasks(far, "smallest")["θ₀ − τ"]
    again = forgetting.over_tasks(sweep, "again", step=20)
    lead = Difference.of(again["θ₀ − τ"], again["untrained"], images)
    title = "What was measured."
    if right["θ₀ − τ"] < CHANCE and smallest < 0.5 and lead.is_news and lead.value > 0:
        title = said("""θ₀ − τ is below chance, but a wrong sign does not explain that, and it learns the tasks faster
                        than an untrained network.""")
    first = said("""On the seven tasks of which θ₀ knew little, θ₀ − τ is right for {right:.1%} of the images. If only
                    its sign were wrong, the right class would have the smallest output. That is so for {smallest:.0%}.
                    (Guessing hits one class in ten.) After 20 steps of training on the task, in the mean over all
                    eight, θ₀ − τ is {again:.0%} accurate, θ₀ {before:.0%}, and the untrained network
                    {untrained:.0%}.""",
                 right=right["θ₀ − τ"], smallest=smallest, again=again["θ₀ − τ"], before=again["θ₀"],
                 untrained=again["untrained"])
    if abs(right["θ₀"] - right["θ₀ − shuffled τ"]) < ALIKE < right["θ₀"] - right["θ₀ − τ"]:
        first += " " + said("""Subtracting shuffled τ changes almost nothing, so the direction of τ matters, not only
                               its length.""")
    last = _of_new_last_layers(sweep)
    made = folded("The numbers of every task", table(_HEAD, _of_single_tasks(sweep), after=quiet(_BELOW)))
    around = Markup("<p><b>{}</b> {}</p>").format(title, first), paragraph(last)
    return Page(f"{title} {first}\n{last}\n{made.text}\n{_BELOW}", Markup("").join(around) + made.page)


_HEAD = ("task", "right: θ₀", "right: θ₀ − τ", "smallest output is right: θ₀ − τ", "new last layer: θ₀",
         "new last layer: θ₀ − τ", "new last layer: untrained", "new last layer: θ₀ ahead of θ₀ − τ, in points")
_BELOW = said("""New last layers are fitted to the features of layer 3. After ± stands the standard error of the images,
                 at most. A difference of less than two of them is within the noise.""")


def _of_single_tasks(sweep):
    """The rows of the table: every task, the mean of those that θ₀ hardly knew, and the mean of all."""
    parts = {f"{angle:g}°": sweep.sel(angle=[angle]) for angle in sweep.angle.values}
    parts |= {f"mean without {sweep.angle.values[0]:g}°": sweep.isel(angle=slice(1, None)), "mean of all": sweep}
    rows = []
    for name, part in parts.items():
        right, smallest = forgetting.over_tasks(part, "accuracy"), forgetting.over_tasks(part, "smallest")["θ₀ − τ"]
        read_out = forgetting.over_tasks(part, "read_out", layer="layer 3")
        anew = [read_out[network] for network in ("θ₀", "θ₀ − τ", "untrained")]
        values = (right["θ₀"], right["θ₀ − τ"], smallest, *anew)
        rows.append((name, *(f"{value:.2f}" for value in values), f"{_lost(part)}"))
    return rows


def _lost(part):
    """By how much a new last layer reads more from θ₀ than from θ₀ − τ, mean over the tasks of a part."""
    read_out = forgetting.over_tasks(part, "read_out", layer="layer 3")
    return Difference.of(read_out["θ₀"], read_out["θ₀ − τ"], int(part.attrs["test_images"]))


def _of_new_last_layers(sweep):
    """What a new last layer reads after the subtraction, for the task that θ₀ knew and for the others, in words."""
    near, rest = (_lost(sweep.isel(angle=tasks)) for tasks in (slice(0, 1), slice(1, None)))
    single = [_lost(sweep.isel(angle=[place])) for place in range(1, sweep.sizes["angle"])]
    more, less = (sum(lost.is_news and sign * lost.value > 0 for lost in single) for sign in (-1, 1))
    return said("""What does a new last layer read from the features? For 22.5°, the one task that θ₀ knew well,
                   {near}. In the mean over the seven others, {rest}. (Task by task, it reads more from θ₀ − τ for
                   {more} of the seven and less for {less}; the other differences are within the noise.) Compare with
                   the untrained network, too, because a new last layer reads much even from that.""",
                near=_compared(near), rest=_compared(rest), more=more, less=less or "none")


def _compared(lost):
    if not lost.is_news:
        return "the difference between θ₀ − τ and θ₀ is within the noise"
    return f"it reads {'less' if lost.value > 0 else 'more'} from θ₀ − τ than from θ₀"
