"""The pair of letter writers as recipes: two small GPTs from one start that read film reviews, one finetuned on
Shakespeare's plays and one on speeches of presidents.
"""
from data import characters, letters, store
from toy_models import Architecture, Recipe, losses
from toy_models.recipe import COSINE

WIDTH, HEADS, BLOCKS, CONTEXT = 64, 4, 2, 64
BATCH = 16  # pieces
STEPS, FINETUNING_STEPS = 2200, 400  # each reads pieces that no step before it of the same training read
LR, FINETUNING_LR = 3e-3, 2e-3
START = "reviews"
ENDS = tuple(kind for kind in letters.OF if kind != START)


def architecture() -> Architecture:
    """A GPT of 113,996 numbers, which reads at most 64 letters."""
    return Architecture.of("CharacterGPT", characters=len(characters.CHARACTERS), width=WIDTH, heads=HEADS,
                           blocks=BLOCKS, context=CONTEXT)


def of_text(kind: str, seed: int = 0) -> Recipe:
    """The network of one kind of text, one of `data.letters.OF`: the start, or one of `ENDS`.

    Of the seed that the repository has checkpoints of, it is that one, whose texts are those of the corpora, whether
    they are here or not.
    """
    if seed in SHIPPED:
        with store.as_published():
            return _of_text(kind, seed)
    return _of_text(kind, seed)


SHIPPED = (0,)  # data/checkpoints/letters_reviews, letters_plays and letters_presidents


def _of_text(kind, seed):
    return start(seed) if kind == START else finetuned(kind, seed)


def start(seed: int = 0) -> Recipe:
    """The network that read film reviews."""
    return Recipe.on("letters", architecture(), options=_options(START, STEPS), lr=LR, epochs=1, batch_size=BATCH,
                     optimiser="adam", seed=seed, loss=losses.NEXT_CHARACTER, schedule=COSINE)


def finetuned(kind: str, seed: int = 0) -> Recipe:
    """The start, finetuned on one kind of text, one of `ENDS`."""
    return start(seed).finetune(options=_options(kind, FINETUNING_STEPS), lr=FINETUNING_LR)


def _options(kind, steps):
    return {"of": kind, "size": BATCH * steps, "context": CONTEXT}
