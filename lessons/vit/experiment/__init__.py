"""The experiments on the small ViT, a file a question: `lines`, cross-task linearity; `ranks`, CART's rank and λ, and
which tensors are matrices; `merges`, every method and negation; `counts`, more tasks and more passes; `adapting`,
test-time adaptation; `causes`, what makes the gap small; `parts`, what an average spoils; `stitching`, θ₀ given the
features of others; the `numbers` that the ledger keeps. What they share is in `setting`. `large`, for a GPU, is run by
itself, on its `bench`."""
import functools

from lessons.kit import experiment
from lessons.kit.experiment import Collection
from lessons.vit.experiment import adapting, causes, counts, lines, merges, numbers, parts, ranks, setting, stitching

claims = numbers.of_notebook
SECONDS = {"quick": 75, "full": 1500}  # rough, on two cores, with nothing kept


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Say which data there are, what has to be trained, and about how long that takes."""
    settings = setting.PROFILES[profile]
    if experiment.to_measure((module.EXPERIMENT for module in (lines, ranks, merges)), profile, seed):
        said = experiment.estimate(setting.recipes(settings, seed), SECONDS[profile], "ViTs")
    else:
        said = experiment.ALL_THERE
    experiment.announce(setting.source(), said)


def announce_example(seed: int = 0) -> None:
    """The same for lesson 13, which writes the networks of profile quick into files, in every profile."""
    recipes = setting.suite(setting.PROFILES["quick"], seed).all_recipes
    experiment.announce(setting.source(), experiment.estimate(recipes, SECONDS["quick"], "ViTs"))


SEEDS = {64: (0, 1, 2, 3, 4, 5), 128: (0, 1, 2)}  # width: seeds; one of width 128 takes forty minutes of a core
LEDGER = (*(Collection(f"vit-{width}", lambda: [setting.source()], functools.partial(numbers.of_width, width),
                       ledger={"full": seeds}, long=True) for width, seeds in SEEDS.items()),
          stitching.EXPERIMENT)
