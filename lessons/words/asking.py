"""Networks that read a text and write one, as recipes: one that was pretrained by writing back the words of gaps and
answering a few sentences of every task, and one finetuned from it on each task."""
import data
from toy_models import Architecture, Recipe, losses
from toy_models.recipe import COSINE

LENGTH = 32  # words of a sentence that are read
BATCH, FINETUNING_BATCH = 64, 32
LR, FINETUNING_LR = 2e-3, 5e-4


def start(seed: int = 0, size: int = 25_600, labelled: int = data.asked.LABELLED) -> Recipe:
    """The pretrained network.

    Args:
        seed: of its first weights and of the order of the texts.
        size: sentences with gaps that it reads, once each, and as many labelled ones.
        labelled: different labelled sentences a task; 0 for sentences with gaps alone.
    """
    options = {"size": size, "length": LENGTH, "labelled": labelled}
    return Recipe.on("asked", Architecture.of("TextToText"), options=options, lr=LR, epochs=1, batch_size=BATCH,
                     optimiser="adam", seed=seed, loss=losses.WRITTEN_WORDS, schedule=COSINE)


def finetuned(start: Recipe, task: str, size: int = 1500, epochs: int = 3) -> Recipe:
    """It, finetuned on so many sentences of one task, one of `data.sentences.TASKS`."""
    return start.finetune(options={"task": task, "size": size, "length": LENGTH}, lr=FINETUNING_LR, epochs=epochs,
                          batch_size=FINETUNING_BATCH)
