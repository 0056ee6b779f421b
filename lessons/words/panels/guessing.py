"""Which words the pretrained encoder guesses in the place of a hidden one."""
import re

import torch

import data
from data.sentences import MASK
from lessons.kit import plotting
from lessons.kit.plotting import GREEN, GREY, still
from lessons.suites import Loaded

SHOWN = 8  # words


def likely(loaded: Loaded, sentence: str) -> tuple[str, dict[str, float]]:
    """The hidden word, and {word: probability} of the words that the pretrained encoder finds most likely there.

    Args:
        loaded: its `base` is the encoder.
        sentence: a text; the word in square brackets is hidden.

    Raises:
        ValueError: not exactly one word is in square brackets, or it is behind the last that the encoder reads.
    """
    brackets = re.fullmatch(r"([^][]*)\[([^][]*)\]([^][]*)", str(sentence))
    before, hidden, after = brackets.groups() if brackets else ("", "", "")
    read, word = data.sentences.words_of(before), data.sentences.words_of(hidden)
    if len(word) != 1:
        raise ValueError(f"put square brackets around one word, as in “a good [film] .”, not {sentence!r:.80}")
    x = data.sentences.numbers([" ".join((*read, *word, after))])
    place = len(read)
    if place >= x.shape[1]:
        raise ValueError(f"the encoder reads {x.shape[1]} words, and {word[0]!r} is number {place + 1}")
    asked = torch.arange(x.shape[1])[None] == place
    with torch.no_grad():
        chances = loaded.complete(loaded.base).guesses(x.masked_fill(asked, MASK).float(), asked)[0].double().softmax(0)
    known = {number: name for name, number in data.sentences.vocabulary().items()}
    best = [number for number in chances.argsort(descending=True).tolist() if number in known][:SHOWN]
    return word[0], {known[number]: float(chances[number]) for number in best}


@still
def guesses(loaded: Loaded, sentence: str):
    """The words of `likely` as bars; the hidden word, where it is among them, is green."""
    word, chances = likely(loaded, sentence)
    fig, ax = plotting.figure(height=0.8 + 0.26 * len(chances))
    rows = range(len(chances))[::-1]
    ax.barh(rows, list(chances.values()), color=[GREEN if name == word else GREY for name in chances])
    for row, chance in zip(rows, chances.values()):
        ax.annotate(f"{chance:.0%}", (chance, row), (4, 0), textcoords="offset points", va="center")
    ax.set_yticks(rows, list(chances))
    ax.set(xlabel="probability", xlim=(0, 1.15 * max(chances.values())), title=f"Guesses for the hidden word “{word}”")
    plotting.in_percent(ax.xaxis)
    told = ", ".join(f"{name} {chance:.2f}" for name, chance in chances.items())
    return plotting.show(fig, f"The most likely words in the place of “{word}”: {told}.",
                         "Computed with the pretrained encoder, before any finetuning. Green: the hidden word.")
