"""What the papers report of merged language models, beside ours: is task arithmetic ahead of the average?"""
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray

from lessons.checkpoints.published import MARK, Published
from lessons.kit.noise import Difference
from lessons.kit.page import Page, quiet, reading, said, table
from lessons.kit.sweep import caption, names
from lessons.words.experiment.merges import BY_NAME
from lessons.words.panels import bell, networks, texts
from lessons.words.panels.bell import title_of
from lessons.words.panels.networks import difference, is_more
from lessons.words.panels.parts import REST, WORDS

SHOWN = ("task_arithmetic", "ties", "tsv", "cart", "single")  # beside the average
TESTED = "task_arithmetic"
GLUE = Published(
    "CART, Table 2, RoBERTa-base on GLUE", "CART (Choi et al.), Table 2",
    ("CoLA", "SST2", "MRPC", "STSB", "QQP", "MNLI", "QNLI", "RTE"), {
        "single models": (60.18, 94.04, 89.22, 90.63, 91.41, 87.20, 92.71, 79.06),
        "average": (13.96, 64.11, 69.36, 31.84, 75.36, 42.19, 58.70, 55.23),
        "task arithmetic": (18.78, 85.89, 79.90, 74.03, 83.78, 59.08, 69.67, 62.09),
        "TIES": (20.48, 84.40, 81.13, 58.19, 85.70, 64.65, 74.81, 42.96),
        "CART": (32.94, 92.43, 82.84, 79.56, 82.25, 51.37, 79.85, 64.98)},
    "On GLUE, CoLA and STSB are usually measured by a correlation, and the others by accuracy; the table does not say.")
_PUBLISHED = {"task_arithmetic": "task arithmetic", "ties": "TIES", "cart": "CART", "single": "single models"}


@dataclass(frozen=True)
class Merged:
    """One network, or one start, and what merging its finetuned copies gives.

    Attributes:
        accuracies: {reported: test accuracies (tasks,)}.
        count: test sentences a task.
        length: ‖τ‖/‖θ₀‖, mean over tasks.
        cosine: of two task vectors, mean over pairs.
    """
    accuracies: Mapping[str, np.ndarray]
    count: int
    length: float
    cosine: float

    @classmethod
    def of(cls, sweep: xarray.Dataset, accuracies: Mapping[str, np.ndarray], count: int) -> "Merged":
        """With length and cosine of a sweep that has them of this network alone."""
        return cls(accuracies, count, float(sweep.length.mean()), float(sweep.cosine))

    def above(self, reported: str) -> Difference:
        """By how much this is ahead of the average."""
        return difference(self.accuracies[reported], self.accuracies["average"], self.count)


def merged(encoder: xarray.Dataset, minilm: xarray.Dataset | None = None, starts: xarray.Dataset | None = None,
           parts: xarray.Dataset | None = None, written: xarray.Dataset | None = None,
           longer: xarray.Dataset | None = None) -> dict[str, Merged]:
    """{what it is called: a network}; what is None is left out.

    Args:
        encoder, minilm, starts, parts, written, longer: sweeps of `experiment.merges`, `minilm`, `pretraining`,
            `parts`, `texts` and `longer`, whose first way to finetune is that of `minilm`.
    """
    rows = {} if minilm is None else {"MiniLM": _at_best(minilm)}
    for training in names(longer.training)[1:] if longer is not None else ():
        rows[f"MiniLM, {training}"] = _at_place(longer, training=training)
    rows["own encoder"] = _at_best(encoder)
    for start in names(starts.amount) if starts is not None else ():
        rows[f"own, pretraining {start}"] = _at_place(starts, amount=start)
    for start in names(parts.start) if parts is not None else ():
        for trained in (WORDS, REST):
            rows[f"own, {start}, {trained}"] = _at_place(parts, start=start, trained=trained)
    if written is not None:
        right = {name: texts.shares_right(written, name) for name in names(written.reported)}
        rows["own, answers in words"] = Merged.of(written, right, int(written.attrs["test"]))
    return rows


def _at_best(sweep):
    return Merged.of(sweep, bell.scores(sweep, bell.curve(sweep, BY_NAME)), networks.sentences(sweep))


