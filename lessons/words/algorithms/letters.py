"""Text letter by letter: what a network writes from given numbers, and which of two networks would rather have written
a letter.
"""
import torch
from jaxtyping import Float, Int
from torch import Tensor

from data import characters
from data.types import checked_whole
from toy_models import CharacterGPT


@torch.no_grad()
def generated(network: CharacterGPT, start: str, count: int, numbers: Float[Tensor, " numbers"],
              temperature: float = 1.0) -> str:
    """So many letters behind a start.

    Every letter takes the next number u from 0 to 1. The letters' probabilities, in the order of
    `data.characters.CHARACTERS`, divide the line from 0 to 1, and the letter in whose part u lies is written. So two
    networks write the same letter from the same u wherever their probabilities are close. (The logits are in the
    network's precision, float32: on another processor a letter can differ where u lies within their rounding of the
    end of a part.)

    Args:
        start: letters that the network does not know are left out. Of a text longer than the network's context, the
            last letters are read.
        numbers: u of every letter, from 0 to 1 without 1; those behind the first `count` are not used.
        temperature: the logits are divided by it. Below 1, likely letters become more likely.

    Raises:
        ValueError: no letter of the start is known, there are fewer numbers than `count`, one of them lies outside
            [0, 1), or the temperature is not above 0.
    """
    count = checked_whole("count", count, 0)
    _check(numbers, count, temperature)
    letters = characters.numbers(start).tolist()
    if not letters:
        raise ValueError(f"start must have a letter that the network knows, not {start!r:.80}")
    before, context = len(letters), len(network.position)
    for u in numbers[:count].double():
        logits = network(torch.tensor([letters[-context:]]))[0, -1]
        letters.append(inverse((logits.double() / temperature).softmax(0), u))
    return characters.written(torch.tensor(letters[before:]))


def inverse(probabilities: Float[Tensor, " outcomes"], u: Float[Tensor, ""]) -> int:
    """The outcome in whose part of the line from 0 to 1 the number u lies, the first one's part at 0. An outcome of
    probability 0 has no part.
    """
    ends = probabilities.cumsum(0)
    last = torch.searchsorted(ends, ends[-1])  # the first whose part ends where the line does
    return int(torch.minimum(torch.searchsorted(ends, u * ends[-1], right=True), last))


@torch.no_grad()
def logits_before(network: CharacterGPT, letters: Int[Tensor, " letters"]) -> Float[Tensor, "letters-1 characters"]:
    """A network's logits of every letter but the first, from those before it; at most as many as its context, as
    `generated` reads them.

    Raises:
        ValueError: there is no letter.
    """
    if not len(letters):
        raise ValueError("letters must not be empty")
    context = len(network.position)
    first = network(letters[None, :context])[0]
    windows = letters.unfold(0, context, 1)[1:] if len(letters) > context else letters.new_empty(0, context)
    return torch.cat([first, network(windows)[:, -1]])[:len(letters) - 1]


def preferred(logits_a: Float[Tensor, "*places characters"], logits_b: Float[Tensor, "*places characters"],
              letter: Int[Tensor, "*places"]) -> Float[Tensor, "*places"]:
    """By how much network a would rather have written the letters than network b, in nats: the difference of their
    log-probabilities. It is above 0 where a finds the letter more likely."""
    of_a, of_b = (logits.log_softmax(-1).gather(-1, letter[..., None])[..., 0] for logits in (logits_a, logits_b))
    return of_a - of_b


def _check(numbers, count, temperature):
    if len(numbers) < count:
        raise ValueError(f"{count:,} letters need as many numbers, there are {len(numbers):,}")
    if not ((numbers >= 0) & (numbers < 1)).all():
        raise ValueError("numbers must lie in [0, 1)")
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, not {temperature!r}")
