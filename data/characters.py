"""Texts as numbers of characters, cut into pieces: what "speeches" and "letters" have in common."""
import torch
from torch import Tensor

CHARACTERS = "\n !\"$'(),-.0123456789:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # others are left out
TEST = 10  # every tenth piece is for testing
_NUMBERS = {character: number for number, character in enumerate(CHARACTERS)}


def numbers(text: str) -> Tensor:
    """(characters,): the numbers of a text's characters, without those that are not among `CHARACTERS`."""
    return torch.tensor([_NUMBERS[character] for character in text if character in _NUMBERS], dtype=torch.int64)


def written(numbers: Tensor) -> str:
    """Numbers of characters as text."""
    return "".join(CHARACTERS[int(number)] for number in numbers.flatten())


def pieces(text: Tensor, split: str, context: int) -> tuple[Tensor, Tensor]:
    """Pieces of a text (pieces, context) that do not overlap, and of the same shape the character that follows each.

    Args:
        text: (characters,), as `numbers` gives them.
        split: "train" or "test": every tenth piece is for testing.
        context: characters of a piece.
    """
    count = max(0, len(text) - 1) // context
    x, y = (text[shift:shift + count * context].reshape(count, context) for shift in (0, 1))
    of_split = (torch.arange(count) % TEST == TEST - 1) == (split == "test")
    return x[of_split], y[of_split]


def help_texts() -> list[str]:
    """Python's own help texts, by name: what stands in for a corpus that cannot be had."""
    from pydoc_data import topics
    return [text for _, text in sorted(topics.topics.items())]
