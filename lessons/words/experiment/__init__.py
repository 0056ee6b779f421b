"""What chapter 14 measures, a file for every question: `merges`, CART at every rank and λ, and other methods; `lines`,
features between two encoders, exchanged heads and forgetting; `minilm`, the same of a real pretrained encoder;
`longer`, that one finetuned longer; `pretraining`, how much of it makes encoders add; `parts`, which weights what adds
up was learned in; `heads`, whether a penalty makes finetuning linear; `texts`, a network that answers in words;
`poets`, two writers; `negation`, a task vector added and taken away; the `numbers` that the ledger keeps. What the
measurements of the small encoder share is in `setting`."""
from lessons.kit import experiment
from lessons.words.experiment import heads, lines, longer, merges, minilm, parts, poets, pretraining, setting, texts
from toy_models import losses

SECONDS = {"quick": 90, "full": 900}  # rough, on two cores, with nothing kept
MEASURING = {"quick": 30, "full": 400}  # of these, where all encoders are kept
PRETRAINING = 900  # where the seed's pretrained encoder is not kept; that of seed 0 comes with the course


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Say which data there are, what has to be trained or measured, and about how long that takes."""
    recipes = setting.recipes(setting.PROFILES[profile], seed)
    missing = experiment.missing(recipes)
    if not experiment.to_measure((module.EXPERIMENT for module in (lines, merges, poets)), profile, seed):
        said = experiment.ALL_THERE
    elif missing:
        pretrains = any(recipe.loss == losses.MASKED_WORDS for recipe in missing)
        said = experiment.estimate(recipes, SECONDS[profile] + pretrains * PRETRAINING, "encoders")
    else:
        said = f"All encoders are there, and are measured: about {MEASURING[profile]} s on two cores, once."
    gone = [] if minilm.EXPERIMENT.archived() is not None else [
        "What was measured on MiniLM comes with the course, but is not here, so its chips and tables are missing: "
        "`git checkout data/measured` brings it back."]
    experiment.announce(setting.source(), said, *gone)


__all__ = ["announce", "heads", "lines", "longer", "merges", "minilm", "parts", "poets", "pretraining", "setting",
           "texts"]
