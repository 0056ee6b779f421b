"""The pictures of test-time adaptation."""
import re

import numpy as np
import xarray

from lessons.interference.experiment import IN_THE_LEDGER, results
from lessons.interference.experiment.adaptation import ADAPTED, REACH, at_the_border, within_reach
from lessons.interference.panels.comparison import SUITES
from lessons.interference.panels.methods import suite_of, title_of, with_reach
from lessons.kit import claims, page
from lessons.kit.noise import APART, told
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
                    ("", "dashed: its predictions on a task’s most frequent class; "
                         f"grey: {title_of(methods[1 - row])}"))
        return Frame(findings[method], alt, values, about)

    controls = {"step": slider("step", steps, steps[-1], words=lambda step: f"step {step}" if step else "at first"),
                "method": chips("method", {title_of(method): method for method in methods})}
    return {"kicker": "Chapter 7: advice from images without labels", "charts": _charts(steps, sweep), "draw": draw,
            "controls": controls,
            "hides": ["accuracy", "two standard errors", "accuracy of the other", "collapse", "entropy",
                      "entropy of the other"],
            "caption": f"{caption(sweep)} Band: two standard errors, {APART}. Ten classes: evenly spread "
                       "predictions put 10 % on each."}


def _charts(steps, sweep):
    """Accuracy and collapse, and entropy."""
    ticks = {step: f"{step}" for step in steps if step % (steps[-1] // 4) == 0}
    across = Axis("step", steps[0], steps[-1], ticks=ticks)
    left = Chart(across, Axis("accuracy, share of the single networks’", 0, 1, unit="percent"),
                 (Line("collapse", "merged", "on one class", dashed=True), Line("accuracy of the other", "other"),
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


READ = ("", "entropy, in nats", "accuracy at first", "highest", "early", "in the end", "change, in points",
        "λ at 0 or 1 in the end")


def reading(sweeps: dict[str, xarray.Dataset]) -> Page:
    """What adaptation did to entropy and to accuracy: the finding, and a table with these sweeps' numbers."""
    rows = [_read(sweep, method) for sweep in sweeps.values() for method in ADAPTED]
    finding = " ".join(_finding_on(sweep) for sweep in sweeps.values())
    lead = " ".join(_lead_on(sweep) for sweep in sweeps.values())
    below = said(
        """Accuracy: share of the single networks', mean over tasks. Early: the last step looked at by which no λ can
           have moved by more than about {reach:g}, as far as in the sources' 500 steps of 0.001. ±: the 95 % interval
           over tasks. AdaMerging's λ are held between 0 and 1; CART's are free.""",
        reach=REACH)
    made = page.table(READ, rows, before=page.paragraph(page.bold(finding)),
                      after=page.paragraph(lead) + page.quiet(below))
    return Page(f"{finding}\n{made.text}\n{lead}\n{below}", made.page)


def _finding_on(sweep):
    """What certainty did to the accuracy on one suite, in one sentence where both methods agree."""
    both = {finding_of_adapting("each of the two methods", sweep.sel(adapted=method)) for method in ADAPTED}
    each = [finding_of_adapting(title_of(method), sweep.sel(adapted=method)) for method in ADAPTED]
    return f"On {suite_of(sweep)}, {both.pop() if len(both) == 1 else '; '.join(each)}."


def _read(sweep, method):
    """A row of the table: one method on one suite."""
    part = sweep.sel(adapted=method)
    entropy, accuracy, early = part.entropy.values, part.accuracy.mean("task"), within_reach(sweep)
    change = (part.accuracy.isel(step=-1) - part.accuracy.isel(step=0)).values
    return (f"{suite_of(sweep)}, {title_of(method)}",
            f"{entropy[0]:.2f} → {entropy[-1]:.2f}",
            f"{accuracy.values[0]:.3f}",
            f"{accuracy.values.max():.3f}",
            f"{accuracy.sel(step=early).item():.3f} (step {early})",
            f"{accuracy.values[-1]:.3f}",
            _points(change.mean(), results.interval(change)),
            f"{at_the_border(sweep):.0%}" if method == "adamerging" else "free")


def _lead_on(sweep):
    """Whether AdaMerging ends higher with CART's vectors on one suite, in a sentence."""
    ends = sweep.accuracy.isel(step=-1)
    lead = (ends.sel(adapted="adamerging_cart") - ends.sel(adapted="adamerging")).values
    half = results.interval(lead)
    words = {"ahead": "ahead of", "behind": "behind", "within the noise": "within the noise of"}
    return said("On {suite}, AdaMerging + CART ends {where} AdaMerging ({points} points).", suite=suite_of(sweep),
                where=words[_verdict(lead.mean(), half)], points=_points(lead.mean(), half))


def _points(mean, half):
    return page.minus(f"{100 * mean:+.1f} ± {100 * half:.1f}")


def _verdict(mean, half):
    """Whether a lead, with half its 95 % interval, is one."""
    return {"Agrees": "ahead", "Does not agree here": "behind"}.get(told(mean, half / 2), "within the noise")


# -- the ledger ------------------------------------------------------------------------------------

HEAD = ("suite, method", "accuracy at first, share of the single models'", "entropy, change in nats",
        "accuracy, change in points", "predictions on the most frequent class, in the end")
LEADS = ("suite", "seeds", "ahead by, in points", "mean, with the 95 % interval over seeds", "verdict",
         "seeds that tell it from 0 by themselves")


def in_the_ledger() -> Page:
    """Two tables: what adaptation did over the ledger's seeds on the real data, and how far ahead CART's ends."""
    numbers = claims.measured().get("CART-9", {})
    suites = {name: SUITES[suite] for suite, name in IN_THE_LEDGER.items()
              if f"{name}: with CART over without" in numbers}
    if not suites:
        return Page("The ledger has no numbers yet.", page.quiet("The ledger has no numbers yet."))
    note = said(
        """Smallest and largest value over the ledger's seeds, on the real data. Evenly spread predictions would put
           10 % on each class of the MLPs, and 20 % on each of the ResNets' (CIFAR-100). {of_the_vit}""",
        of_the_vit=_of_the_vit(numbers))
    what = page.table(HEAD, [_row(numbers, name, title, method) for name, title in suites.items()
                             for method in ADAPTED], after=page.quiet(note))
    below = said(
        """Below 0: behind. Each seed has eight tasks. In the last column are the seeds on which the 95 % interval over
           these tasks excludes 0.""")
    leads = page.table(LEADS, [_lead(numbers, name, title) for name, title in suites.items()],
                       before=page.paragraph(page.bold("Does AdaMerging + CART end ahead of AdaMerging?")),
                       after=page.quiet(below))
    return Page(f"{what.text}\n{note}\n{leads.text}\n{below}", what.page + leads.page)


def _of_the_vit(numbers):
    """What adaptation did to the small ViT of chapter 12, in a sentence; "" where the ledger does not have it."""
    changes = {method: 100 * np.array(numbers.get(f"ViT {method}_gained", [])) for method in ADAPTED}
    if not all(map(len, changes.values())):
        return ""
    each = ", ".join(f"with {title_of(method)} {_span(change, '+.1f')}" for method, change in changes.items())
    seeds = len(changes["adamerging"])
    return f"The accuracy of the small ViT of chapter 12 changed, in points over {seeds} seeds: {each}."


def _row(numbers, name, title, method):
    """What adaptation did on one suite with one method."""
    def by_seed(what):
        return np.array(numbers[f"{name}: {method}, {what}"])

    entropy = by_seed("entropy in the end") - by_seed("entropy at first")
    accuracy = by_seed("in the end") - by_seed("at first")
    return (f"{title}, {title_of(method)}",
            _span(by_seed("at first"), ".3f"),
            _span(entropy, "+.2f"),
            _span(100 * accuracy, "+.1f"),
            _span(by_seed("collapse in the end"), ".0%"))


def _lead(numbers, name, title):
    """By how much AdaMerging + CART ends ahead on one suite: a row."""
    lead = np.array(numbers[f"{name}: with CART over without"])
    surely = (np.abs(numbers[f"{name}: with CART over without, in intervals"]) > 1).sum()
    half = results.interval(lead) if len(lead) > 1 else np.inf
    return (title, str(len(lead)), _span(100 * lead, "+.1f"), _points(lead.mean(), half), _verdict(lead.mean(), half),
            f"{surely} of {len(lead)}")


def _span(values, form):
    """The smallest and the largest value, or one number where they look the same."""
    low, high = (page.minus(f"{value:{form}}") for value in (min(values), max(values)))
    return low if low == high else f"{low} … {high}"
