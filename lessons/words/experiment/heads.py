"""Does a pull towards θ₀ make the finetuning of text encoders linear (LFT-11), and does LoRA (LFT-14)? Besides λ the
head differs: one that is drawn anew, and that of a linear probe on θ₀'s features. Controls: finetuning without a pull,
its task vector shortened to the length that each λ gives, or stopped earlier; and a drawn head as long as the probe's.
"""
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import Tensor

import data
from lessons import cast
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import on_grid
from lessons.linearization.algorithms.finetuning import ADAM, Plan, finetuned
from lessons.linearization.algorithms.tangent import gap
from lessons.suites import share_correct
from lessons.words import minilm
from lessons.words.algorithms import tuning
from lessons.words.algorithms.tuning import WHOLE, Encoder, Head, Tuned
from lessons.words.experiment import setting
from toy_models import Recipe, zoo
from toy_models.weights import norm, subtract

NEW, PROBE, LONG = "new", "probe", "new, as long as the probe"
PULLED, SCALED = "with λ", "λ = 0, as short"
PATHS = (PULLED, SCALED)
LAMS = (0.0, 0.1, 1.0, 10.0, 50.0)
BATCH = 16
LENGTH = 32  # pieces of a sentence that MiniLM reads
NUMBERS = ("distance", "share", "moved", "gap", "move", "product_gap", "kl", "accuracy", "linear_accuracy",
           "relative_error")
_PART = 25  # sentences that are looked at together


@dataclass(frozen=True)
class Settings:
    """How much is tuned and measured."""
    tasks: tuple[str, ...]  # of `data.sentences`
    ranks: tuple[int, ...]  # of LoRA; `WHOLE` for all weights of the encoder
    heads: tuple[str, ...]  # NEW, PROBE, LONG; LONG without a pull alone
    lams: tuple[float, ...]  # λ, 0 first
    size: int  # training sentences
    passes: int  # over them
    rates: tuple[float, float]  # η where all weights are tuned, and with LoRA
    moments: tuple[float, ...]  # shares of the steps without a pull
    sentences: int  # test sentences


PROFILES = Profiles(
    quick=Settings(("film", "question"), (8,), (NEW, PROBE), (0.0, 10.0, 50.0), size=480, passes=1, rates=(1e-3, 3e-3),
                   moments=(), sentences=200),
    full=Settings(("film", "subjective", "pro/con", "question"), (WHOLE, 8, 1), (NEW, PROBE, LONG), LAMS, size=1000,
                  passes=1, rates=(1e-3, 3e-3), moments=(0.05, 0.25, 0.5), sentences=300))
MINILM_PROFILES = Profiles(
    quick=None, full=Settings(("film", "question"), (8,), (NEW, PROBE, LONG), LAMS, size=300, passes=2,
                              rates=(1e-4, 1e-3), moments=(0.05, 0.25, 0.5), sentences=200))


@dataclass(frozen=True)
class Task:
    """Sentences as rows of numbers, and the number of their class."""
    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor
    classes: int


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The pretrained encoder; all else is tuned in the experiment."""
    return [cast.pretrained_encoder(seed)]


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The course's own encoder, on the CPU, whatever the device. Adam with a constant step size; after each step
    θ − θ₀ shrinks by 1 − λη, in the encoder's weights or LoRA's, and in the head's.

    Returns:
        A Dataset over task, rank (`WHOLE` for all weights), head, path (2: tuned with λ, and tuned without, then as
        much of θ − θ₀ as gives the same distance) and lam, of f_θ, its tangent f̄ at θ₀ in all that is tuned, and f₀:
        distance: ‖θ − θ₀‖; share: over ‖θ₀‖, the head's weights and LoRA's A among them; moved: how far the encoder's
        own matrices went over the encoder's length;
        gap, move: root mean squares of ‖f − f̄‖ and ‖f − f₀‖ over test sentences; relative_error: the standard error of
        their ratio over test sentences; product_gap: as gap, but with the tangent of the features alone, multiplied
        with the tuned head;
        kl: KL(f‖f̄) in nats, mean over test sentences; accuracy, linear_accuracy: of f and f̄;
        early_distance, early_gap, early_move (task, rank, head, moment): without a pull, at some of the steps;
        start_accuracy, head_length (task, head): of f₀, and ‖W₀‖.
        Where LONG has no number, NaN.
    """
    encoder = tuning.of_network(zoo.get(cast.pretrained_encoder(seed), "cpu"))
    return measured(encoder, {task: own_task(task, settings) for task in settings.tasks}, settings, seed)


