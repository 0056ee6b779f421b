"""θ₀ half-way between θ₀ + λτ and θ₀ − λτ (CTL-11), in the three networks that read sentences: how far its features are
from the mean of both ends' features, on every task's own sentences."""
from collections.abc import Callable, Sequence

import xarray
from torch import Tensor

from data import threads
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearity.algorithms import along, means
from lessons.words.experiment import minilm, setting, texts
from toy_models import TextToText
from toy_models.weights import State, add, scale, subtract

LAMS = (0.2, 0.4, 1.0)
MIDDLE = 0.5  # the share of θ₀ + λτ


def measure(settings: setting.Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The course's own encoder.

    Returns:
        A Dataset with gap_mean, coef_mean, own_mean (task, lam, layer): means over a task's test sentences, of θ₀
        beside the mean of both ends, and of the distance between the ends; and distance (task, lam), 2λ‖τ‖.
    """
    loaded = setting.load(settings, seed, device)
    sentences = [x[:settings.features] for x, _ in loaded.test]
    return measured(lambda state, x: loaded.complete(state).features(x), loaded.base, loaded.finetuned, sentences,
                    loaded.suite.tasks)


def measure_minilm(settings: minilm.Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The same of MiniLM.

    Raises:
        CheckpointError: MiniLM is not here. Says how to get it.
    """
    loaded = minilm.load(settings, seed)
    sentences = [x[:settings.features] for x, _ in loaded.test]
    return measured(lambda state, x: loaded.complete(state).features(x), loaded.base, loaded.finetuned, sentences,
                    loaded.suite.tasks)


def measure_texts(settings: texts.Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The same of the network that answers in words."""
    loaded = texts.load(settings, seed)
    questions = [x[:settings.features] for x, _ in loaded.test]
    return measured(lambda state, x: TextToText.from_state(state).features(x), loaded.base, loaded.finetuned,
                    questions, loaded.tasks)


def measured(features: Callable[[State, Tensor], dict[str, Tensor]], base: State, finetuned: Sequence[State],
             sentences: Sequence[Tensor], tasks: Sequence[str]) -> xarray.Dataset:
    """`measure` of networks that are there.

    Args:
        features: (weights, x) -> {layer: (sentences, numbers)}, in depth order.
        base, finetuned: state dicts.
        sentences: x of every task.
        tasks: their names.
    """
    def of_task(place):
        lines = [of_lam(features, base, finetuned[place], sentences[place], lam) for lam in LAMS]
        return xarray.concat(lines, xarray.DataArray(list(LAMS), dims="lam", name="lam"))

    rows = threads.side_by_side(of_task, range(len(tasks)))
    sweep = xarray.concat(rows, xarray.DataArray(list(tasks), dims="task", name="task"))
    return sweep.assign_attrs(images=f"{len(sentences[0])} test sentences a task")


def of_lam(features: Callable[[State, Tensor], dict[str, Tensor]], base: State, finetuned: State, x: Tensor,
           lam: float) -> xarray.Dataset:
    """gap_mean, coef_mean, own_mean (layer) and distance, at one λ."""
    step = scale(subtract(finetuned, base), lam)
    ends = add(base, step), subtract(base, step)
    line = along(features, *ends, (MIDDLE,), parts=(x,), summary=means,
                 network=lambda state, alpha: base if alpha == MIDDLE else state)
    return line.isel(alpha=0, drop=True)


EXPERIMENT = Experiment("words-negation", measure, setting.PROFILES, setting.source, setting.DATASET,
                        recipes=setting.recipes)
MINILM = Experiment("words-negation-minilm", measure_minilm, minilm.PROFILES, setting.source, setting.DATASET,
                    network=minilm.NAME)
TEXTS = Experiment("words-negation-texts", measure_texts, Profiles(quick=None, full=texts.FULL), setting.source,
                   setting.DATASET, recipes=texts.recipes)
run = EXPERIMENT.run
