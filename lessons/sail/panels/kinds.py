"""Other kinds of networks and of learning: a GPT, a flow, ResNets, BYOL."""
import numpy as np
import xarray

from lessons.kit import noise, plotting
from lessons.kit.page import Page, grid_table, in_full_alone, minus, quiet, reading, table
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, PURPLE, RED, Look, still
from lessons.kit.sweep import caption, names
from lessons.sail.experiment import byol, flow, resnets
from lessons.sail.experiment.resnets import GROW, HALF, MATCHED, ONE, OTHER, OWN, PARENT, SCRATCH, SHRINK

STARTS = {"one start": Look(BLUE, "o"), "two starts": Look(ORANGE, "s"), "one run": Look(GREEN, "^")}
GROWN = {"parent as it is": Look(BLACK, "D"), "deeper, silent": Look(GREEN, "^"), "deeper, stacking": Look(PURPLE, "v"),
         "deeper, interpolation": Look(ORANGE, "s"), "deeper, interpolation, rows sum to ½": Look(BLUE, "o"),
         "deeper, equal shares": Look(RED, "P"), "deeper, scratch": Look(GREY, "X", "--")}

MIXED = {SCRATCH: Look(GREY, "X", "--"), f"{ONE}: {PARENT}": Look(BLACK, "D"), f"{ONE}: {HALF}": Look(BLUE, "o"),
         f"{OWN}: {PARENT}": Look(PURPLE, "v"), f"{OWN}: {HALF}": Look(ORANGE, "s"),
         f"{MATCHED}: {HALF}": Look(GREEN, "^")}
ELSEWHERE = {f"{OTHER}: {SCRATCH}": Look(GREY, "X", "--"), f"{OTHER}: {PARENT}": Look(BLACK, "D"),
             f"{OTHER}: {HALF}": Look(BLUE, "o")}
SIZED = {f"{GROW}: {resnets.SOURCE}": Look(BLACK, "D"), f"{GROW}: {resnets.COPIES}": Look(GREEN, "^"),
         f"{GROW}: {resnets.BETWEEN}": Look(ORANGE, "s"), f"{GROW}: {resnets.PROJECTED}": Look(RED, "P"),
         f"{GROW}: {SCRATCH}": Look(GREY, "X", "--"), f"{SHRINK}: {resnets.SOURCE}": Look(BLACK, "D", ":"),
         f"{SHRINK}: {resnets.STRONGEST}": Look(BLUE, "o", ":"),
         f"{SHRINK}: {resnets.BETWEEN}": Look(PURPLE, "v", ":")}


