"""What a merged encoder answers about a sentence, task by task, while the sentence, the number of directions and λ
change."""
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

import data
from data.types import checked_whole
from lessons.cart.algorithms.spectra import Spectra
from lessons.suites import Loaded
from lessons.vit.algorithms import matrices
from toy_models import TextEncoder
from toy_models.weights import State, average


class Answers:
    """CART of finetuned text encoders, ready to be asked.

    Args:
        loaded: the encoders; every task has a head of its own.

    Attributes:
        tasks: their names.
        encoder: (directions, λ) -> the average, plus λ times the sum of all centred task vectors, each cut down to so
            many directions of every matrix of attention and the MLPs. With 0 directions it is the average. Raises a
            ValueError where there are not so many directions.
    """

    def __init__(self, loaded: Loaded):
        self.loaded = loaded
        self.tasks = loaded.suite.tasks
        self._spectra = Spectra(loaded.base, loaded.finetuned)
        self._total = lru_cache(maxsize=16)(self._truncated)
        self.encoder = lru_cache(maxsize=64)(self._merged)  # of one, many sentences are asked

    def _merged(self, directions: int, lam: float) -> TextEncoder:
        width = self.loaded.base["position"].shape[1]
        directions = checked_whole("directions", directions, 0, width)
        if not directions:
            return self.loaded.complete(average(self.loaded.finetuned))
        origin, total = self._spectra.origin, self._total(directions / width)
        return self.loaded.complete({**origin, **matrices.moved({key: origin[key] for key in total}, total, lam)})

    def _truncated(self, share: float) -> State:
        return {key: self._spectra.total(key, share) for key, tensor in self._spectra.origin.items()
                if matrices.by_name(key, tensor)}

    @torch.no_grad()
    def __call__(self, text: str, directions: int, lam: float) -> dict[str, dict[str, float]]:
        """{task: {class: its probability among the task's classes}} for a sentence.

        Args:
            text: any text; its first 32 words are read.
            directions: see `encoder`.
            lam: λ.

        Raises:
            ValueError: the text is none, or there are not so many directions.
        """
        logits = self.encoder(directions, lam)(data.sentences.numbers([text]).float())[0]
        return {task: self._of_task(logits, place) for place, task in enumerate(self.tasks)}

    def _of_task(self, logits: Tensor, place: int) -> dict[str, float]:
        probabilities = logits[self.loaded.suite.outputs(place)].double().softmax(0).tolist()
        return dict(zip(data.sentences.CLASSES[self.tasks[place]], probabilities))


def right_and_wrong(asked: Answers, directions: Sequence[int], lam: float) -> tuple[Tensor, Tensor]:
    """Which held-out sentences of all tasks CART answers right at each number of directions, and its accuracy on test
    sentences, mean over tasks: (ranks, sentences) of 0 and 1, and (ranks,).
    """
    encoders = [asked.encoder(count, lam) for count in directions]
    held_out = [torch.cat(_right(asked.loaded, encoder, asked.loaded.held_out)) for encoder in encoders]
    test = [[right.mean() for right in _right(asked.loaded, encoder, asked.loaded.test)] for encoder in encoders]
    return torch.stack(held_out), torch.tensor(test, dtype=torch.float64).mean(1)


@torch.no_grad()
def _right(loaded, encoder, sentences):
    """(sentences,) of 0 and 1 for every task."""
    answers = []
    for task, (x, y) in enumerate(sentences):
        outputs = loaded.suite.outputs(task)
        answers.append((encoder(x)[:, outputs].argmax(1) == y - outputs.start).double())
    return answers
