"""Views that ask networks while the learner types: a merged encoder's answers to a sentence, and what a network writes
between two writers."""
from collections.abc import Mapping, Sequence
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor

import data
from data import characters
from lessons.kit.page import said
from lessons.kit.sweep import warned
from lessons.kit.view import (
    Axis,
    Chart,
    Frame,
    Letters,
    Path,
    Spots,
    chips,
    key,
    lettered,
    percent,
    slider,
    typed,
    view,
)
from lessons.words import letters
from lessons.words.algorithms.letters import generated, logits_before, preferred
from lessons.words.answers import Answers
from lessons.words.experiment import setting
from toy_models import CharacterGPT, zoo
from toy_models.weights import interpolate

DIRECTIONS = (0, 1, 2, 4, 8, 16, 32)  # with all, CART is the average again
LAMS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
SENTENCES = {"a film": "a moving film , with unforgettable actors !",
             "a plot": "the young man leaves home and looks for his brother",
             "a question": "who wrote hamlet ?",
             "a product": "the battery dies after an hour , very poor",
             "a speech": "my fellow americans , we face the threat of terrorism"}
BEGINNINGS = ("The people ", "O my good lord", "America ")
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
COUNT = 200  # letters that are written
TEMPERATURE = 0.8
_ALT_OF_ANSWERS = "“{sentence}”, {kept}, λ = {lam:g}. {answers}."
_ALT_OF_LETTERS = "α = {alpha:.2f}, which is the share of the plays’ network. {letters}"


# -- answers to a sentence ---------------------------------------------------------------------------------------------

@view
def answers(asked: Answers):
    """What the merged encoder answers about a sentence that the learner types, for every task with its own head: the
    probability of every class, one task's classes below each other.

    Controls: sentence; lam (λ of CART); directions (how many of every matrix's CART keeps; 0 is the average).
    """
    ordered = sorted(asked.tasks, key=lambda task: len(data.sentences.CLASSES[task]))
    columns = [ordered[:-2], ordered[-2:]] if len(ordered) > 2 else [ordered]
    width = asked.loaded.base["position"].shape[1]
    counts = [count for count in DIRECTIONS if count < width]

    def draw(sentence, lam, directions):
        of_tasks = asked(sentence, directions, lam)
        values = {}
        for column, tasks in enumerate(columns):
            rows = rows_of(tasks)
            shares = np.array([of_tasks[task][name] for task, name in rows])
            most = {(task, max(of_tasks[task], key=of_tasks[task].get)) for task in tasks}
            is_answer = np.array([row in most for row in rows])
            places = -np.arange(len(rows))
            for mark, mask in (("answer", is_answer), ("other", ~is_answer)):
                values[f"{mark} {column}"] = (shares[mask], places[mask])
                values |= {_bar(mark, column, row): ((0, share) if shown else (np.nan, np.nan), (place, place))
                           for row, (share, place, shown) in enumerate(zip(shares, places, mask))}
        counted = "the average" if not directions else f"{directions} of {width} directions"
        listed = "; ".join(f"{task}: {', '.join(f'{name} {percent(share)}' for name, share in of_task.items())}"
                           for task, of_task in of_tasks.items())
        alt = said(_ALT_OF_ANSWERS, sentence=sentence, kept=counted, lam=lam, answers=listed)
        about = key(("merged", f"Answers of one merged encoder, {counted}"))
        return Frame(finding_of_answers(of_tasks), alt, values, about)

    return {"kicker": "Chapter 14: ask the merged encoder",
            "charts": [_classes(column, tasks) for column, tasks in enumerate(columns)],
            "tries": ("Type a sentence of your own. Which heads make sense of it?",
                      "Keep 1 direction, and move λ from 0 to 3. Which answers change?"),
            "draw": draw,
            "controls": {"sentence": typed("Type a sentence", SENTENCES),
                         "lam": slider("λ of CART", LAMS, 2.0, words="λ = {:g}".format),
                         "directions": chips("directions kept of every matrix",
                                             {f"{count}" if count else "none (average)": count for count in counts},
                                             8 if 8 in counts else counts[-1])},
            "caption": f"{warned(setting.source().kind, setting.DATASET)}Computed with the course’s own encoder, "
                       f"finetuned on {len(asked.tasks)} tasks and merged by CART on the matrices of attention and the "
                       "MLPs. To it, all words outside its vocabulary are one word."}


def rows_of(tasks: Sequence[str]) -> list[tuple[str, str]]:
    """[(task, class)], from above."""
    return [(task, name) for task in tasks for name in data.sentences.CLASSES[task]]


