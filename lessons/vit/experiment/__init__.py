"""The experiments on the small ViT, a file a question: `lines`, cross-task linearity; `merges`, every method and
negation; `ranks`, CART's rank and λ, and which tensors are matrices. What they share is in `setting`."""
from lessons.kit import experiment
from lessons.vit.experiment import lines, merges, ranks, setting

SECONDS = {"quick": 75, "full": 1500}  # rough, on two cores, with nothing kept


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Say which data there are, what has to be trained, and about how long that takes."""
    recipes = setting.recipes(setting.PROFILES[profile], seed)
    experiment.announce(setting.source(), experiment.estimate(recipes, SECONDS[profile], "ViTs"))