def measure_minilm(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The same of MiniLM, whose embeddings stay.

    Raises:
        CheckpointError: MiniLM is not here. Says how to get it.
    """
    state, pieces = minilm.load()
    encoder = tuning.of_bert(state, minilm.HEADS, pieces.pad)
    return measured(encoder, {task: task_of_pieces(task, pieces, settings) for task in settings.tasks}, settings, seed)


def own_task(name: str, settings: Settings) -> Task:
    """A task's first training sentences, and test sentences of the half that figures are reported on."""
    first, last = data.sentences.outputs(name)
    train, test = (data.load("sentences", split, task=name) for split in ("train", "test"))
    half, size = slice(1, 2 * settings.sentences, 2), settings.size
    return Task(train.x[:size], train.y[:size] - first, test.x[half], test.y[half] - first, last - first)


def task_of_pieces(name: str, pieces: minilm.Pieces, settings: Settings) -> Task:
    """The same, as word pieces. Test sentences stand in the order of their lengths."""
    classes = data.sentences.CLASSES[name]
    train = data.sentences.texts("train", name, settings.size)
    test = sorted(data.sentences.texts("test", name)[1:2 * settings.sentences:2], key=lambda row: len(row[0]))
    x, x_test = (pieces([text for text, _ in rows], LENGTH).float() for rows in (train, test))
    y, y_test = (torch.tensor([classes.index(label) for _, label in rows]) for rows in (train, test))
    return Task(x, y, x_test, y_test, len(classes))


def measured(encoder: Encoder, tasks: dict[str, Task], settings: Settings, seed: int = 0) -> xarray.Dataset:
    """`measure` of an encoder and tasks that are there.

    Raises:
        ValueError: the first λ is not 0, or λη is negative or at least 2.
    """
    if not settings.lams or settings.lams[0]:
        raise ValueError(f"lams must begin with 0, with which the others are compared, not {settings.lams!r:.60}")
    ends, early, starts = [], [], []
    for task in tasks.values():
        h, h_0 = (each(partial(encoder.features, encoder.weights), x) for x in (task.x, task.x_test))
        heads = heads_of(h, task, settings.heads, seed)
        starts += [{"start_accuracy": share_correct(tuning.under(head, h_0), task.y_test),
                    "head_length": head[0].norm().item()} for head in heads.values()]
        for rank in settings.ranks:
            for name, head in heads.items():
                seen = Seen(Tuned(encoder, head, rank, seed), task, h_0)
                lams = settings.lams[:1] if name == LONG else settings.lams
                at_end, at_moments = of_tuned(seen, lams, settings, seed)
                nothing = [dict.fromkeys(NUMBERS, np.nan)] * (len(settings.lams) - len(lams))
                ends += [row for path in at_end for row in [*path, *nothing]]
                early += at_moments
    names = {"task": list(tasks), "rank": settings.ranks, "head": settings.heads}
    sweep = on_grid(ends, **names, path=PATHS, lam=settings.lams)
    sweep = sweep.merge(on_grid(starts, task=names["task"], head=names["head"]))
    if settings.moments:
        sweep = sweep.merge(on_grid(early, **names, moment=settings.moments))
    return sweep.assign_attrs(images=f"{len(h):,} training and {len(h_0)} test sentences a task")


def heads_of(h: Tensor, task: Task, names: tuple[str, ...], seed: int) -> dict[str, Head]:
    """{name: W and b}, for features of the training sentences, in the features' precision."""
    drawn, probe = tuning.new_head(task.classes, h.shape[1], seed), tuning.probe(h, task.y, task.classes)
    heads = {NEW: drawn, PROBE: probe, LONG: tuning.lengthened(drawn, probe)}
    return {name: tuple(part.to(h.dtype) for part in heads[name]) for name in names}


def of_tuned(seen: "Seen", lams: tuple[float, ...], settings: Settings,
             seed: int) -> tuple[list[list[dict]], list[dict]]:
    """`measure`'s numbers for every λ along both of `PATHS`, and without a pull at the moments."""
    net, task = seen.net, seen.task
    plan = Plan(ADAM, settings.rates[net.rank != WHOLE], settings.passes, BATCH, seed)
    marks = [max(1, round(share * plan.steps(len(task.x)))) for share in settings.moments]
    tune = partial(finetuned, net, net.start, task.x, task.y, plan)
    plain = tune(lams[0], marks=marks)
    early = [seen.numbers(plain[mark]) for mark in marks]
    step = plain[plan.steps(len(task.x))] - net.start
    dh = seen.change(net.start + step)
    pulled = [seen.numbers(net.start + step, dh)]
    scaled = pulled.copy()
    for lam in lams[1:]:
        (theta,) = tune(lam).values()
        pulled.append(seen.numbers(theta))
        share = pulled[-1]["distance"] / pulled[0]["distance"]
        scaled.append(seen.numbers(net.start + share * step, share * dh))
    return [pulled, scaled], [{f"early_{name}": row[name] for name in ("distance", "gap", "move")} for row in early]


@dataclass(frozen=True)
class Seen:
    """What is tuned, seen on a task's test sentences.

    Attributes:
        net: it.
        task: the sentences.
        h_0: θ₀'s features of the test sentences.
    """
    net: Tuned
    task: Task
    h_0: Tensor

    def change(self, theta: Tensor) -> Tensor:
        """What θ − θ₀ does to the features, to first order."""
        return each(partial(self.net.linear_features, theta), self.task.x_test) - self.h_0

    def numbers(self, theta: Tensor, dh: Tensor | None = None) -> dict[str, float]:
        """`NUMBERS` at θ; dh is the `change`, where it is known."""
        net, dh = self.net, self.change(theta) if dh is None else dh
        before, after = net.head(net.start), net.head(theta)
        f = tuning.under(after, each(partial(net.features, theta), self.task.x_test)).double()
        f_0 = tuning.under(before, self.h_0).double()
        linear = tuning.linear_answers(before, after, self.h_0, dh).double()
        changed, weights = net.changed(theta), net.encoder.weights
        distance = (theta - net.start).norm()
        numbers = {"distance": distance, "share": distance / net.start.norm(),
                   "moved": norm(subtract(changed, {key: weights[key] for key in changed})) / norm(weights),
                   "gap": gap(f, linear), "move": gap(f, f_0),
                   "product_gap": gap(f, tuning.under(after, self.h_0 + dh).double()),
                   "kl": F.kl_div(linear.log_softmax(1), f.log_softmax(1), log_target=True, reduction="batchmean"),
                   "accuracy": share_correct(f, self.task.y_test),
                   "linear_accuracy": share_correct(linear, self.task.y_test),
                   "relative_error": error_of_ratio(f - linear, f - f_0)}
        return {name: float(numbers[name]) for name in NUMBERS}


@torch.no_grad()
def each(f, x: Tensor) -> Tensor:
    """f of some sentences at a time."""
    return torch.cat([f(part) for part in x.split(_PART)])


def error_of_ratio(above: Tensor, below: Tensor) -> float:
    """The standard error, over samples, of the ratio of two root mean squares, (samples, classes) each, to first order
    in the errors of both. NaN where all of `below` is 0."""
    above, below = (part.square().sum(1) for part in (above, below))
    a, b = above.mean(), below.mean()
    return float((above / b - below * a / b ** 2).std() / 2 / (a / b).sqrt() / len(above) ** 0.5)


# -- what is read off ------------------------------------------------------------------------------

def relative(sweep: xarray.Dataset) -> xarray.DataArray:
    """The gap over how far the answers have moved, (task, rank, head, path, lam)."""
    return sweep.gap / sweep.move


def stopped_early(sweep: xarray.Dataset, lam: float, **where) -> float:
    """The relative gap without a pull at the step where θ has gone as far as with λ to the end, interpolated between
    the moments that were measured; NaN where that is outside them.

    Args:
        where: task, rank and head.
    """
    pulled = sweep.sel(path=PULLED, **where)
    end = pulled.sel(lam=0.0)
    far = [*pulled.early_distance.values, end.distance.item()]
    bent = [*(pulled.early_gap / pulled.early_move).values, (end.gap / end.move).item()]
    return float(np.interp(pulled.distance.sel(lam=lam).item(), far, bent, left=np.nan, right=np.nan))


EXPERIMENT = Experiment("words-heads", measure, PROFILES, setting.source, setting.DATASET, recipes=recipes)
MINILM = Experiment("words-heads-minilm", measure_minilm, MINILM_PROFILES, setting.source, setting.DATASET,
                    network=minilm.NAME)
run = EXPERIMENT.run
