"""The toy that fits on a page: two task vectors, trimmed, their signs elected, merged, and what that costs each
task."""
import numpy as np
from matplotlib.patches import Rectangle

from lessons.interference.experiment import toy
from lessons.interference.experiment.toy import AGREEMENTS, DENSITIES, INPUTS, OUTPUTS, SEEN
from lessons.kit import page, plotting
from lessons.kit.noise import WIDE, told
from lessons.kit.page import Page, bold, minus, paragraph, quiet, said, table
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, PURPLE, Look
from lessons.kit.sweep import position
from lessons.kit.view import (
    Axis,
    Bars,
    Chart,
    Frame,
    Handle,
    Line,
    Points,
    Reference,
    chips,
    key,
    percent,
    slider,
    view,
)

LARGEST = 4.3  # of a weight, up and down
AHEAD = 0.02  # of the error of W₀: two ways that differ by less are as good
ROOM = 4  # of an entry on its axis: three bars and a gap
NAMES = {"ties": "TIES", "mean": "the average", "sum": "the plain sum", "tuned sum": "the plain sum at its best λ"}
_ALT = """
    Inputs that both tasks see: {shared}. Density {density:.1f}, {label}: {clashes} sign conflicts among {entries}
    entries. Error on task A {a:.2f}, on task B {b:.2f}, mean {mean:.2f}; plain average {average:.2f}, sum of both at
    its best λ {tuned:.2f}; the lowest mean over all densities is {lowest:.2f}, at {at:.1f}."""


@view
def interference():
    """Panel (a): above, what A and B want of each of twenty weights and what the merge gives it, grey where an entry
    was trimmed; below, what the merge costs each task. Controls: density, shared, how."""
    toys = {shared: toy.toy(shared) for shared in SEEN}
    errors = {(shared, how): _errors(toys[shared], how) for shared in SEEN for how in NAMES}

    def draw(density, shared, how):
        both, row, made = errors[shared, how], position(DENSITIES, density, "density"), toys[shared]
        average, tuned = (errors[shared, way][-1].mean() for way in ("mean", "tuned sum"))
        stack, merged = toy.merged(made, density, how)
        clash = toy.conflicts(stack).numpy()
        of_a, of_b, merged, cut_a, cut_b = map(_in_columns, (*stack, merged, *(made.vectors - stack)))
        mean = both.mean(1)
        values = {"A": of_a, "B": of_b, "merged": merged, "trimmed of A": cut_a, "trimmed of B": cut_b,
                  "conflicts": np.where(clash.T.ravel(), -LARGEST, np.nan), "error": mean, "average": average,
                  "sum": tuned}
        alt = said(_ALT, shared=shared, density=density, entries=OUTPUTS * INPUTS, clashes=clash.sum(), a=both[row, 0],
                   label=next(text for text, value in AGREEMENTS.items() if value == how), b=both[row, 1],
                   mean=mean[row], average=average, tuned=tuned, lowest=mean.min(), at=DENSITIES[mean.argmin()])
        about = key(("a", "A wants"), ("b", "B wants"), ("merged", f"merged: {NAMES[how]}"),
                    ("", "grey: trimmed; dot: A and B pull in opposite directions"))
        return Frame(finding_of_trimming(how, mean, tuned), alt, values, about)

    controls = {"density": slider("density", {f"{density:g}": density for density in DENSITIES}, 0.5, words=_words,
                                  ends=[("", "nothing kept"), ("", "all kept")]),
                "shared": chips("inputs that both tasks see", list(SEEN)),
                "how": chips("merge by", AGREEMENTS, more=True)}
    return {"kicker": "Chapter 7: interference on a page",
            "tries": ("Move the slider up to 1, so that nothing is trimmed. How many dots come back?",
                      "Let both tasks see all five inputs. Does TIES still help?",
                      "Under “More”, merge by “sum of both”, and then by “sum of both, λ at its best”."),
            "charts": _charts(), "draw": draw, "controls": controls,
            "caption": "Numbers generated for this page. An error of 1 is that of the pretrained layer, 0 that of the "
                       "task’s own layer.", "stacked": True}


def _words(density):
    return f"density {density:g}: {'all' if density == 1 else percent(density) if density else 'nothing'} kept"


def _in_columns(matrix):
    """A matrix input by input, as the bars stand; zeros are gaps."""
    flat = matrix.numpy().T.ravel()
    return np.where(flat == 0, np.nan, flat)


