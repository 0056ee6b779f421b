"""The trained networks of chapter 14 that lie in the repository, `data/checkpoints`: each a safetensors file of the zoo
with its recipe and a model card beside it.

`python -m lessons.words.shipped` trains what is missing and writes them.
"""
import textwrap
from pathlib import Path

import torch
import torch.nn.functional as F

import data
from data.letters import OF
from lessons import cast
from lessons.words import letters
from toy_models import Recipe, losses, zoo

ENCODER = """# {name}: a small encoder of sentences, pretrained

A checkpoint for chapter 14 of Weightspace, made to be finetuned and merged, and for nothing else.

- **Network**: `toy_models.TextEncoder`, width 64, 2 blocks of 4 heads, 8,000 words (`data/words.txt`), {parameters:,}
  parameters in float32. Sentences of at most 32 words.
- **Trained on**: {source}: film reviews, speeches on the state of the union, and the training sentences of eight tasks
  without their labels. {epochs} passes, guessing 15 % of the words from the others; Adam, learning rate {lr:g} with
  warm-up and cosine, batches of {batch_size}, seed {seed}; float64 on a CPU, rounded to float32 at the end.
  `recipe.json` is the whole recipe, and its SHA-256 begins with the name that the zoo gives to the file.
- **Masked words**, on {samples:,} test sentences: {figures}.
- **Its head** has not been trained: every finetuning trains the rows of its own task.
- **Texts**: the corpora's licences stand in `data/corpora.py`. No text is in this file.
"""
LETTERS = """# {name}: a small writer of letters

A checkpoint for chapter 14 of Weightspace: one of three networks, a start and two that were finetuned from it.

- **Network**: `toy_models.CharacterGPT`, width 64, 2 blocks of 4 heads, {parameters:,} parameters in float32. It reads
  at most 64 letters and guesses the next.
- **Trained on**: {source}. {epochs} pass, Adam, learning rate {lr:g} with warm-up and cosine, batches of {batch_size},
  seed {seed}; float64 on a CPU, rounded to float32 at the end. {parent} `recipe.json` is the whole recipe, and its
  SHA-256 begins with the name that the zoo gives to the file.
- **Loss**, nats a letter, on {samples:,} test pieces of each text: {figures}.
- **Texts**: Shakespeare's plays and the presidents' speeches are in the public domain; the film reviews are those of
  Pang and Lee 2004. No text is in this file.
"""
SENTENCES, PIECES = 2000, 500  # that the cards' figures rest on


def networks() -> dict[str, Recipe]:
    """{folder in `zoo.CHECKPOINTS`: recipe} of all that lie there."""
    named = {"text_encoder_64": cast.pretrained_encoder(cast.SHIPPED_ENCODERS[0])}
    return named | {f"letters_{kind}": letters.of_text(kind) for kind in OF}


@torch.inference_mode()
def figures(recipe: Recipe) -> dict[str, float]:
    """{what: number} that a card states, measured on test sentences or pieces."""
    network = zoo.get(recipe, "cpu", progress=False)
    if recipe.loss == losses.MASKED_WORDS:
        x = data.load("sentences", "test").x[:SENTENCES]
        seen, drawn = losses.hidden(x, torch.Generator().manual_seed(0))
        guesses, wanted = network.guesses(seen, drawn), x[drawn].long()
        most = wanted.bincount().max().item() / len(wanted)
        return {"loss in nats": F.cross_entropy(guesses, wanted).item(),
                "share guessed right": (guesses.argmax(1) == wanted).double().mean().item(),
                "share of the most frequent word": most}
    return {kind: _loss(network, data.load("letters", "test", of=kind, context=letters.CONTEXT)) for kind in OF}


def _loss(network, pieces):
    some = pieces.spread(PIECES)
    return F.cross_entropy(network(some.x).flatten(0, 1), some.y.flatten()).item()


def card(name: str, recipe: Recipe, numbers: dict[str, float]) -> str:
    """The model card of a network, with its `figures`."""
    network = recipe.architecture.build()
    is_encoder = recipe.loss == losses.MASKED_WORDS
    parent = "It went on from `letters_reviews`." if recipe.parent else "It began from random weights."
    text = (ENCODER if is_encoder else LETTERS).format(
        name=name, parameters=sum(parameter.numel() for parameter in network.parameters()),
        source=data.source(recipe.dataset, **dict(recipe.options)).text, epochs=recipe.epochs, lr=recipe.lr,
        batch_size=recipe.batch_size, seed=recipe.seed, parent=parent, samples=SENTENCES if is_encoder else PIECES,
        figures=", ".join(f"{what} {number:.3f}" for what, number in numbers.items()))
    lines = text.replace("\n  ", " ").split("\n")  # an item a line, then wrapped again
    return "\n".join(textwrap.fill(line, 120, subsequent_indent="  ", break_on_hyphens=False) for line in lines)


def write(name: str, recipe: Recipe) -> Path:
    """Train the network if it is missing, and put it into the repository; returns its folder."""
    folder = zoo.ship(recipe, name)
    (folder / "README.md").write_text(card(name, recipe, figures(recipe)), encoding="utf-8")
    return folder


if __name__ == "__main__":
    for folder_name, its_recipe in networks().items():
        print(write(folder_name, its_recipe))
