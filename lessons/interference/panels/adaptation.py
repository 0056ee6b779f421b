"""The pictures of test-time adaptation."""
import numpy as np
import xarray

from lessons.kit import claims, plotting
from lessons.kit.page import Page, table
from lessons.interference.experiment import results
from lessons.interference.experiment.adaptation import ADAPTED
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel


@panel
def adapting(sweep: xarray.Dataset, prediction=None):
    """Panel (e): entropy, accuracy and collapse against the step; right, how far λ has moved in the end, per layer and task. Controls: step, method.

    The prediction, the accuracy of AdaMerging after the last step, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.6, width_ratios=(5, 4))
    steps = sweep.step.values
    left.set(xlabel="step", ylabel="share; entropy in nats", xlim=(-0.02 * steps[-1], 1.02 * steps[-1]), ylim=(0, max(1.02, 1.1 * float(sweep.entropy.max()))))
    names = (("entropy of the predictions (nats)", ORANGE, "^"), ("accuracy, share of the single model's", BLUE, "o"), ("predictions on the most frequent class", GREEN, "s"))
    curves = [left.plot([], [], color=colour, marker=marker, markersize=4, label=label, animated=True)[0] for label, colour, marker in names]
    other = left.plot([], [], color=PURPLE, linestyle=":", marker="", linewidth=1.8, label="accuracy of the other method", animated=True)[0]
    star = Star(left, prediction, steps[-1])
    here = left.axvline(0, color=BLACK, linewidth=1, marker="", animated=True)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    layers, tasks = [str(layer).replace("layers.", "") for layer in sweep.layer.values], [str(task) for task in sweep.task.values]
    lams = sweep.lam.transpose("adapted", "layer", "task").values
    moved = lams - sweep.start.values[:, None, None]
    images = {method: right.imshow(table, aspect="auto", cmap="PuOr", vmin=-np.abs(moved).max(), vmax=np.abs(moved).max(), animated=True) for method, table in zip(ADAPTED, moved)}
    fig.colorbar(images["adamerging"], ax=right, label="how far λ has moved in the end")
    right.set_xticks(range(len(tasks)), [task.replace("permuted ", "") for task in tasks], rotation=60, ha="right", fontsize=7)
    right.set_yticks(range(len(layers)), layers, fontsize=8)
    right.grid(False)
    titles = plotting.moving_titles((left, right))
    entropy, accuracy, collapse = (sweep[name].transpose("adapted", "step", ...).values for name in ("entropy", "accuracy", "collapse"))
    means, methods = accuracy.mean(-1), list(ADAPTED)

    def draw(step, method):
        row, place = methods.index(method), position(steps, step, "step")
        for curve, values in zip(curves, (entropy[row], means[row], collapse[row])):
            curve.set_data(steps, values)
        other.set_data(steps, means[1 - row])
        here.set_xdata([step, step])
        star.place()
        for name, image in images.items():
            image.set_visible(name == method)
        titles[0].set_text(f"Step {step}: entropy {entropy[row, place]:.2f}, accuracy {means[row, place]:.3f}")
        titles[1].set_text(f"{results.title_of(method)}: λ began at {float(sweep.start[row]):g}")
        return (f"{results.title_of(method)} on {sweep.attrs['suite']}, step {step} of {steps[-1]}: entropy {entropy[row, place]:.3f} nats (at first {entropy[row, 0]:.3f}), accuracy {means[row, place]:.3f} of the single "
                f"model's (at first {means[row, 0]:.3f}, in the end {means[row, -1]:.3f}; the other method ends at {means[1 - row, -1]:.3f}); {collapse[row, place]:.0%} of the predictions fall on a task's most frequent "
                f"class. λ in the end between {lams[row].min():.2f} and {lams[row].max():.2f}, from {float(sweep.start[row]):g}.")

    controls = {"step": slider("step", [int(step) for step in steps], 0), "method": choice("method", {results.title_of(method): method for method in methods})}
    return controls, fig, draw, caption(sweep) + " Ten classes: evenly spread predictions put 10 % on each."


def reading(sweeps: dict[str, xarray.Dataset]) -> Page:
    """What adaptation did to entropy and to accuracy, with these sweeps' numbers."""
    parts = []
    for sweep in sweeps.values():
        means = sweep.accuracy.mean("task")
        said = " and ".join(f"{results.title_of(method)} takes the entropy from {float(sweep.entropy.sel(adapted=method)[0]):.2f} to {float(sweep.entropy.sel(adapted=method)[-1]):.2f} nats and the accuracy from "
                            f"{float(means.sel(adapted=method)[0]):.3f} to {float(means.sel(adapted=method)[-1]):.3f} (highest on the way: {float(means.sel(adapted=method).max()):.3f})" for method in ADAPTED)
        parts.append(f"On {sweep.attrs['suite']} {said}.")
    text = " ".join(parts)
    return Page(text, f"<p><b>What adaptation did.</b> {text}</p>")


def in_the_ledger() -> Page:
    """A table: what adaptation did over the ledger's seeds on the real data, and how far ahead CART's ends."""
    numbers, rows, leads = claims.measured().get("CART-9", {}), [], []
    times = ("at first", "in the end")
    suites = list(dict.fromkeys(name.partition(":")[0] for name in numbers))
    for suite in suites:
        for method in ADAPTED:
            first, last = (np.array(numbers[f"{suite}: {method}, entropy {when}"]) for when in times)
            before, after = (np.array(numbers[f"{suite}: {method}, {when}"]) for when in times)
            collapsed = numbers[f"{suite}: {method}, collapse in the end"]
            rows.append((f"{suite}, {results.title_of(method)}", _span(before, ".3f"), _span(last - first, "+.2f"),
                         _span(100 * (after - before), "+.1f"), _span(collapsed, ".0%")))
        lead = 100 * np.array(numbers[f"{suite}: with CART over without"])
        intervals = np.abs(numbers[f"{suite}: with CART over without, in intervals"])
        told = (intervals > 1).sum()
        leads.append(f"on {suite} {_span(lead, '+.1f')} points, which {told} of {len(lead)} seeds tell from 0")
    note = "The ledger has no numbers yet."
    if suites:
        note = (f"AdaMerging + CART ends ahead of AdaMerging by (below 0: behind): {'; '.join(leads)}, by the 95 % interval over tasks. "
                "Everywhere the smallest and the largest value over the ledger's seeds, on the real data.")
    head = ("", "accuracy at first, share of the single models'", "entropy, change in nats",
            "accuracy, change in points", "predictions on the most frequent class, in the end")
    found = table(head, rows, after=f"<p style='color:#555'>{note}</p>")
    return Page(f"{found.text}\n{note}", found.page)


def _span(values, form):
    """The smallest and the largest value, or one number where they look the same."""
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} … {high}"
