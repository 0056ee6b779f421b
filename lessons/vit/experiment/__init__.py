"""The experiments on the small ViT, a file a question: `lines`, cross-task linearity; `ranks`, CART's rank and λ, and
which tensors are matrices; `merges`, every method and negation; `counts`, more tasks and more passes; `adapting`,
test-time adaptation; the `numbers` that the ledger keeps. What they share is in `setting`."""
from lessons.kit import experiment
from lessons.kit.experiment import Collection
from lessons.vit.experiment import adapting, counts, lines, merges, numbers, ranks, setting

SECONDS = {"quick": 75, "full": 1500}  # rough, on two cores, with nothing kept


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Say which data there are, what has to be trained, and about how long that takes."""
    recipes = setting.recipes(setting.PROFILES[profile], seed)
    experiment.announce(setting.source(), experiment.estimate(recipes, SECONDS[profile], "ViTs"))


LEDGER = (Collection("vit", lambda: [setting.source()], numbers.all_of, ledger={"full": tuple(range(6))}),)