def _bar(mark, column, row):
    return f"bar {row} of {mark} {column}"


def _classes(column, tasks):
    rows = rows_of(tasks)
    ticks = {-place: f"{task}: {name}" for place, (task, name) in enumerate(rows)}
    return Chart(Axis("probability among the task’s classes", 0, 1.02, unit="percent"),
                 Axis("class of each task", 0.6 - len(rows), 0.6, ticks=ticks),
                 (*(Path(_bar(mark, column, row), role, aside=True) for row in range(len(rows))
                    for mark, role in (("other", "other"), ("answer", "merged"))),
                  Spots(f"other {column}", "other", small=True), Spots(f"answer {column}", "merged")),
                 height=max(260, 26 * len(rows)))


def finding_of_answers(of_tasks: Mapping[str, Mapping[str, float]]) -> str:
    """The two tasks of which the encoder is surest, compared with a guess among their classes."""
    def sureness(task):
        return max(of_tasks[task].values()) - 1 / len(of_tasks[task])

    surest = sorted(of_tasks, key=sureness, reverse=True)[:2]
    told = [f"“{max(of_tasks[task], key=of_tasks[task].get)}” ({task})" for task in surest]
    return f"The merged encoder is surest of {' and '.join(told)}"


# -- between two writers -----------------------------------------------------------------------------------------------

@view
def between(seed: int = 0, count: int = COUNT):
    """What the network between the writer of plays and the writer of speeches writes, always from the same random
    numbers, each letter in the colour of the end that would rather have written it.

    Args:
        seed: of the networks and of the random numbers.
        count: letters that are written.

    Controls: alpha (the share of the plays' network); start (how the text begins).
    """
    ends = zoo.get_all([letters.of_text(kind, seed) for kind in letters.ENDS], "cpu", progress=False)
    read = cache(partial(written, ends, drawn(seed, count)))

    def draw(alpha, start):
        text, values = read(alpha, start)
        alt = said(_ALT_OF_LETTERS, alpha=alpha, letters=_LETTERS.said(text, values))
        about = key(("a", "Plays"), ("b", "Speeches"), ("", f"α = {alpha:g}: {percent(alpha)} of the plays’ weights"))
        return Frame(finding_of_letters(alpha, values), alt, {"text": (text, values)}, about)

    return {"kicker": "Chapter 14: half poet, half president", "draw": draw,
            "charts": [lettered(_LETTERS, "which end would rather have written the letter", height=190)],
            "tries": ("Move α from one end to the other, and watch the line ends and the names.",
                      "Which words are in the text at both ends?"),
            "controls": {"alpha": slider("α, share of the plays", ALPHAS, 0.5, words="α = {:g}".format,
                                         ends=[("b", "speeches"), ("a", "plays")]),
                         "start": chips("the text begins with", {start.strip(): start for start in BEGINNINGS})},
            "caption": f"Computed by networks that write letter by letter, {letters.CONTEXT} letters at most are read; "
                       f"the same {count} random numbers for every α, temperature {TEMPERATURE:g}."}


def drawn(seed: int, count: int) -> Tensor:
    """The random numbers (count,) from which all networks write."""
    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


_LETTERS = Letters("text", "merged", ends=("speeches", "plays"))


def written(ends: Sequence[CharacterGPT], numbers: Tensor, alpha: float, start: str) -> tuple[str, np.ndarray]:
    """The start and what α·plays + (1 − α)·speeches writes behind it, and for every letter (p_A − p_B)/(p_A + p_B) of
    the probabilities that the two ends give it; those of the start have none.

    Args:
        ends: the networks of plays and of speeches.
        numbers: u of every letter, as `algorithms.letters.generated` takes them.
        alpha: the share of the plays' weights.
        start: how the text begins.
    """
    network = letters.architecture().build()
    network.load_state_dict(interpolate(*(end.state_dict() for end in ends), alpha))
    text = characters.numbers(start + generated(network, start, len(numbers), numbers, TEMPERATURE))
    by = preferred(*(logits_before(end, text) for end in ends), text[1:])
    given = np.full(len(start), np.nan)
    return characters.written(text), np.concatenate([given, np.tanh(by.double().numpy() / 2)[len(start) - 1:]])


def finding_of_letters(alpha: float, values: np.ndarray) -> str:
    """Which end would rather have written most letters of the text."""
    share = float(np.mean(values[np.isfinite(values)] > 0))
    end, most = ("plays", share) if share >= 0.5 else ("speeches", 1 - share)
    return f"{percent(most)} of these letters are likelier in {end}"
