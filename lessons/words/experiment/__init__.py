"""What chapter 14 measures, a file for every question: `merges`, CART at every rank and λ, and other methods; `lines`,
features between two encoders, exchanged heads and forgetting; `minilm`, the same of a real pretrained encoder;
`longer`, that one finetuned longer; `pretraining`, how much of it makes encoders add; `parts`, which weights what adds
up was learned in; `heads`, whether a penalty makes finetuning linear; `texts`, a network that answers in words;
`poets`, two writers; `negation`, a task vector added and taken away; the `numbers` that the ledger keeps. What the
measurements of the small encoder share is in `setting`."""
from lessons.kit import experiment
from lessons.words.experiment import heads, lines, longer, merges, minilm, parts, poets, pretraining, setting, texts

SECONDS = {"quick": 90, "full": 900}  # rough, on two cores, with nothing kept


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Say which data there are, what has to be trained, and about how long that takes."""
    settings = setting.PROFILES[profile]
    if experiment.to_measure((module.EXPERIMENT for module in (lines, merges, poets)), profile, seed):
        said = experiment.estimate(setting.recipes(settings, seed), SECONDS[profile], "encoders")
    else:
        said = experiment.ALL_THERE
    experiment.announce(setting.source(), said)


__all__ = ["announce", "heads", "lines", "longer", "merges", "minilm", "parts", "poets", "pretraining", "setting",
           "texts"]