def _charts():
    """The twenty weights, and the errors."""
    places = [ROOM * (entry + entry // OUTPUTS) for entry in range(OUTPUTS * INPUTS)]
    a, b, middle, merged = (tuple(place + shift for place in places) for shift in (0, 1, 1, 2))
    inputs = {ROOM * (OUTPUTS + 1) * place + 1.5 * ROOM + 1: f"input {place + 1}" for place in range(INPUTS)}
    above = Chart(Axis("", -2, places[-1] + ROOM, kind="places", ticks=inputs),
                  Axis("the twenty weights: what is added to each", -LARGEST - 0.4, LARGEST),
                  (Bars("trimmed of A", "other", x=a, bare=True), Bars("trimmed of B", "other", x=b, bare=True),
                   Bars("A", "a", x=a, bare=True), Bars("B", "b", x=b, bare=True),
                   Bars("merged", "merged", x=merged, bare=True), Points("conflicts", "single", x=middle)), height=280)
    below = Chart(Axis("density", 0, 1, ticks={density: f"{density:g}" for density in DENSITIES[::2]}),
                  Axis("error, mean of both tasks (1: the pretrained layer)", 0.015, 1.5, "log", digits=2,
                       ticks={error: f"{error:g}" for error in (0.02, 0.05, 0.1, 0.2, 0.5, 1)}),
                  (Reference("average", "other", "average"), Reference("sum", "single", "sum, best λ"),
                   Line("error", "merged", "the merge", x=DENSITIES, dots=True), Handle("density")), height=280)
    return [above, below]


def _errors(task_vectors, how):
    """What a way of merging costs both tasks, (density, task)."""
    return np.array([task_vectors.errors(toy.merged(task_vectors, density, how)[1]).numpy() for density in DENSITIES])


def finding_of_trimming(how: str, mean: np.ndarray, tuned: float) -> str:
    """Whether trimming helps a way of merging, and how it then compares with the plain sum that may choose its λ.

    Args:
        how: a key of NAMES.
        mean: error by density, mean of both tasks.
        tuned: that of the plain sum at its best λ.
    """
    helps = mean[-1] - mean.min() > AHEAD
    first = f"Trimming {'helps' if helps else 'does not help'} {NAMES[how]}"
    if how == "tuned sum":
        return first
    if tuned - mean.min() > AHEAD:
        return f"{first}, which beats even a plain sum with the best λ"
    if mean.min() - tuned > AHEAD:
        return f"{first}, and a plain sum with the best λ is better"
    return f"{first}, but a plain sum with the best λ is as good" if helps else \
        f"{first}, and a plain sum with the best λ is as good"


@plotting.themed
def two_task_vectors(shared: str = "one of five"):
    """The task vectors of A and of B and their sum, as tables of 4 × 5 numbers. A box is drawn around the inputs that a
    task sees, and a dot marks the weights where the signs of A and B differ.

    Args:
        shared: how many inputs both tasks see, a key of SEEN.
    """
    made = toy.toy(shared)
    clash = toy.conflicts(made.vectors)
    fig, axes = plotting.figure(3, height=3.0)
    matrices = zip(axes, (*made.vectors, made.vectors.sum(0)), ("what A wants", "what B wants", "their sum"))
    for place, (ax, matrix, title) in enumerate(matrices):
        ax.imshow(matrix.numpy(), cmap="PuOr", vmin=-LARGEST, vmax=LARGEST)
        for row in range(OUTPUTS):
            for column in range(INPUTS):
                number = matrix[row, column].item()
                ax.text(column, row, minus(f"{number:.1f}"), ha="center", va="center", fontsize=9.5,
                        color="white" if abs(number) > 0.75 * LARGEST else BLACK)
                if place == 2 and clash[row, column]:
                    ax.plot([column + 0.36], [row - 0.36], color=BLACK, marker="o", markersize=6,
                            markeredgecolor="white")
        for column in SEEN[shared][place] if place < 2 else ():
            ax.add_patch(Rectangle((column - 0.47, -0.47), 0.94, OUTPUTS - 0.06, fill=False, linewidth=1.8))
        ax.set(title=title, xticks=range(INPUTS), yticks=range(OUTPUTS))
        ax.set_xticklabels([f"input {column + 1}" for column in range(INPUTS)], fontsize=8)
        ax.set_yticklabels([f"output {row + 1}" for row in range(OUTPUTS)] if not place else [], fontsize=8)
        ax.grid(False)
    alt = said("""Two task vectors of {outputs} × {inputs} weights and their sum. The largest entry of the two has a
                  magnitude of {largest:.1f}; the signs differ in {clashes} of {entries} weights.""",
               outputs=OUTPUTS, inputs=INPUTS,
               largest=made.vectors.abs().max().item(), clashes=int(clash.sum()), entries=clash.numel())
    return plotting.show(fig, alt, "Numbers generated for this page. Boxes: inputs that the task sees. Dot: A and B "
                                   "pull in opposite directions.")


# -- other numbers ---------------------------------------------------------------------------------

HEAD = ("inputs that both see", "plain average", "plain sum, λ tuned", "TIES, density tuned",
        "TIES, density and λ tuned", "TIES (density tuned) beats the average in",
        "is TIES better than the plain sum, both tuned?")


def reading_of_the_draws(count: int = 100) -> Page:
    """A table: what merging costs over many toys with other numbers, with every method tuned."""
    drawn = {shared: toy.draws(shared, count) for shared in SEEN}
    rows = [_over_draws(shared, costs) for shared, costs in drawn.items()]
    note = f"Mean error over {count} toys with other numbers; 1 is the pretrained layer, 0 the task's own layer."
    answer = answer_of_draws({shared: float((costs[:, 2] < costs[:, 0]).mean()) for shared, costs in drawn.items()})
    made = table(HEAD, rows, before=paragraph(bold("Was it the draw?")), after=quiet(note) + paragraph(answer))
    return Page(f"{made.text}\n{note}\n{answer}", made.page)


def answer_of_draws(wins: dict[str, float]) -> str:
    """Whether the drawn numbers decide if TIES beats the average, of {how many inputs are shared: in which share of the
    toys it does}."""
    parts = [f"{'every toy' if share == 1 else 'no toy' if share == 0 else f'{share:.0%} of the toys'} whose tasks "
             f"share {shared.replace('none', 'none of the')} inputs" for shared, share in wins.items()]
    by_draw = [shared for shared, share in wins.items() if 0 < share < 1]
    if not by_draw:
        start = "So it was not the draw"
    elif len(by_draw) < len(wins):
        start = "So the draw decides in part"
    else:
        start = "So the draw decides"
    return f"{start}: with its density tuned, TIES beats the average in {', in '.join(parts[:-1])} and in {parts[-1]}."


def _over_draws(shared, costs):
    """One row: the mean costs, and whether TIES is ahead."""
    average, tuned_sum, ties, tuned_ties = costs.T
    lead = tuned_sum - tuned_ties
    verdict = {"Agrees": "yes", "Does not agree here": "no"}.get(
        told(lead.mean(), lead.std(ddof=1) / len(lead) ** 0.5), "within the noise")
    means = (f"{column.mean():.3f}" for column in costs.T)
    return (shared, *means, f"{(ties < average).mean():.0%} of the toys",
            page.minus(f"{verdict}, by {lead.mean():+.3f}"))


# as the columns of `toy.draws`
WAYS = {"plain average": Look(GREY, "s"), "plain sum, λ tuned": Look(BLUE, "^"),
        "TIES, density tuned": Look(PURPLE, "D"), "TIES, density and λ tuned": Look(GREEN, "o")}


@plotting.themed
def costs_of_draws(count: int = 100):
    """What merging costs over many toys with other numbers, a row for each number of shared inputs and a mark a
    method, with two standard errors."""
    fig, ax = plotting.figure(height=3.2)
    alt = []
    for row, shared in enumerate(reversed(SEEN)):
        costs = toy.draws(shared, count)
        means, errors = costs.mean(0), WIDE * costs.std(0, ddof=1) / count ** 0.5
        for place, (name, look) in enumerate(WAYS.items()):
            ax.errorbar([means[place]], [row + 0.24 - 0.16 * place], xerr=[errors[place]], color=look.colour,
                        marker=look.marker, linestyle="", label=name if not row else None)
        alt.append(f"{shared}: " + ", ".join(f"{name} {mean:.3f}" for name, mean in zip(WAYS, means)))
    ax.set_yticks(range(len(SEEN)), [f"shared inputs: {shared}" for shared in reversed(SEEN)])
    ax.set(xlim=(0, 1), ylim=(-0.5, len(SEEN) - 0.5), xlabel="error, mean of both tasks (1: the pretrained layer)")
    fig.legend(loc="outside upper left", ncols=len(WAYS), columnspacing=1.0, handletextpad=0.2)
    return plotting.show(fig, f"Mean error. {'; '.join(alt)}.",
                         f"Mean over {count} toys with other numbers. Bars: two standard errors.")


def reading_of_the_lead(count: int = 100) -> Page:
    """On which toys TIES is better than the plain sum, both at their best."""
    leads = {shared: (costs[:, 1] - costs[:, 3]) for shared, costs in
             ((shared, toy.draws(shared, count)) for shared in SEEN)}
    return lead_in_words({shared: (lead.mean(), lead.std(ddof=1) / count ** 0.5) for shared, lead in leads.items()})


def lead_in_words(leads: dict[str, tuple[float, float]]) -> Page:
    """`reading_of_the_lead`, of {how many inputs are shared: (by how much TIES is better, its standard error)}."""
    parts = []
    for shared, (lead, error) in leads.items():
        how = "within the noise of the plain sum" if abs(lead) < WIDE * error else \
            f"{'better' if lead > 0 else 'worse'} than the plain sum by {abs(lead):.2f}"
        parts.append(f"When the tasks shared {shared.replace('none', 'none of the')} inputs, TIES was {how}.")
    signs = {0 if abs(lead) < WIDE * error else np.sign(lead) for lead, error in leads.values()}
    title = "Whether TIES helped depended on what the tasks shared" if len(signs) > 1 else \
        "TIES compared with the plain sum in the same way, whatever the tasks shared"
    return page.reading(title, "TIES and the plain sum were both tuned. {text}", text=" ".join(parts))
