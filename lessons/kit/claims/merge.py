"""`python -m lessons.kit.claims merge FILES`: on how many machines does each verdict stand?

Results of many machines (`lessons.kit.claims.results`) are held against the ledger's bounds and against each other. A
verdict that does not stand somewhere is named with the machine, and so is a number that two machines measured
differently with the same code, data and seed.
"""
import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from data import store
from lessons.kit.claims import results, signatures
from lessons.kit.claims.model import ledger
from lessons.kit.claims.results import Result
from lessons.kit.page import digits

# Networks in float64 end alike to the last bit, and what is evaluated in float32 with other instructions differed by
# less than 1e-5. ResNets, in bfloat16, differ within the spread of their seeds.
ALIKE = {"rel": 1e-3, "abs": 5e-4}


@dataclass
class Standing:
    """One claim on many machines.

    Attributes:
        machines, processors, torches: those that tried at least one of its conditions.
        seeds: with which they did.
        against: {machine: a sentence for every condition that does not hold there}.
    """
    machines: set[str] = field(default_factory=set)
    processors: set[str] = field(default_factory=set)
    torches: set[str] = field(default_factory=set)
    seeds: set[int] = field(default_factory=set)
    against: dict[str, list[str]] = field(default_factory=dict)


def standings(measured: Iterable[Result]) -> dict[str, Standing]:
    """{claim: where it was tried and where its conditions do not hold}, in the order of the ledger."""
    tried = {id: Standing() for id in ledger()}
    for result in measured:
        for id, numbers in result.numbers.items():
            conditions = ledger()[id].conditions if id in tried else []
            conditions = [condition for condition in conditions if condition.number in numbers]
            if not conditions:
                continue
            standing = tried[id]
            standing.machines.add(result.machine)
            standing.processors.add(result.processor)
            standing.torches.add(result.torch)
            standing.seeds.add(result.seed)
            for condition in conditions:
                value = numbers[condition.number]
                if not condition.holds(value):
                    standing.against.setdefault(result.machine, []).append(
                        f"seed {result.seed}: {condition.number} is {digits(value)}, the verdict needs "
                        f"{condition.bounds}")
    return {id: standing for id, standing in tried.items() if standing.machines}


def differences(measured: Iterable[Result]) -> list[str]:
    """A sentence for every number that came out differently with the same code, data and seed, on two machines or
    twice on one."""
    alike = {}
    for result in measured:
        for id, numbers in result.numbers.items():
            for name, value in numbers.items():
                alike.setdefault((result.unit, result.code, result.data, id, name), []).append((result.machine, value))
    lines = []
    for (unit, _, _, id, name), values in alike.items():
        if len(values) > 1 and not _close([value for _, value in values]):
            said = ", ".join(f"{digits(value)} on {machine}" for machine, value in sorted(values))
            lines.append(f"{id}: {name} of {unit} is {said}")
    return sorted(lines)


def _close(values):
    low, high = min(values), max(values)  # with a nan among them neither comparison is true
    return high - low <= max(ALIKE["abs"], ALIKE["rel"] * max(abs(low), abs(high)))


def report(measured: Sequence[Result]) -> list[str]:
    """What the results say together, a line each."""
    lines = []
    for id, standing in standings(measured).items():
        where = f"{_many(standing.processors, 'processor')}, torch {', '.join(sorted(standing.torches))}, " \
                f"{_many(standing.seeds, 'seed')}"
        stands = len(standing.machines) - len(standing.against)
        lines.append(f"{id} ({ledger()[id].verdict}): stands on {stands} of "
                     f"{_many(standing.machines, 'machine')}; {where}")
        lines += [f"  not on {machine}: {sentence}" for machine, sentences in sorted(standing.against.items())
                  for sentence in sentences]
    if different := differences(measured):
        lines += ["The same code, data and seed gave different numbers. (Of ResNets this is expected: they are trained "
                  "in bfloat16.)", *(f"  {line}" for line in different)]
    return lines


def _many(things, name):
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def collected(paths: Iterable[Path]) -> list[Path]:
    """Files as they are, and of folders the files that results have."""
    return [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]


def sound(files: Iterable[Path], signers: Path | None = None) -> tuple[list[Result], list[str]]:
    """(results, a sentence for every file that was left out).

    A result is left out if it is damaged, if other code than this measured it, if it is there already, or, where
    `signers` are given, if none of these signed it.
    """
    known, left_out = {}, []
    for path in files:
        try:
            content = results.content(path)
            result = results.from_json(content)
            if signers:
                signatures.verified(content, path, signers)
            if result.digest in known:
                raise ValueError("the same result is there already")
            if (code := result.unit.code_digest()) != result.code:
                raise ValueError(f"other code measured it (digest {result.code}, commit {result.commit}) than the code "
                                 f"here (digest {code})")
            known[result.digest] = result
        except (OSError, store.Damaged, ValueError, ImportError) as error:
            left_out.append(f"{os.fspath(path)!r} is left out: {error}")
    return list(known.values()), left_out


def main(arguments: list[str]) -> int:
    """`python -m lessons.kit.claims merge`: say on how many machines, processors and torch versions each verdict
    stands. It ends with 1 where one does not stand, or where machines measured different numbers."""
    parser = argparse.ArgumentParser(prog="python -m lessons.kit.claims merge", description=main.__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE",
                        help="results, or folders of them: claims/ in $WEIGHTSPACE_DATA is one")
    parser.add_argument("--signers", type=Path, metavar="FILE",
                        help="count only what one of these signed: lines 'name ssh-ed25519 …', as ssh-keygen -Y verify "
                             "takes them; a result's signature lies beside it, as FILE.sig")
    options = parser.parse_args(arguments)
    measured, left_out = sound(collected(options.files), options.signers)
    for line in left_out:
        print(line, file=sys.stderr)
    print(f"{_many(measured, 'result')} of {_many({result.machine for result in measured}, 'machine')}. "
          + ("Each is signed by one of the signers." if options.signers else
             "A digest shows damage, and not who measured."))
    for line in report(measured):
        print(line)
    stands = not any(standing.against for standing in standings(measured).values())
    return 0 if measured and stands and not differences(measured) else 1
