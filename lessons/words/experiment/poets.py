"""Between a network that writes as Shakespeare's plays do and one that writes as presidents do: the loss on both texts
along α."""
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import Tensor

import data
from data.types import Dataset, Source, digest
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.words import letters
from toy_models import CharacterGPT, Recipe, zoo
from toy_models.weights import add, scale, subtract

BEYOND = (-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
WAYS = ("mean of logits", "mean of probabilities")


@dataclass(frozen=True)
class Settings:
    """How much is looked at."""
    pieces: int  # of 64 letters, of each text
    alphas: tuple[float, ...]  # the share of the first of `letters.ENDS`


PROFILES = Profiles(quick=Settings(pieces=200, alphas=BEYOND), full=Settings(pieces=750, alphas=BEYOND))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The loss in nats a letter of every test piece, so that differences can be paired.

    Returns:
        A Dataset with
        loss (alpha, text: 2, piece): between the two networks;
        mixed (way: 2, text, piece): of both networks' outputs, averaged instead of their weights;
        start (text, piece): of the network that both were finetuned from;
        length (text), cosine: ‖τ‖/‖θ₀‖ of the two, and the cosine of their task vectors.
    """
    networks = zoo.get_all([letters.of_text(kind, seed) for kind in (*letters.ENDS, letters.START)], "cpu")
    *ends, start = networks
    sets = [data.load("letters", "test", of=kind, context=letters.CONTEXT) for kind in letters.ENDS]
    count = min(settings.pieces, *(len(pieces.x) for pieces in sets))  # a stand-in may have fewer
    sets = [pieces.spread(count) for pieces in sets]
    states = [network.state_dict() for network in ends]
    between = zoo.get(letters.of_text(letters.START, seed), "cpu")
    loss = []
    for alpha in settings.alphas:
        between.load_state_dict(add(states[1], scale(subtract(*states), alpha)))  # beyond the ends too
        loss.append([of_pieces(between, pieces) for pieces in sets])
    mixed = np.array([list(of_outputs(*ends, pieces)) for pieces in sets]).swapaxes(0, 1)
    vectors = [flat(state) - flat(start.state_dict()) for state in states]
    lengths = [vector.norm().item() for vector in vectors]
    values = {"loss": (("alpha", "text", "piece"), np.array(loss)), "mixed": (("way", "text", "piece"), mixed),
              "start": (("text", "piece"), np.array([of_pieces(start, pieces) for pieces in sets])),
              "length": ("text", np.array(lengths) / flat(start.state_dict()).norm().item()),
              "cosine": (vectors[0] @ vectors[1]).item() / np.prod(lengths)}
    coords = {"alpha": list(settings.alphas), "text": list(letters.ENDS), "way": list(WAYS)}
    return xarray.Dataset(values, coords, {"images": f"{count} test pieces of 64 letters of each text"})


@torch.inference_mode()
def of_pieces(network: CharacterGPT, pieces: Dataset) -> np.ndarray:
    """Nats a letter of every piece, (pieces,)."""
    return _a_piece(network(pieces.x).log_softmax(-1), pieces.y)


@torch.inference_mode()
def of_outputs(first: CharacterGPT, second: CharacterGPT, pieces: Dataset) -> Iterator[np.ndarray]:
    """The same of the outputs of both networks, averaged: their logits, and their probabilities (`WAYS`)."""
    logits = torch.stack([first(pieces.x), second(pieces.x)])
    yield _a_piece(logits.mean(0).log_softmax(-1), pieces.y)
    yield _a_piece(logits.softmax(-1).mean(0).log(), pieces.y)


def _a_piece(log_probabilities, y):
    losses = F.nll_loss(log_probabilities.flatten(0, 1), y.flatten(), reduction="none")
    return losses.view(y.shape).mean(1).double().numpy()


def flat(state: dict[str, Tensor]) -> Tensor:
    """All weights in one vector, in float64."""
    return torch.cat([tensor.double().flatten() for tensor in state.values()])


def gain(sweep: xarray.Dataset, alpha: float, other: float) -> tuple[float, float]:
    """How much lower the loss is at one α than at another, mean of both texts, and its standard error, paired over
    pieces."""
    differences = sweep.loss.sel(alpha=other) - sweep.loss.sel(alpha=alpha)
    errors = differences.std("piece", ddof=1) / np.sqrt(differences.sizes["piece"])
    return float(differences.mean()), float(np.sqrt((errors ** 2).sum()) / len(errors))


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The three networks."""
    return [letters.of_text(kind, seed) for kind in data.letters.OF]


def source() -> Source:
    """Where the texts of both writers come from; a stand-in, if one of them is."""
    both = [data.source("letters", of=end) for end in letters.ENDS]
    worse = next((source for source in both if source.is_stand_in), both[0])
    texts, digests = zip(*((source.text, source.digest) for source in both))
    return replace(worse, text=" and ".join(texts), digest=digest(*digests))


EXPERIMENT = Experiment("words-poets", measure, PROFILES, source, "plays and speeches", recipes=recipes)
run = EXPERIMENT.run
