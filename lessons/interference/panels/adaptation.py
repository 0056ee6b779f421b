"""The pictures of test-time adaptation."""
import re

import numpy as np
import xarray

from lessons.interference.experiment import IN_THE_LEDGER, results
from lessons.interference.experiment.adaptation import ADAPTED, REACH, at_the_border, within_reach
from lessons.interference.panels.methods import title_of, with_reach
from lessons.kit import claims, page
from lessons.kit.noise import told
from lessons.kit.page import Page, said
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Star, chips, key, slider, view

_ALT = """
    {method} on {suite}, step {step} of {last}: entropy {entropy:.3f} nats (at first {entropy_first:.3f}), accuracy
    {accuracy:.3f} of the single networks' (at first {accuracy_first:.3f}, in the end {accuracy_last:.3f}; {other} ends
    at {other_last:.3f}); {collapse:.0%} of the predictions fall on a task's most frequent class. λ in the end between
    {lowest:.2f} and {highest:.2f}, from {start:g}."""


@view
def adapting(sweep: xarray.Dataset, prediction=None):
    """Panel (e): left, accuracy, and the share of the predictions that fall on a task's most frequent class; right, the
    entropy that is minimised; both against the step. Controls: step, method.

    The prediction, the accuracy of AdaMerging after the last step, is a star.
    """
    steps, methods = [int(step) for step in sweep.step.values], list(ADAPTED)
    entropies, collapses = (sweep[name].transpose("adapted", "step").values for name in ("entropy", "collapse"))
    accuracies = sweep.accuracy.mean("task").transpose("adapted", "step").values
    images = int(re.search(r"([\d,]+) test", sweep.attrs["images"])[1].replace(",", "")) * sweep.sizes["task"]
    findings = {method: finding_of_adapting(title_of(method), sweep.sel(adapted=method)) for method in methods}
    asked = {"method": "adamerging", "step": steps[-1]}
    if prediction:
        prediction.panel_answers(accuracies[methods.index("adamerging"), -1], asked)

    def draw(step, method):
        row, place = methods.index(method), position(steps, step, "step")
        mean, low, high = with_reach(accuracies[row], sweep.own, images)
        lam = sweep.lam.isel(adapted=row)
        values = {"accuracy": mean, "two standard errors": (low, high), "accuracy of the other": accuracies[1 - row],
                  "collapse": collapses[row], "entropy": entropies[row], "entropy of the other": entropies[1 - row]}
        alt = said(_ALT, method=title_of(method), suite=sweep.attrs["suite"], step=step, last=steps[-1],
                   entropy=entropies[row, place], entropy_first=entropies[row, 0], accuracy=mean[place],
                   accuracy_first=mean[0], accuracy_last=mean[-1], other=title_of(methods[1 - row]),
                   other_last=accuracies[1 - row, -1], collapse=collapses[row, place], lowest=lam.min().item(),
                   highest=lam.max().item(), start=float(sweep.start[row]))
        about = key(("merged", f"{title_of(method)}, mean over the tasks"),
                    ("", f"grey: {title_of(methods[1 - row])}; dashed: predictions on a task’s most frequent class"))
        return Frame(findings[method], alt, values, about)

    controls = {"step": slider("step", steps, steps[-1], words=lambda step: f"step {step}" if step else "at first"),
                "method": chips("method", {title_of(method): method for method in methods})}
    return {"kicker": "Chapter 7: advice from images without labels", "charts": _charts(steps, sweep), "draw": draw,
            "controls": controls,
            "hides": ["accuracy", "two standard errors", "accuracy of the other", "collapse", "entropy",
                      "entropy of the other"],
            "caption": f"{caption(sweep)} Band: two standard errors over the images. Ten classes: evenly spread "
                       "predictions put 10 % on each."}


