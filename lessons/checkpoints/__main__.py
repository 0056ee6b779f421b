"""Checkpoints on the command line: look at models, merge them, or fetch published ones.

python -m lessons.checkpoints look BASE MODEL…
python -m lessons.checkpoints merge METHOD BASE MODEL… --out FOLDER
python -m lessons.checkpoints fetch b32

A model is a safetensors file or a folder in Hugging Face's layout; a folder with a LoRA adapter is put beside the base.
"""
import argparse
import contextlib
import io
import os
import sys
import warnings

import numpy as np

from data import store
from lessons.checkpoints import fetching, folders, known, looking, naming, writing
from lessons.checkpoints.adapters import Adapted
from lessons.checkpoints.adapters import opened as opened_adapter
from lessons.checkpoints.opening import CheckpointError
from lessons.checkpoints.together import Without
from lessons.merging import Needs, methods

PARAMETER = "parameter "  # what the names of a method's parameters begin with among the parsed arguments
PROBLEMS = (CheckpointError, ValueError, store.StoreError, store.Unavailable)


def main(arguments: list[str] | None = None) -> int:
    """Look, merge or fetch; 0, or 1 where something is not available or cannot be done. A command that makes no sense
    ends the program with 2.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not know every letter
    parsed, unknown = _parser().parse_known_args(arguments)
    if unknown:
        first = next((text for text in unknown if text.startswith("-")), unknown[0])
        options = ", ".join(text for action in parsed.parser._actions for text in action.option_strings[:1])
        parsed.parser.error(f"{first!r} is not known here; there are {options}")
    try:
        return parsed.run(parsed)
    except PROBLEMS as error:
        _say(str(error), sys.stderr)
        return 1
    except OSError as error:  # a name that no file can have, for one
        _say(f"{error.filename} cannot be used: {error.strerror or error}.", sys.stderr)
        return 1
    except KeyboardInterrupt:
        _say("Interrupted; nothing half-written is left.", sys.stderr)
        return 130


def _say(text, stream=None):
    """Print what may hold names from files; what would control the terminal is spelled out."""
    shown = "".join(letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text)
    print(shown, file=stream or sys.stdout)


# -- what can be asked -------------------------------------------------------------------------------------------------

def _parser():
    parser = argparse.ArgumentParser(prog="python -m lessons.checkpoints", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="look|merge|fetch")
    look = commands.add_parser("look", help="what task vectors are like", allow_abbrev=False)
    _add_models(look)
    look.add_argument("--layers", action="store_true", help="a line for every tensor too")
    look.add_argument("--spectra", action="store_true", help="singular values too, which takes much longer")
    look.set_defaults(parser=look, run=_look)
    merge = commands.add_parser("merge", help="merge models into a new folder", allow_abbrev=False, epilog=_elsewhere())
    of_method = merge.add_subparsers(dest="method", required=True, metavar="METHOD", title="methods",
                                     description="`merge METHOD --help` says what parameters a method has")
    for name, method in _offered().items():
        _add_merge(of_method.add_parser(name, help=_plain(f"{method.title}: {method.says}"), allow_abbrev=False,
                                        description=_plain(f"{method.title} ({method.source}). {method.says}")), method)
    fetch = commands.add_parser("fetch", help="download the checkpoints of a set", allow_abbrev=False)
    fetch.add_argument("set", choices=sorted(known.SETS))
    fetch.add_argument("--list", action="store_true", help="say what is here, and fetch nothing")
    fetch.set_defaults(parser=fetch, run=_fetch)
    return parser


def _offered():
    """Methods that need weights alone and give one model."""
    return {name: method for name, method in methods().items() if method.needs == (Needs.WEIGHTS,)}


def _elsewhere():
    others = [name for name in methods() if name not in _offered()]
    return (f"{', '.join(others)} need inputs, or give one model a task and store something for each: call "
            "lessons.merging.merge in Python.")


def _plain(text):
    return text.replace("%", "%%")  # argparse fills in what stands behind one


def _add_models(parser):
    parser.add_argument("base", metavar="BASE", help="the model that all were finetuned from")
    parser.add_argument("models", metavar="MODEL", nargs="+", help="a finetuned model, or an adapter's folder")
    parser.add_argument("--names", metavar="A,B,…", type=_list, default=(),
                        help="of the models; left out, their folders'")
    parser.add_argument("--without", metavar="START", action="append", default=[],
                        help="leave out the keys that begin so, a head for one: \"classifier.\"; may be repeated")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _add_merge(parser, method):
    _add_models(parser)
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the merged model goes; a new folder")
    parser.add_argument("--weights", metavar="X,Y,…", type=_numbers,
                        help="a number a model, by which its task vector is multiplied; of "
                             f"{' and '.join(writing.MEANS)} they are divided by their mean")
    parser.add_argument("--dtype", choices=writing.OUTPUT, help="of the merged model; left out, the models'")
    parser.add_argument("--shard-size", metavar="SIZE", help="the most bytes of a file: 5GB, 500MB; left out, one file")
    group = parser.add_argument_group("parameters of the method")
    for parameter in method.parameters:
        name, kind = parameter.name, parameter.kind.__name__
        allowed = "|".join(map(repr, parameter.choices)) if parameter.choices else f"{kind}, {parameter.range}"
        group.add_argument(f"--{name.replace('_', '-')}", dest=PARAMETER + name, type=_reader(parameter),
                           default=argparse.SUPPRESS, metavar=name.upper(),
                           help=_plain(f"{parameter.says} ({allowed}; {parameter.default!r} if left out)"))
    parser.set_defaults(parser=parser, run=_merge)


def _reader(parameter):
    def read(text):
        value = text
        if parameter.kind in (int, float):
            with contextlib.suppress(ValueError):  # `check` says what is allowed
                value = parameter.kind(text)
        try:
            return parameter.check(value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return read


def _list(text):
    return [part.strip() for part in text.split(",")]


def _numbers(text):
    try:
        return [float(part) for part in _list(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"weights are numbers with commas between them, 0.7,0.3 for one, not {text!r}"
                                         ) from error


# -- doing it ----------------------------------------------------------------------------------------------------------

def _opened(parsed):
    """(base, finetuned) without the keys that are left out."""
    base = folders.opened(parsed.base)
    models = [base, *(_one(base, path) for path in parsed.models)]
    for start in parsed.without:
        if not any(key.startswith(start) for state in models for key in state):
            raise CheckpointError(f"no key begins with {start!r}: the first are {', '.join(list(base)[:5])}")
    if parsed.without:
        models = [Without(state, *parsed.without) for state in models]
    return models[0], models[1:]


def _one(base, path):
    folder = folders.of_home(path)
    alone = os.path.isfile(folder / folders.ADAPTER) and not any(os.path.exists(folder / name)
                                                                 for name in folders.WEIGHTS)
    return Adapted(base, opened_adapter(folder)) if alone else folders.opened(path)


def _merge(parsed):
    base, finetuned = _opened(parsed)
    parameters = {name.removeprefix(PARAMETER): value for name, value in vars(parsed).items()
                  if name.startswith(PARAMETER)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        folder = writing.merge(parsed.out, parsed.method, base, finetuned, parsed.names, weights=parsed.weights,
                               dtype=parsed.dtype, shard_size=parsed.shard_size, progress=not parsed.quiet,
                               **parameters)
    for warning in caught:
        _say(f"warning: {warning.message}", sys.stderr)
    for path in sorted(folder.iterdir()):
        _say(f"{path}: {path.stat().st_size:,} bytes")
    return 0


def _look(parsed):
    base, finetuned = _opened(parsed)
    looked = looking.look(base, finetuned, parsed.names, spectra=parsed.spectra, progress=not parsed.quiet)
    totals, tasks = looking.overall(looked), [str(task) for task in looked.task.values]
    _say(f"{len(tasks)} models of {naming.parameters(base):,} numbers beside {naming.name_of(base)}")
    rows = [["model", "‖τ‖", "‖τ‖/‖θ₀‖", "cosine with θ₀", *(f"cosine with {task}" for task in tasks)]]
    for task in tasks:
        of_task = totals.sel(task=task)
        numbers = (of_task.norm, of_task.relative, looked.parent.sel(task=task), *of_task.cosine)
        rows.append([task, *(f"{float(number):.4g}" for number in numbers)])
    share = float((looked.disagree * looked["size"]).sum() / looked["size"].sum())
    _say(f"{_columns(rows)}\nEntries that some task pushes up and another down: {share:.1%}")
    if parsed.spectra:
        energy = looked.energy.mean(("layer", "task"))
        _say("Share of ‖τ‖² in the strongest directions, mean over matrices: " + ", ".join(
            f"{float(share):.0%} at rank {ratio:.0%}" for ratio, share in zip(energy.ratio.values, energy.values)))
    if parsed.layers:
        _say(_columns([["tensor", *(f"‖τ‖/‖θ₀‖ of {task}" for task in tasks)], *_of_layers(looked)]))
    for note in looked.attrs["notes"]:
        _say(f"note: {note}")
    return 0


def _of_layers(looked):
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = looked.norm.values / looked.base_norm.values[:, None]
    return [[str(layer), *(f"{value:.4g}" for value in row)] for layer, row in zip(looked.layer.values, relative)]


def _columns(rows):
    """A table in letters of one width; names are on the left, numbers on the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    cells = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows]
    return "\n".join(map("  ".join, cells))


def _fetch(parsed):
    problems = 0
    for remote in known.SETS[parsed.set]:
        try:
            if not parsed.list:
                fetching.fetch(remote)
            elif fetching.here(remote):
                fetching.checked(remote)
            _say(f"{remote.name}/{remote.file}: {fetching.status(remote)}")
        except PROBLEMS as error:
            problems += 1
            _say(f"{remote.name}/{remote.file}: {error}", sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
