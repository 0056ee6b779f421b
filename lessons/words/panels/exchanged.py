"""Between an encoder that judges films and one that judges what customers write, under both heads."""
import numpy as np
import xarray

from lessons.kit.noise import Difference, with_reach
from lessons.kit.page import capital, said
from lessons.kit.sweep import names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, key, view
from lessons.lines.panels import ALPHA_AXIS, share_of_a
from lessons.words.panels import networks
from lessons.words.panels.networks import OWN, is_more

ITS_OWN, OTHERS = "its own", "the other's"  # heads, as the sweep calls them
ROLES = ("a", "b")  # of the two tasks' networks, and heads
_ALT = """
    {network}, α = {alpha:.2f}, accuracy on {first}’s sentences: {first_own:.3f} under {first}’s head, {first_other:.3f}
    under {second}’s; on {second}’s sentences: {second_own:.3f} under {second}’s head, {second_other:.3f} under
    {first}’s.{most} Each rests on {count} sentences."""


@view
def exchanged(sweep: xarray.Dataset, minilm: xarray.Dataset | None = None):
    """Accuracy along α on the sentences of two tasks with the same two answers, A's left and B's right, each under the
    head of A and under that of B, with bands of two standard errors.

    Args:
        sweep, minilm: of `experiment.lines`, and of `experiment.minilm`, where it was measured. The second has
            `majority` (task), the share of the most frequent class, and the charts and the title compare with it. The
            first gets it by `sweep.assign(majority=…)`, from the sweep of `experiment.merges`.

    Controls: alpha, the share of A; network, where there are two.
    """
    sweeps = networks.by_network(sweep, minilm)
    alphas, tasks = sweep.alpha.values, names(sweep.of)
    tables = {network: each.exchanged.sel({"of": tasks, "head": [ITS_OWN, OTHERS]}).transpose("of", "head", "alpha")
              .values for network, each in sweeps.items()}

    def draw(alpha, network=OWN):
        table, step = tables[network], position(alphas, alpha)
        count, most = networks.sentences(sweeps[network]), majority(sweeps[network], tasks)
        values = {}
        for row, task in enumerate(tasks):
            for head, accuracies in zip((row, 1 - row), table[row]):
                values[_line(task, tasks[head])] = accuracies
                values[_band(task, tasks[head])] = with_reach(accuracies, count)[1:]
            values[_guess(task)] = most[row]
        numbers = {"first_own": table[0, 0, step], "first_other": table[0, 1, step],
                   "second_own": table[1, 0, step], "second_other": table[1, 1, step]}
        known = "" if np.isnan(most).any() else \
            said("Always the most frequent answer: {first:.3f} and {second:.3f}.", first=most[0], second=most[1])
        alt = said(_ALT, network=network.capitalize() if network == OWN else network, alpha=alpha, first=tasks[0],
                   second=tasks[1], most=f" {known}" if known else "", count=count, **numbers)
        about = key(*((role, f"{name}: finetuned on {task}, and its head")
                      for name, role, task in zip("AB", ROLES, tasks)),
                    *([("", "dotted: always the most frequent answer")] if known else []))
        return Frame(finding_of_heads(tasks, table[:, :, step], most, count), alt, values, about)

    return {"kicker": "Chapter 14: film and customer, heads exchanged",
            "tries": ("Drag α to A alone. What is A’s head worth on B’s sentences?",
                      "Find an α where both heads are about as good on the same sentences."),
            "charts": _charts(sweeps, tables, tasks), "draw": draw,
            "controls": {"alpha": share_of_a(alphas)} | networks.menu(sweeps),
            "caption": f"{networks.captions(sweeps)} Bands: two standard errors. Both tasks have two answers, in the "
                       "same order: bad and good, complaint and praise."}


def majority(sweep: xarray.Dataset, tasks: list[str]) -> np.ndarray:
    """The share of the most frequent class of these tasks; NaN where the sweep does not know it."""
    return sweep.majority.sel(task=tasks).values if "majority" in sweep else np.full(len(tasks), np.nan)


def _line(task, head):
    return f"{task}, head of {head}"


def _band(task, head):
    return f"sure: {task}, head of {head}"


def _guess(task):
    return f"most frequent answer, {task}"


def _charts(sweeps, tables, tasks):
    """The two tasks' sentences, on the same axes."""
    everything = np.concatenate([*tables.values(), *(majority(each, tasks)[:, None, None].repeat(2, 1)
                                                     for each in sweeps.values())], 2)
    reach = with_reach(everything, min(map(networks.sentences, sweeps.values())))
    low, high = float(np.nanmin(reach)) - 0.02, float(np.nanmax(reach)) + 0.02
    charts = []
    for task in tasks:
        heads = list(zip(tasks, ROLES))
        charts.append(Chart(ALPHA_AXIS, Axis(f"accuracy on {task}’s sentences", low, high, unit="percent"), (
            Reference(_guess(task), "chance"), *(Band(_band(task, head), role) for head, role in heads),
            *(Line(_line(task, head), role, f"{head}’s head") for head, role in heads), Handle("alpha"))))
    return charts


def finding_of_heads(tasks: list[str], accuracies: np.ndarray, most: np.ndarray, count: int) -> str:
    """For which sentences their own task's head is better than the other's, and whether the other's beats guessing.

    Args:
        accuracies: (tasks: 2, heads: its own and the other's) at one α.
        most: (tasks,), the share of the most frequent answer; NaN where it is not known.
        count: sentences that each of these is of.
    """
    leads = [Difference.of(float(mine), float(other), count) for mine, other in accuracies]
    better = [task for task, lead in zip(tasks, leads) if lead.is_news and lead.value < 0]
    needing = [task for task, lead in zip(tasks, leads) if is_more(lead)]
    if better:
        first = f"On {' and '.join(better)} the other task’s head is better"
    elif len(needing) == len(tasks):
        first = "Both tasks need their own head"
    elif needing:
        free = next(task for task in tasks if task not in needing)
        first = f"{capital(needing[0])} needs its own head, on {free} the two are within the noise"
    else:
        first = "On both tasks the two heads are within the noise"
    if np.isnan(most).any():
        return first
    beats = [task for task, (_, other), guess in zip(tasks, accuracies, most)
             if is_more(Difference(float(other - guess), float(np.sqrt(other * (1 - other) / count))))]
    told = "no exchanged head is seen to beat guessing" if not beats else "both exchanged heads beat guessing" \
        if len(beats) == len(tasks) else f"on {beats[0]} alone the exchanged head beats guessing"
    return f"{first}; {told}"