@in_full_alone
@still
def text(sweep: xarray.Dataset | None):
    """Left, the loss on later speeches along γ between two GPTs, at once and after training; right, one of them grown
    in depth."""
    fig, (left, right) = plotting.figure(2, height=5.0)
    told = []
    last = int(sweep.steps[-1])
    for start, look in STARTS.items():
        name = {"one run": "one run, two epochs"}.get(start, start)
        for steps, line in ((0, "-"), (last, ":")):
            part = sweep.loss.sel(start=start, steps=steps)
            left.plot(sweep.share, part, color=look.colour, marker=look.marker, linestyle=line,
                      label=f"{name}, {steps} steps")
            told.append(f"{start}, {steps} steps: {float(part.sel(share=0.5)):.2f} half-way")
    left.set(xlabel="γ", ylabel="loss (nats a character)", title="Two GPTs mixed")
    places = np.arange(len(sweep.steps))
    for how, look in GROWN.items():
        right.plot(places, sweep.grown.sel(how=how), color=look.colour, marker=look.marker, linestyle=look.line,
                   label=how)
    right.set_xticks(places, [str(int(steps)) for steps in sweep.steps.values])
    right.set(xlabel="steps on later speeches", title="One of them from two blocks to four")
    for ax in (left, right):
        ax.legend(fontsize=9.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return plotting.show(fig, f"Loss of mixed GPTs. {'; '.join(told)}.", caption(sweep))


@in_full_alone
@still
def points(sweep: xarray.Dataset | None):
    """The flow-matching loss over the steps, of averages and of a random start; and how far made points are from real
    ones."""
    fig, (left, right) = plotting.figure(2, height=3.8)
    places = np.arange(len(sweep.steps))
    told = []
    for pair, colour, marker in zip(names(sweep.pair), (*COLOURS[:4], GREY), MARKERS):
        part = sweep.sel(pair=pair, share=0.5)
        name = pair if pair == flow.RANDOM else f"γ = ½: {pair}"
        left.plot(places, part.loss, color=colour, marker=marker, label=name)
        right.plot(places, 1000 * part.mmd, color=colour, marker=marker)
        told.append(f"{name} {float(part.loss[0]):.2f} at once, {float(part.loss[-1]):.2f} at the end")
    for pair, colour in ((sweep.pair.values[0], BLACK), ("; ".join(flow.PAIRS[3]), COLOURS[3])):
        alone = sweep.sel(pair=pair, share=0.0)
        left.plot(places, alone.loss, color=colour, linestyle=":", marker="",
                  label=f"one parent alone, {pair.partition(';')[0]}")
        right.plot(places, 1000 * alone.mmd, color=colour, linestyle=":", marker="")
    for ax in (left, right):
        ax.set_xticks(places, [str(int(steps)) for steps in sweep.steps.values])
        ax.set_xlabel("steps on all points")
    left.set_ylabel("flow-matching loss")
    right.set_ylabel("1000 · MMD² from real points")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return plotting.show(fig, f"Flow-matching loss. {'; '.join(told)}.", caption(sweep))


@in_full_alone
@still
def photographs(sweep: xarray.Dataset | None):
    """The loss of mixed ResNets over the steps, for their parents' task and for another. Vertical lines: a standard
    error."""
    return _curves(sweep, {"The parents' own ten classes": MIXED, "Ten classes that no parent saw": ELSEWHERE})


@in_full_alone
@still
def sizes(sweep: xarray.Dataset | None):
    """The loss of ResNets that were brought to another width, over the steps. Vertical lines: a standard error."""
    return _curves(sweep, {"Another width": SIZED})


@in_full_alone
def reading_of_sizes(sweep: xarray.Dataset | None) -> Page:
    """How far from its source's loss a ResNet begins that was made twice as wide, by three ways."""
    source = f"{GROW}: {resnets.SOURCE}"
    named = {"copies": resnets.COPIES, "between": resnets.BETWEEN, "projected": resnets.PROJECTED}
    ways = {name: in_words(*resnets.apart(sweep, f"{GROW}: {how}", source, 0)) for name, how in named.items()}
    return reading("Does a ResNet behave like these?", """
        Before any step, the loss of the wider ResNet above that of its source, in nats: with copies {copies}; with
        interpolation {between}; with a random projection, which here the next layer uses too, {projected}. (± is one
        standard error over the test images.)""", **ways)


@in_full_alone
def reading_of_size_and_scratch(sweep: xarray.Dataset | None) -> Page:
    """How far scratch is behind a ResNet that began from copies, after the last step."""
    copies, scratch = (f"{GROW}: {how}" for how in (resnets.COPIES, SCRATCH))
    last = int(sweep.loss.sel(start=scratch).dropna("steps", how="all").steps[-1])
    return reading("And scratch?", """
        With a learning rate that was chosen among three for the narrower network, its loss after {last} steps was
        {behind} above that of the copies.""",
                   last=last, behind=in_words(*resnets.apart(sweep, scratch, copies, last)))


def _curves(sweep, charts):
    """A chart for every title, with the loss of its starts over the steps."""
    fig, axes = plotting.figure(len(charts), height=5.6, width=4.8 * len(charts), sharey=True, squeeze=False)
    told = []
    for ax, (title, looks) in zip(axes.flat, charts.items()):
        seen = 0
        for start, look in looks.items():
            part = sweep.loss.sel(start=start).dropna("steps", how="all")
            seen = max(seen, part.sizes["steps"])
            mean, error = part.mean("image"), part.std("image") / part.sizes["image"] ** 0.5
            name = start.removeprefix(f"{OTHER}: ")
            ax.errorbar(np.arange(part.sizes["steps"]), mean, error, color=look.colour, marker=look.marker,
                        linestyle=look.line, label=name)
            later = f", {float(mean[-1]):.2f} after {int(part.steps[-1])}" if len(mean) > 1 else ""
            told.append(f"{start} {float(mean[0]):.2f} at once{later}")
        ax.set_xticks(np.arange(seen), [str(int(steps)) for steps in sweep.steps.values[:seen]])
        ax.set(xlabel="steps", title=title)
        ax.legend(fontsize=9.5, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    axes.flat[0].set_ylabel("loss (nats)")
    return plotting.show(fig, f"Loss of ResNets on test images. {'; '.join(told)}.", caption(sweep))


@in_full_alone
def apart(sweep: xarray.Dataset | None) -> Page:
    """What averaging adds to one parent, and a head start to scratch, with standard errors; “?” marks what is within
    the noise."""
    rows = []
    for set_up, others in resnets.COMPARED.items():
        for whom, other in zip((PARENT, SCRATCH), others):
            rows.append((set_up, whom, *_cells(sweep, f"{set_up}: {HALF}", other)))
    source = f"{GROW}: {resnets.SOURCE}"
    for how in (resnets.COPIES, resnets.BETWEEN, SCRATCH):
        rows.append((f"{GROW}, {how}", "the source as it is", *_cells(sweep, f"{GROW}: {how}", source)))
    for how in (resnets.STRONGEST, resnets.BETWEEN):
        rows.append((f"{SHRINK}, {how}", SCRATCH, *_cells(sweep, f"{SHRINK}: {how}", SCRATCH)))
    heads = [f"{int(steps)} steps" for steps in sweep.steps.values]
    return table(("half-way, or at another width", "its loss above that of", *heads), rows, left=2,
                 after=quiet("In nats, ± one standard error over the images; below 0 it is ahead. "
                             f"“?”: within two standard errors of none, which is within the noise. {caption(sweep)}"))


def _cells(sweep, start, other):
    """A difference for every number of steps."""
    cells = []
    for steps in sweep.steps.values:
        above, error = resnets.apart(sweep, start, other, int(steps))
        doubt = "" if noise.Difference(above, error).is_news else " ?"
        cells.append("–" if np.isnan(above) else minus(f"{above:+.2f} ± {error:.2f}{doubt}"))
    return cells


@in_full_alone
def reading_of_resnets(sweep: xarray.Dataset | None) -> Page:
    """What became of SAIL's sentence on supervised ResNets, with this sweep's numbers."""
    last = int(sweep.steps[-1])
    told = {}
    for name, set_up in (("one", ONE), ("own", OWN), ("matched", MATCHED), ("other", OTHER)):
        for whom, other in zip(("parent", "scratch"), resnets.COMPARED[set_up]):
            for when, steps in (("first", 0), ("last", last)):
                told[f"{name}_{whom}_{when}"] = _beside(*resnets.apart(sweep, f"{set_up}: {HALF}", other, steps))
    beside = [told[f"{name}_scratch_last"] for name in ("one", "own", "matched", "other")]
    beside_scratch = f"all four {beside[0]}" if len(set(beside)) == 1 else f"in this order {', '.join(beside)}"
    return reading("Figures 3 and 5 of the source, on ResNets", """
        Compare the loss from the average of two parents with the loss from one parent. Parents of one initialisation:
        before the first step it is {one_parent_first}, after {last} steps {one_parent_last}. Of two initialisations:
        {own_parent_first}, then {own_parent_last}. If these are matched: {matched_parent_first}, then
        {matched_parent_last}. On classes that no parent saw: {other_parent_first}, then {other_parent_last}.
        Beside scratch, after the last step: {beside_scratch}. (Higher or lower by more than two standard errors over
        the test images. The table has all numbers.) The parents had been trained before: one took {alone} steps from
        the common initialisation, or {stranger} from its own.""",
                   last=last, beside_scratch=beside_scratch, **told, **bill())


def _beside(above, error):
    """Whether a difference in nats is more than the noise, and in which direction."""
    difference = noise.Difference(above, error)
    return "within the noise" if not difference.is_news else "higher" if above > 0 else "lower"


def in_words(above: float, error: float) -> str:
    """A difference in nats, and whether it is within the noise: within two standard errors."""
    return minus(f"{above:+.2f} ± {error:.2f}{noise.Difference(above, error).doubt()}")


def bill() -> dict[str, int]:
    """Training steps of the parents: of one alone, with what it began from, and of both."""
    steps_spent = {}
    for set_up, alone, both in ((ONE, "alone", "pair"), (OWN, "stranger", "strangers")):
        recipes = resnets.recipes_of(set_up)
        before = {recipe.parent for recipe in recipes if recipe.parent}
        steps = [sum(recipe.epochs * -(-dict(recipe.options)["size"] // recipe.batch_size)
                     for recipe in {*some, *before}) for some in (recipes[:1], recipes)]
        steps_spent |= dict(zip((alone, both), steps))
    return steps_spent


@in_full_alone
def without_labels(sweep: xarray.Dataset | None) -> Page:
    """A row for every start of BYOL: accuracy by neighbours over the steps."""
    accuracies = sweep.accuracy.assign_coords(steps=[f"{int(steps)} steps" for steps in sweep.steps.values])
    error = noise.error_of_difference(0.75, 0.75, byol.TEST)
    remarks = f"Accuracy by nearest neighbours. {caption(sweep)} Standard error of a difference: at most " \
              f"{100 * error:.1f} points."
    return grid_table(accuracies, corner="start", after=quiet(remarks))
