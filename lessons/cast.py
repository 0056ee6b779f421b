"""The cast: networks that several chapters talk about, as recipes. The zoo trains each once, for all chapters."""
import data
from data import store
from toy_models import Architecture, Recipe, losses
from toy_models.recipe import COSINE

# -- MLPs on Rotated MNIST (chapters 1, 3, 4, 5, 7, 8) ---------------------------------------------

MLP_100 = Architecture.of("MLP", widths=(784, 100, 100, 100, 10))  # of CTL, §4.1
ANGLES = tuple(22.5 * i for i in range(1, 9))  # of the finetuned networks; chapter 1 has the first four


def passes(epochs: int = 1) -> int:
    """So many epochs of MNIST, in passes over the images that are here: the stand-in is a third of MNIST, and takes
    three passes for as many steps."""
    return 3 * epochs if data.source("rotated_mnist", angle=0.0).is_stand_in else epochs


def pretrained_mlp(seed: int = 0, epochs: int = 1) -> Recipe:
    """CTL's MLP after so many epochs of upright MNIST."""
    return Recipe.on("rotated_mnist", MLP_100, options={"angle": 0.0}, lr=0.1, epochs=passes(epochs), batch_size=64,
                     seed=seed)


def rotations(seed: int = 0, angles: tuple[float, ...] = ANGLES) -> dict[float, Recipe]:
    """{angle: recipe}: the pretrained network at 0.0, and one more epoch from there on digits turned by each angle."""
    pretrained = pretrained_mlp(seed)
    return {0.0: pretrained, **{angle: pretrained.finetune(options={"angle": angle}) for angle in angles}}


def linearity_mlps(seed: int = 0) -> dict[str, Recipe | dict | list]:
    """The MLPs of chapter 1, from which chapter 3 goes on.

    "pretrained": one epoch on upright MNIST; "finetuned": {angle: one more epoch on digits turned by it}; "same_task":
    two more epochs on upright digits, each in its own order of samples; "strangers": two networks that began from
    different random weights and each saw upright digits for two epochs.
    """
    finetuned = rotations(seed, ANGLES[:4])
    pretrained = finetuned.pop(0.0)
    stranger = pretrained_mlp(seed + 1000)
    second = pretrained.finetune(seed=seed + 2000)
    return {"pretrained": pretrained,
            "finetuned": finetuned,
            "same_task": [second, pretrained.finetune(seed=seed + 3000)],
            "strangers": [second, stranger.finetune(seed=seed + 3000)]}


def all_linearity_mlps(seed: int = 0) -> list[Recipe]:
    """The recipes of `linearity_mlps`, once each, in one list."""
    made = linearity_mlps(seed)
    wanted = [made["pretrained"], *made["same_task"], *made["strangers"], *made["finetuned"].values()]
    return list(dict.fromkeys(wanted))


# -- small text encoders on sentences (chapter 14) ---------------------------------------------------

def pretrained_encoder(seed: int = 0, epochs: int = 3, size: int | None = None) -> Recipe:
    """A small text encoder after three passes over 130,000 sentences without labels, whose masked words it guessed.

    Of the seed that the repository has a checkpoint of, it is that one, whose sentences are those of the corpora,
    whether they are here or not.

    Args:
        seed: of the weights and of the order of sentences.
        epochs: passes.
        size: the first so many sentences alone; None for all.
    """
    if seed in SHIPPED_ENCODERS and (epochs, size) == (3, None):
        with store.as_published():
            return _encoder(seed, epochs, size)
    return _encoder(seed, epochs, size)


SHIPPED_ENCODERS = (0,)  # data/checkpoints/text_encoder_64


def _encoder(seed, epochs, size):
    options = {"size": size} if size else {}
    return Recipe.on("sentences", Architecture.of("TextEncoder"), options=options, lr=2e-3, epochs=epochs,
                     batch_size=64, optimiser="adam", seed=seed, schedule=COSINE, loss=losses.MASKED_WORDS)


# -- small ViTs on altered digits and clothes (chapter 12) -----------------------------------------

VIT_WIDTHS = (64, 128)


def pretrained_vit(width: int = 64, seed: int = 0) -> Recipe:
    """A small ViT after three passes over upright digits and clothes, and a few of each of the eight altered tasks.

    Of the width and seed that the repository has a checkpoint of, it is that one, whose images are the official ones,
    whether they are here or not.
    """
    if (width, seed) in SHIPPED_VITS:
        with store.as_published():
            return _vit(width, seed)
    return _vit(width, seed)


SHIPPED_VITS = ((64, 0), (128, 0))  # data/checkpoints/tiny_vit_64 and tiny_vit_128


def _vit(width, seed):
    return Recipe.on("medley", Architecture.of("TinyViT", width=width), lr=1e-3, epochs=3, batch_size=64,
                     optimiser="adamw", seed=seed, schedule=COSINE)


# -- ResNets on Split CIFAR-100 (chapters 2, 3, 4, 5, 7, 8) ----------------------------------------

SPLIT_CIFAR = "split_cifar100"
CLASSES = 100  # one head for all splits; each task uses its own five outputs
WIDTH = 16
WHOLE = 2496  # images of a split: 39 batches of 64. The other 4 would be a batch of their own; see 02_statistics
PRETRAINING = 0  # the split that pretrains
TASKS = (1, 2, 3, 4)  # splits to finetune on
FINETUNING_EPOCHS = 10


def pretrained_resnet(splits: tuple[int, ...] = (PRETRAINING,), size: int | None = WHOLE, epochs: int = 10,
                      seed: int = 0, width: int = WIDTH) -> Recipe:
    """A ResNet-18 after `epochs` passes over `size` images of these splits (None: all of them)."""
    architecture = Architecture.of("ResNet18", width=width, num_classes=CLASSES)
    return Recipe.on(SPLIT_CIFAR, architecture, options=options_of(splits, size), lr=0.05, epochs=epochs,
                     batch_size=64, seed=seed)


def finetuned_resnet(pretrained: Recipe, split: int, size: int | None = WHOLE,
                     epochs: int = FINETUNING_EPOCHS) -> Recipe:
    """It, after `epochs` more passes over `size` images of one split (None: all of them)."""
    return pretrained.finetune(options=options_of((split,), size), epochs=epochs)


def options_of(splits: tuple[int, ...], size: int | None) -> dict:
    """What `data.load` is asked for."""
    return {"splits": splits} if size is None else {"splits": splits, "size": size}


def split_resnets(seed: int = 0, tasks: tuple[int, ...] = TASKS) -> dict[int, Recipe]:
    """{split: recipe} of width 16: pretrained on split 0, at `PRETRAINING`, and finetuned on each of the tasks."""
    pretrained = pretrained_resnet(seed=seed)
    return {PRETRAINING: pretrained, **{task: finetuned_resnet(pretrained, task) for task in tasks}}


def widely_pretrained_resnet(seed: int = 0) -> Recipe:
    """Width 16, one pass over all 20 splits."""
    return pretrained_resnet(tuple(range(20)), 49_984, epochs=1, seed=seed)