def _charts(steps, sweep):
    """Accuracy and collapse, and entropy."""
    ticks = {step: f"{step}" for step in steps if step % (steps[-1] // 4) == 0}
    across = Axis("step", steps[0], steps[-1], ticks=ticks)
    left = Chart(across, Axis("accuracy, share of the single networks’", 0, 1, unit="percent"),
                 (Line("collapse", "other", "on one class", dashed=True), Line("accuracy of the other", "other"),
                  Band("two standard errors", "merged"), Line("accuracy", "merged", "right"),
                  Star("guess", "merged", x=(steps[-1],)), Handle("step")))
    right = Chart(across, Axis("entropy of the predictions, in nats", 0, 1.15 * sweep.entropy.max().item(), digits=2),
                  (Line("entropy of the other", "other"), Line("entropy", "merged", "entropy"), Handle("step")))
    return [left, right]


def finding_of_adapting(method: str, part: xarray.Dataset) -> str:
    """What minimising the entropy did to the accuracy, by the 95 % interval of its change over tasks; part: one
    method's."""
    change = (part.accuracy.isel(step=-1) - part.accuracy.isel(step=0)).values
    half = results.interval(change)
    certain = f"{method} makes the predictions more certain"
    if not part.entropy.values[-1] < part.entropy.values[0]:
        return f"{method} does not make the predictions more certain"
    if abs(change.mean()) <= half:
        return f"{certain}, but the change in accuracy is within the noise"
    return f"{certain}, and {'more' if change.mean() > 0 else 'less'} often right"


def reading(sweeps: dict[str, xarray.Dataset]) -> Page:
    """What adaptation did to entropy and to accuracy, with these sweeps' numbers."""
    parts = []
    for sweep in sweeps.values():
        both = "; ".join(_what_happened(sweep, method) for method in ADAPTED)
        ends = sweep.accuracy.isel(step=-1)
        lead = (ends.sel(adapted="adamerging_cart") - ends.sel(adapted="adamerging")).values
        half = results.interval(lead)
        parts.append(said(
            """On {suite}: {both}. That it ends higher with CART's vectors: {verdict} ({lead:+.3f} ± {half:.3f}, 95 %
               over tasks). {on_the_way}""",
            suite=sweep.attrs["suite"], both=both, verdict=told(lead.mean(), half / 2).lower(), lead=lead.mean(),
            half=half, on_the_way=_on_the_way(sweep)))
    return page.reading("What adaptation did", "{text}", text=" ".join(parts))


def _what_happened(sweep, method):
    of_method = sweep.sel(adapted=method)
    entropy = of_method.entropy.values
    accuracy = of_method.accuracy.mean("task").values
    change = (of_method.accuracy.isel(step=-1) - of_method.accuracy.isel(step=0)).values
    return said(
        """{method} takes the entropy from {entropy_first:.2f} to {entropy_last:.2f} nats and the accuracy from
           {accuracy_first:.3f} to {accuracy_last:.3f}, a change of {change:+.3f} ± {half:.3f} (highest on the way:
           {highest:.3f})""",
        change=change.mean(),
        half=results.interval(change),
        method=title_of(method),
        entropy_first=entropy[0],
        entropy_last=entropy[-1],
        accuracy_first=accuracy[0],
        accuracy_last=accuracy[-1],
        highest=accuracy.max())


def _on_the_way(sweep):
    """Whether the longer way explains the fall."""
    of_method = sweep.sel(adapted="adamerging")
    step = within_reach(sweep)
    mean = of_method.accuracy.mean("task")
    return said(
        """By step {step}, when no λ can have moved by more than about {reach:g}, as far as in the sources' 500 steps of
           0.001, AdaMerging has gone from {first:.3f} to {then:.3f}. In the end {border:.0%} of its λ are at 0 or 1,
           where they are held; CART's are free.""",
        step=step,
        reach=REACH,
        first=mean.sel(step=0).item(),
        then=mean.sel(step=step).item(),
        border=at_the_border(sweep))


# -- the ledger ------------------------------------------------------------------------------------

HEAD = ("", "accuracy at first, share of the single models'", "entropy, change in nats",
        "accuracy, change in points", "predictions on the most frequent class, in the end")


def in_the_ledger() -> Page:
    """A table: what adaptation did over the ledger's seeds on the real data, and how far ahead CART's ends."""
    numbers = claims.measured().get("CART-9", {})
    suites = [name for name in IN_THE_LEDGER.values() if f"{name}: with CART over without" in numbers]
    rows = [_row(numbers, suite, method) for suite in suites for method in ADAPTED]
    note = "The ledger has no numbers yet."
    if suites:
        note = said(
            """AdaMerging + CART ends ahead of AdaMerging by (below 0: behind): {leads}. The table shows the smallest
               and the largest value over the ledger's seeds, on the real data. {of_the_vit}""",
            leads="; ".join(_lead(numbers, suite) for suite in suites), of_the_vit=_of_the_vit(numbers))
    made = page.table(HEAD, rows, after=page.quiet(note))
    return Page(f"{made.text}\n{note}", made.page)


def _of_the_vit(numbers):
    """What adaptation did to the small ViT of chapter 12, in a sentence; "" where the ledger does not have it."""
    changes = {method: 100 * np.array(numbers.get(f"ViT {method}_gained", [])) for method in ADAPTED}
    if not all(map(len, changes.values())):
        return ""
    each = ", ".join(f"with {title_of(method)} {_span(change, '+.1f')}" for method, change in changes.items())
    return f"The accuracy of the small ViT of chapter 12 changed meanwhile, in points: {each}."


def _row(numbers, suite, method):
    """What adaptation did on one suite with one method."""
    def by_seed(what):
        return np.array(numbers[f"{suite}: {method}, {what}"])

    entropy = by_seed("entropy in the end") - by_seed("entropy at first")
    accuracy = by_seed("in the end") - by_seed("at first")
    return (f"{suite}, {title_of(method)}",
            _span(by_seed("at first"), ".3f"),
            _span(entropy, "+.2f"),
            _span(100 * accuracy, "+.1f"),
            _span(by_seed("collapse in the end"), ".0%"))


def _lead(numbers, suite):
    """By how much AdaMerging + CART ends ahead on one suite."""
    lead = 100 * np.array(numbers[f"{suite}: with CART over without"])
    intervals = np.abs(numbers[f"{suite}: with CART over without, in intervals"])
    surely = (intervals > 1).sum()
    seeds = len(lead)
    half = results.interval(lead) if seeds > 1 else np.inf
    verdict = told(lead.mean(), half / 2).lower()
    return (f"on {suite} {_span(lead, '+.1f')} points, mean {lead.mean():+.1f} ± {half:.1f} over {seeds} seeds "
            f"(that it is ahead: {verdict}; over the tasks of one seed, {surely} of {seeds} tell it from 0)")


def _span(values, form):
    """The smallest and the largest value, or one number where they look the same."""
    low = f"{min(values):{form}}"
    high = f"{max(values):{form}}"
    return low if low == high else f"{low} … {high}"
