"""Whether a change of the code leaves every measured number as it was.

    python -m tools.sweeps measure FOLDER --profile quick     # at the commit before, and at the one after
    python -m tools.sweeps compare BEFORE AFTER [--renamed elsewhere:gap=gap_mean …]

`measure` runs every experiment of the course in one profile and writes its sweep into the folder; networks come from
the zoo where they are there. `compare` says of every sweep whether all its numbers are equal, bit for bit.
"""
import argparse
import importlib
import pkgutil
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import xarray

import lessons
from data import store
from lessons.interference.experiment import adaptation, comparison
from lessons.kit import archive
from lessons.kit.experiment import Experiment

CODE = {"digest", "measured_on", "module", "code"}  # where a sweep comes from


def experiments(profile: str, seed: int = 0, names: Collection[str] = ()) -> dict[str, Experiment]:
    """{name of the sweep's file, without its ending: experiment} of all lessons in one profile, found by importing
    every module of theirs.

    Args:
        names: of the experiments that are wanted; empty for all.
    """
    known = []
    for module in pkgutil.walk_packages(lessons.__path__, "lessons."):
        if "experiment" in module.name.split("."):
            room = importlib.import_module(module.name)
            for value in vars(room).values():
                several = value.of.values() if isinstance(getattr(value, "of", None), dict) else ()
                known += [one for one in (value, *several) if isinstance(one, Experiment)]
            if room is adaptation and (not names or "interference-adaptation" in names):
                for suite in comparison.suites_of(profile, seed).values():  # it begins from what the comparison chose
                    known.append(room.of_suite(suite, comparison.run(suite, profile, seed)))
            elif hasattr(room, "of_suite") and room is not adaptation:
                known += map(room.of_suite, comparison.suites_of(profile, seed).values())
    named = {}
    for one in known:
        if one.profiles.get(profile) is not None and (not names or one.name in names):
            with store.as_published():  # as data/measured calls it, whichever data are here
                named[archive.path_of(one.name, one.ingredients(profile, seed)).stem] = one
    return dict(sorted(named.items()))


def measure(folder: Path, profile: str, seed: int, names: list[str]) -> None:
    """Measure every experiment that has the profile and write its sweep to `folder`/NAME.nc; what lies there stays.

    Args:
        names: of the experiments to measure; empty for all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stem, experiment in experiments(profile, seed, names).items():
        path = folder / f"{stem}.nc"
        if path.exists():
            continue
        start = time.perf_counter()
        experiment.run(profile, seed, fresh=True).to_netcdf(path, engine="scipy")
        print(f"{stem}: {time.perf_counter() - start:.1f} s", flush=True)


def differences(before: xarray.Dataset, after: xarray.Dataset, renamed: Mapping[str, str] | None = None) -> list[str]:
    """What is not the same in two sweeps, a sentence each; empty where every number is equal, bit for bit.

    Args:
        renamed: {name before: name after} of variables.
    """
    before = before.rename({old: new for old, new in (renamed or {}).items() if old in before.variables})
    told = [f"{name} is gone" for name in sorted(map(str, before.variables.keys() - after.variables.keys()))]
    told += [f"{name} is new" for name in sorted(map(str, after.variables.keys() - before.variables.keys()))]
    for name in sorted(map(str, before.variables.keys() & after.variables.keys())):
        old, new = before[name], after[name]
        if old.dims != new.dims or old.shape != new.shape:
            told.append(f"{name} has dimensions {dict(new.sizes)}, not {dict(old.sizes)}")
        elif old.values.dtype.kind != "f" or new.values.dtype.kind != "f":
            told += [] if np.array_equal(old.values, new.values) else [f"{name} has other values"]
        elif not np.array_equal(old.values, new.values, equal_nan=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                apart = np.abs(new.values - old.values) / np.maximum(np.abs(old.values), 1e-300)
            told.append(f"{name} differs by up to {np.nanmax(apart):.1g} of its value")
    for name in sorted((before.attrs.keys() | after.attrs.keys()) - CODE):
        if str(before.attrs.get(name)) != str(after.attrs.get(name)):
            told.append(f"attribute {name} was {before.attrs.get(name)!r} and is {after.attrs.get(name)!r}")
    return told


def compare(before: Path, after: Path, renamed: Mapping[str, Mapping[str, str]]) -> bool:
    """Print for every sweep of two folders whether it is equal; whether all are.

    Args:
        renamed: {experiment: {name before: name after}}.
    """
    equal = True
    for name in sorted({path.stem for folder in (before, after) for path in folder.glob("*.nc")}):
        paths = [folder / f"{name}.nc" for folder in (before, after)]
        if missing := [str(path) for path in paths if not path.exists()]:
            told = [f"{', '.join(missing)} is missing"]
        else:
            sweeps = [xarray.load_dataset(path, engine="scipy") for path in paths]
            told = differences(*sweeps, renamed.get(name.rpartition("-")[0]))
        print(f"{name}: {'; '.join(told) or 'equal'}")
        equal &= not told
    return equal


def main(arguments: list[str] | None = None) -> int:
    """The command line; exit status 1 where a sweep is not equal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("--profile", default="quick")
    measuring.add_argument("--seed", type=int, default=0)
    measuring.add_argument("--only", nargs="*", default=[], metavar="NAME")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--renamed", nargs="*", default=[], metavar="EXPERIMENT:OLD=NEW")
    given = parser.parse_args(arguments)
    if given.command == "measure":
        measure(given.folder, given.profile, given.seed, given.only)
        return 0
    renamed = {}
    for text in given.renamed:
        name, _, names = text.rpartition(":")
        old, _, new = names.partition("=")
        renamed.setdefault(name, {})[old] = new
    return 0 if compare(given.before, given.after, renamed) else 1


if __name__ == "__main__":
    sys.exit(main())
