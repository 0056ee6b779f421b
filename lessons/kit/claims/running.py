"""Measuring the ledger's units, one after another here, or many at once on a cluster."""
import dataclasses
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from tqdm.auto import tqdm

from data import cluster
from lessons.kit import archive, units
from lessons.kit.claims import judge, model, results
from lessons.kit.claims.results import Result
from lessons.kit.experiment import Collection, Experiment
from lessons.kit.units import Unit


def units_of(experiments: Iterable[tuple[str, Experiment | Collection]], seeds: Sequence[int] | None = None,
             others: bool = False) -> list[Unit]:
    """The units with which the ledger asks experiments.

    Args:
        experiments: (module, experiment).
        seeds: these alone; None for all of the ledger's.
        others: the seeds are asked whether the ledger has them or not.
    """
    return [Unit(module, experiment.name, profile, seed) for module, experiment in experiments
            for profile, of_profile in experiment.ledger.items()
            for seed in (seeds if others else of_profile) if seeds is None or seed in seeds]


def here(todo: Sequence[Unit], keep: Callable[[Result], None], commit: str) -> None:
    """Measure units on this machine, one after another.

    Args:
        keep: called after each.
        commit: whose code measures.
    """
    for unit in todo:
        numbers = judge.remeasure(unit.found(), unit.profile, unit.seed)
        keep(_result(unit, numbers, archive.surroundings(), commit))


def on_cluster(address: str, todo: Sequence[Unit], keep: Callable[[Result], None], commit: str) -> None:
    """Measure units on a cluster's workers, with a progress bar.

    Raises:
        cluster.NotInstalled, cluster.Unreachable, cluster.Lost, cluster.Unfinished: what was measured is kept.
    """
    with cluster.opened(address, units.fits, units.wanted(todo)) as executor, \
            tqdm(total=len(todo), unit="unit", desc=address) as bar:
        def done(unit, about):
            keep(_result(unit, judge.kept(about["numbers"]), about, commit))
            bar.update()

        units.mapped(executor, todo, True, done)


def _result(unit, numbers, about, commit):
    fields = {name: about[name] for name in ("machine", "processor", "system", "python", "torch", "date")}
    return Result(module=unit.module, experiment=unit.experiment, profile=unit.profile, seed=unit.seed,
                  code=unit.code_digest(), data=unit.data_digest(), numbers=numbers, commit=commit, **fields).signed()


def kept(todo: Sequence[Unit]) -> dict[Unit, Result]:
    """Which of these units this machine has results of, measured with this code and these data."""
    known = {unit: results.kept(unit, unit.code_digest(), unit.data_digest()) for unit in todo}
    return {unit: result for unit, result in known.items() if result}


def into_ledger(result: Result, path: Path | None = None) -> None:
    """Write a result's numbers to measured.yaml, or to another file of this form, and keep it as a file."""
    circumstances = {name: getattr(result, name) for name in ("processor", "torch", "commit", "date")}
    model.keep(*dataclasses.astuple(result.unit), result.numbers, circumstances, path)
    results.keep(result)
    for doubt in judge.confirmed(result.numbers):
        print(f"seed {result.seed}: {doubt}", file=sys.stderr)


def _is_written(result, path):
    """Whether the ledger has this very result. To write it again takes a second, and a run that goes on has many."""
    about = {name: getattr(result, name) for name in ("module", "experiment", "profile", "processor", "torch", "commit",
                                                      "date")}
    return any(about.items() <= run.items() and result.seed in run["seeds"] for run in model.runs(path))


def measure(todo: Sequence[Unit], address: str | None, commit: str, path: Path | None = None,
            again: bool = True) -> int:
    """Measure units and write them to the ledger.

    Args:
        address: of a cluster; None for this machine.
        commit: whose code measures.
        path: as `model.keep` takes it.
        again: whether this machine measures what it has results of. A cluster never does.

    Returns:
        0, or 1 where some were not measured, which is said.
    """
    known = {} if again and not address else kept(todo)
    for result in known.values():
        if not _is_written(result, path):
            into_ledger(result, path)
    if known:
        print(f"{len(known)} of {len(todo)} units were measured before.", file=sys.stderr)
    missing = [unit for unit in todo if unit not in known]
    keep = partial(into_ledger, path=path)
    if not missing:
        return 0
    if not address:
        here(missing, keep, commit)
        return 0
    try:
        on_cluster(address, missing, keep, commit)
    except (cluster.NotInstalled, cluster.Unreachable, cluster.Lost, cluster.Unfinished) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
