"""What is left of a task whose vector was subtracted, in pictures."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Markup, Page, minus, said
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
    """What the two pictures say, with this sweep's numbers."""
    third = forgetting.over_tasks(sweep, "read_out", layer="layer 3")
    again = forgetting.over_tasks(sweep, "again", step=20)
    far = forgetting.claims(sweep)["CTL-13"]
    of_near, of_rest = (forgetting.over_tasks(sweep.isel(angle=tasks), "read_out", layer="layer 3")
                        for tasks in (slice(0, 1), slice(1, None)))
    of_far = forgetting.over_tasks(sweep.isel(angle=slice(1, None)), "accuracy")
    images = int(sweep.attrs["test_images"])
    lost, near, rest = (Difference.of(read_out["θ₀"], read_out["θ₀ − τ"], images)
                        for read_out in (third, of_near, of_rest))
    of_single = sweep.read_out.sel(layer="layer 3").isel(angle=slice(1, None))
    of_tasks = 100 * (of_single.sel(network="θ₀") - of_single.sel(network="θ₀ − τ")).values
    over = Difference.of(of_near["θ₀"], of_near["untrained"], images)
    text = said(Markup("""
                   Leave out 22.5°, of which much remains. On the other seven tasks θ₀ − τ is right for {own:.1%} of the
                   images, and chance is 10 %. If it knew the answer with the wrong sign, the right class would have the
                   smallest output. It has for {smallest:.0%}: more than chance, far from all. So the right class was
                   pushed down the list, but seldom to its end. Pushing needs the direction of τ: the same numbers in
                   shuffled places take next to nothing ({shuffled:.2f}, θ₀ {before:.2f}). And the features? Over all
                   eight tasks, a new last layer is right for {negated:.2f} of the images with the features of θ₀ − τ,
                   and for {pretrained:.2f} with those of θ₀. The difference is {lost} points{doubt}. Look at single
                   tasks too. For 22.5°, the one task that θ₀ knew well, θ₀ is {near} points ahead{near_doubt}; for the
                   seven others it is {rest} in the mean{rest_doubt}, and between {least} and {most} on single
                   ones. Mind the control: with the features of an <i>untrained</i> network it is right for
                   {untrained:.2f}. For 22.5° θ₀ was {over} points ahead of that. And after 20 steps of training on the
                   task, in the mean over all eight, θ₀ − τ is right for {again:.2f}, θ₀ for {again_before:.2f}, and the
                   untrained network for {again_untrained:.2f}."""),
                own=far["far_task_negated"], smallest=far["far_task_smallest_output"],
                shuffled=of_far["θ₀ − shuffled τ"], before=of_far["θ₀"],
                lost=lost, doubt=lost.doubt(), near=near, near_doubt=near.doubt(), rest=rest, rest_doubt=rest.doubt(),
                least=minus(f"{min(of_tasks):+.1f}"), most=minus(f"{max(of_tasks):+.1f}"), over=over,
                negated=third["θ₀ − τ"], pretrained=third["θ₀"],
                untrained=third["untrained"],
                again=again["θ₀ − τ"], again_before=again["θ₀"], again_untrained=again["untrained"])
    return Page(text, Markup("<p><b>What was measured.</b> {}</p>").format(text))
