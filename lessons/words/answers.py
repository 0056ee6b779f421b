"""What a merged encoder answers about a sentence, task by task, while the sentence, the number of directions and λ
change."""
from functools import lru_cache

import torch
from torch import Tensor

import data
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
        self.encoder = lru_cache(maxsize=16)(self._merged)  # of one, many sentences are asked

    def _merged(self, directions: int, lam: float) -> TextEncoder:
        width = self.loaded.base["position"].shape[1]
        if not 0 <= directions <= width:
            raise ValueError(f"directions must be a whole number from 0 to {width}, not {directions!r}")
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
