"""The chapter's measurements, a file a question: the `bell`, where its `peak` is and whether the scale of the `pixels`
moves it, the tasks of chapter 7 (`several`), the `theorem`, the `plane`, the number of `tasks`, `storage`, the ResNets
of `resnet`; and the `numbers` that the ledger keeps of them."""
from lessons.cart.experiment import bell, numbers, peak, pixels, plane, resnet, several, storage, tasks, theorem
from lessons.cart.experiment.numbers import claims
from lessons.kit import experiment
from lessons.kit.experiment import Collection

RESNETS = (0, 1, 2)  # seeds of the ResNets, which take long to train


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Say which data there are, what has to be trained, and about how long that takes."""
    sentences = []
    if experiment.to_measure((bell.BELL, bell.WIDTHS, plane.PLANE, tasks.TASKS, storage.STORAGE), profile, seed):
        sentences.append(bell.estimate(profile, seed))
    if experiment.to_measure([several.SEVERAL], profile, seed):
        sentences.append(several.estimate(profile, seed))
    seconds = sum(needed[profile] for asked, needed in ((peak.PEAK, peak.SECONDS), (pixels.PIXELS, pixels.SECONDS))
                  if experiment.to_measure([asked], profile, seed))
    if seconds:
        sentences.append(f"For the number of directions, more networks are trained that the zoo does not keep: about "
                         f"{seconds} s on two cores, once.")
    if experiment.to_measure((resnet.BELL, resnet.STORAGE, resnet.TASKS), profile, seed):
        sentences.append(resnet.estimate(seed))
    experiment.announce(*_sources(profile, seed), *(sentences or [experiment.ALL_THERE]))


def _sources(profile, seed):
    of_bell = [suite.source for suite in bell.suites_of(bell.PROFILES[profile], seed).values()]
    for source in (*of_bell, *several.suite_of(several.PROFILES[profile], seed).sources):
        name = source.text.split(",")[0]
        yield f"{name} — {source.reason}" if source.reason else name


def _sources_of_mlps():
    return [suite.source for suite in bell.suites_of(bell.PROFILES["full"]).values()]


def _numbers_of_resnets(profile, seed, device):
    return numbers.of_resnets(seed, device)


LEDGER = (
    Collection("cart", _sources_of_mlps, numbers.of_mlps),
    Collection("cart-resnets", lambda: [resnet.source()], _numbers_of_resnets, ledger={"full": RESNETS},
               long=True),
)