def _at_place(sweep, **where):
    part = sweep.sel(where)
    accuracies = {name: part.test.sel(reported=name).values for name in names(part.reported)}
    return Merged.of(part, accuracies, networks.sentences(sweep))


def ahead_table(encoder: xarray.Dataset, minilm: xarray.Dataset | None = None, starts: xarray.Dataset | None = None,
                parts: xarray.Dataset | None = None, written: xarray.Dataset | None = None,
                longer: xarray.Dataset | None = None) -> Page:
    """The average, by how many points every method is above it, and the task vectors' length and cosine, a row for
    each network, behind one of CART's Table 2. The sweeps are those of `merged`; what is None is left out."""
    average = GLUE.mean("average")
    published = [f"{GLUE.mean(_PUBLISHED[name]) - average:+.1f}" if name in _PUBLISHED else "–" for name in SHOWN]
    rows = [(f"RoBERTa on GLUE ({MARK.lower()})", f"{average:.1f}", *published, "–", "–")]
    for name, network in merged(encoder, minilm, starts, parts, written, longer).items():
        leads = [network.above(reported) for reported in SHOWN]
        rows.append((name, f"{100 * network.accuracies['average'].mean():.1f}",
                     *(f"{lead}{'' if lead.is_news else ' (noise)'}" for lead in leads), f"{network.length:.3f}",
                     f"{network.cosine:.3f}"))
    sweeps = [sweep for sweep in (minilm, longer, encoder, starts, parts, written) if sweep is not None]
    after = quiet(said("""{captions} In per cent and points, means over tasks; after ± one standard error, at most.
                          Every sweep has its own tasks, sizes and grids of λ, so compare within a row.""",
                       captions=" ".join(dict.fromkeys(map(caption, sweeps)))))
    return table(("", "average", *(f"{title_of(name)} above it" for name in SHOWN), "‖τ‖/‖θ₀‖", "cos"), rows,
                 after=after)


def reading_of_task_arithmetic(encoder: xarray.Dataset, minilm: xarray.Dataset | None = None,
                               starts: xarray.Dataset | None = None, parts: xarray.Dataset | None = None,
                               written: xarray.Dataset | None = None,
                               longer: xarray.Dataset | None = None) -> Page:
    """In which of our networks is task arithmetic ahead of the average, and what else is so where it is most ahead? The
    sweeps are those of `merged`."""
    rows = merged(encoder, minilm, starts, parts, written, longer)
    leads = {name: network.above(TESTED) for name, network in rows.items()}
    most, least = max(leads, key=lambda name: leads[name].value), min(leads, key=lambda name: leads[name].value)
    count = sum(map(is_more, leads.values()))
    title = "Task arithmetic is ahead of the average in all of these networks" if count == len(leads) else \
        "Task arithmetic is ahead of the average in some of these networks" if count else \
        "Task arithmetic is not seen to be ahead of the average in any of these networks"
    return reading(title, """
        In CART’s table of RoBERTa, task arithmetic is {published:.1f} points ahead of the average. Here it is most
        ahead in “{most}”, by {lead:+.1f} points{doubt}, and least in “{least}”, by {little:+.1f}{little_doubt}.
        {told}""",
                   published=GLUE.mean("task arithmetic") - GLUE.mean("average"), most=most, lead=leads[most],
                   doubt=leads[most].doubt(), least=least, little=leads[least], little_doubt=leads[least].doubt(),
                   told=_what_else(rows, most) if is_more(leads[most]) else "")


def _what_else(rows, most):
    """Whether the network where task arithmetic is most ahead also has the longest task vectors, and those that are
    least alike."""
    longest, least_alike = max(rows, key=lambda name: rows[name].length), min(rows, key=lambda name: rows[name].cosine)
    are = [word for word, name in (("longest", longest), ("least alike", least_alike)) if name == most]
    by_length, by_lead = (sorted(rows, key=key) for key in (
        lambda name: rows[name].length, lambda name: rows[name].above(TESTED).value))
    order = "" if by_length == by_lead else " But length does not order the others."
    return f"Where it is most ahead, task vectors are the {' and the '.join(are)} of these.{order}" if are else \
        "Where it is most ahead, task vectors are neither the longest nor the least alike of these."
