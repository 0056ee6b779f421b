"""Measuring claims again, and comparing what comes out with the ledger."""
import importlib
import statistics

from scipy.special import stdtrit

from lessons.kit.claims.model import Condition, Numbers, ledger, measured
from lessons.kit.experiment import Collection, Experiment
from lessons.kit.page import digits

# a number without a condition is doubted where one more seed would lie outside its interval with this probability
SURE = 0.999


def confirmed(numbers: Numbers) -> list[str]:
    """What a rerun says against the ledger, a sentence each; nothing where the verdicts stand.

    A number with a condition must lie within its bounds. One without must lie where the ledger's own seeds say that one
    more seed lies (`expected`). Numbers that the ledger does not keep are not judged.
    """
    doubts = []
    for id, here in numbers.items():
        claim = ledger()[id]
        known = measured().get(id, {})
        for condition in claim.conditions:
            value = here.get(condition.number)
            if value is not None and not condition.holds(value):
                doubts.append(f"{id}: {condition.number} is {digits(value)}; the verdict needs {condition.bounds}")
        conditions = {condition.number for condition in claim.conditions}
        for name, value in here.items():
            values = known.get(name, [])
            if name in conditions or not claim.keeps(name) or len(values) < 2:
                continue
            low, high = expected(values)
            if not low <= value <= high:
                doubts.append(f"{id}: {name} is {digits(value)}; "
                              f"the ledger's {len(values)} seeds put it between {digits(low)} and {digits(high)}")
    return doubts


def expected(values: list[float]) -> tuple[float, float]:
    """Where the value of one more seed lies, by two or more seeds' values: the prediction interval of a normal
    distribution.

    mean ± t · s · √(1 + 1/n), where s is the standard deviation over the n seeds and t the quantile of Student's
    distribution with n − 1 degrees of freedom that leaves 0.1 % outside. Three seeds say little, so theirs is wide. A
    spread below the sixth digit, to which the ledger rounds, counts as that digit.
    """
    n = len(values)
    mean = statistics.fmean(values)
    spread = max(statistics.stdev(values), 1e-6 * abs(mean), 1e-9)
    reach = stdtrit(n - 1, (1 + SURE) / 2) * spread * (1 + 1 / n) ** 0.5
    return mean - reach, mean + reach


def wrong(numbers: Numbers) -> tuple[list[tuple[str, Condition, float]], int]:
    """The conditions that these numbers do not meet, [(claim, condition, value)], and how many they speak to."""
    failed, tried = [], 0
    for id, of_claim in numbers.items():
        for condition in ledger()[id].conditions:
            if condition.number in of_claim:
                value = of_claim[condition.number]
                tried += 1
                if not condition.holds(value):
                    failed.append((id, condition, value))
    return failed, tried


def remeasure(experiment: Experiment | Collection, profile: str, seed: int) -> Numbers:
    """Measure; the numbers that the ledger keeps.

    Raises:
        data.store.Unavailable: the data are a stand-in; the ledger is about the real ones.
    """
    return kept(experiment.numbers(profile, seed))


def kept(numbers: Numbers) -> Numbers:
    """Of the numbers that an experiment gives those that the ledger keeps, rounded to six digits.

    Raises:
        KeyError: they are of a claim that the ledger does not have.
    """
    kept = {}
    for id, of_claim in numbers.items():
        claim = ledger()[id]
        kept[id] = {name: float(f"{value:.6g}") for name, value in of_claim.items() if claim.keeps(name)}
    return kept


def measuring() -> list[str]:
    """The modules that measure claims."""
    return list(dict.fromkeys(module for claim in ledger().values() for module in claim.modules))


def of_ledger(module: str) -> tuple[Experiment | Collection, ...]:
    """The experiments by which a module measures its claims: those that it lists in LEDGER."""
    return importlib.import_module(module).LEDGER
