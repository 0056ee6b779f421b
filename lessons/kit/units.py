"""Independent pieces of measuring, which can be done by other machines: an experiment, a profile and a seed.

`sweeps` measures many and keeps what comes in this machine's store, where `Experiment.run` finds it. The ledger of
claims maps over the same units (`lessons.kit.claims`).
"""
import dataclasses
import importlib
import re
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

from data import cluster, code, parcels, store
from data.types import digest
from lessons.kit import archive, sweep
from lessons.kit.experiment import Collection, Experiment

_SWEEP = "sweep.nc"


@dataclasses.dataclass(frozen=True, order=True)
class Unit:
    """What is measured at once.

    Attributes:
        module: that has the experiment, "lessons.sail.experiment".
        experiment: its name.
        profile: of the experiment.
        seed: 0 or more.
    """
    module: str
    experiment: str
    profile: str
    seed: int

    def __str__(self):
        return f"{self.experiment}, profile {self.profile}, seed {self.seed} ({self.module})"

    def found(self) -> Experiment | Collection:
        """The experiment.

        Raises:
            ValueError: the module is none of the lessons', or has no such experiment.
        """
        if not re.fullmatch(r"lessons(\.[a-z_0-9]+)+", self.module):
            raise ValueError(f"{self.module!r} is no module of the lessons")
        module = importlib.import_module(self.module)
        for experiment in (*getattr(module, "LEDGER", ()), *vars(module).values()):
            if isinstance(experiment, Experiment | Collection) and experiment.name == self.experiment:
                return experiment
        raise ValueError(f"{self.module} has no experiment {self.experiment!r}")

    def data_digest(self) -> str:
        """A digest of all data that the experiment uses, as they are here."""
        experiment = self.found()
        sources = experiment.sources() if isinstance(experiment, Collection) else [experiment.source()]
        return digest(*(source.digest for source in sources))

    def code_digest(self) -> str:
        """A digest of all code that the numbers depend on (`data.code.behind`)."""
        self.found()  # the module is imported, with the text that it has now
        return code.behind(self.module)


def wanted(units: Sequence[Unit]) -> dict:
    """What a worker must have to measure these, for `fits`."""
    first = {(unit.module, unit.experiment): unit for unit in units}
    return {"units": [_described(unit) for unit in first.values()]}


def _described(unit):
    return {**dataclasses.asdict(unit), "code": unit.code_digest(), "data": unit.data_digest()}


def _compared(described):
    """The unit, on a machine that has the code and the data for it.

    Raises:
        Differs: it has others.
    """
    unit = Unit(*(described[field.name] for field in dataclasses.fields(Unit)))
    cluster.same(f"code for {unit.module}", unit.code_digest(), described["code"])
    cluster.same(f"data for {unit.experiment}", unit.data_digest(), described["data"])
    return unit


def fits(parcel: bytes) -> bytes:
    """On a worker: whether it has code and data of the machine that asks (`data.cluster.opened`)."""
    return cluster.answered(lambda about, _: ({"fits": len([_compared(one) for one in about["units"]])}, {}), parcel)


def measure_here(parcel: bytes) -> bytes:
    """On a worker: measure a unit. It answers with where it measured and, if they are asked for, with the numbers for
    the ledger. An experiment's sweep is a file in NetCDF."""
    return cluster.answered(_measure, parcel)


def _measure(about, _):
    unit = _compared(about["unit"])
    experiment, words = unit.found(), archive.surroundings() | {"unit": about["unit"]}
    if about["numbers"]:
        words["numbers"] = experiment.numbers(unit.profile, unit.seed)
    if isinstance(experiment, Collection):
        return words, {}
    with archive.anew():
        measured = experiment.run(unit.profile, unit.seed)  # what the numbers were made of is kept here
    return words, {_SWEEP: bytes(measured.to_netcdf(engine="scipy"))}


def _job(numbers, unit):
    return parcels.packed({"unit": _described(unit), "numbers": numbers})


def mapped(executor: Executor, units: Sequence[Unit], numbers: bool, keep: Callable[[Unit, dict], None]) -> None:
    """Let an executor's workers measure units; their sweeps are kept in this machine's store as they come.

    Args:
        numbers: whether the numbers for the ledger are asked for.
        keep: called with every unit that is done and what the worker says of it.

    Raises:
        Unfinished: some units failed, which it names; the others are kept.
        Lost: the cluster stopped answering.
    """
    named = {str(unit): unit for unit in units}

    def receive(name, about, files):
        if about.get("unit") != _described(named[name]):
            raise store.Damaged("it is the answer to another question")
        if _SWEEP in files:
            _receive(named[name], files[_SWEEP])
        keep(named[name], about)

    jobs = {name: partial(_job, numbers, unit) for name, unit in named.items()}
    if failures := cluster.gathered(executor, measure_here, jobs, receive):
        raise cluster.Unfinished(failures, len(named))


def _receive(unit, content):
    """Keep a sweep that another machine measured where this one would have kept its own.

    Raises:
        Damaged: it is not what was measured.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _SWEEP
        path.write_bytes(content)
        measured = sweep.read(path)
    for name, expected in (("profile", unit.profile), ("seed", unit.seed)):
        if measured.attrs.get(name) != expected:
            raise store.Damaged(f"it is a sweep of {name} {measured.attrs.get(name)}, not {expected}")
    unit.found().keep(measured, unit.profile, unit.seed)


def sweeps(executor: Executor, units: Sequence[Unit], on_done: Callable[[Unit], None] = lambda unit: None) -> None:
    """Measure what is missing of these experiments' sweeps on an executor's workers, and keep it here.

    Raises:
        ValueError: a unit is a collection, which has no sweep of its own.
        Unfinished, Lost: as `mapped`.
    """
    for unit in units:
        if isinstance(unit.found(), Collection):
            raise ValueError(f"{unit} is a collection of several experiments, which has no sweep of its own")
    missing = [unit for unit in units if not unit.found().is_there(unit.profile, unit.seed)]
    mapped(executor, missing, False, lambda unit, _: on_done(unit))
