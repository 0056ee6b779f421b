"""What did the class think? Run the exercises of handed-in notebooks, and say how many passed each and which mistakes
were made.

python -m lessons.kit.collect FOLDER
python -m lessons.kit.collect FOLDER --html class.html --csv class.csv --nbgrader grades.csv

FOLDER holds the notebooks (.ipynb), in any folders. The first folder on the way to a file is taken for the student's
name, or the file's own name where it is in none. Of each notebook only the answers to exercises are run, with the
imports of the course's own notebook, and with the imports, functions and constants of the learner's cells before.
Experiments are not run.

An answer is run in a process of its own that has given up all rights: it can write no file, read none but Python's own,
open no connection, start no process, and stop no other. Its time and memory are limited. This needs Linux on x86-64 or
ARM64; elsewhere nothing is run. The command says which layers of protection it found. A learner who calls or copies the
course's own solution passes, as in the notebook.
"""
import argparse
import io
import sys
from pathlib import Path

from tqdm import tqdm

from data import store
from lessons.kit.collect import tables
from lessons.kit.collect.marking import MEMORY, SECONDS, collect
from lessons.kit.collect.nursery import Broken, Unprotected

# option: what writes it, how its files begin, and how their names end
_FILES = {"html": (tables.page, tables.PAGE_BEGINS, ".html"),
          "csv": (tables.as_csv, tables.as_csv([]).encode(), ".csv"),
          "nbgrader": (tables.as_nbgrader, tables.as_nbgrader([]).encode(), ".csv")}


def main(arguments: list[str] | None = None) -> int:
    """Collect, and write the tables; 0, or 1 where this machine cannot run other people's code in safety. A command
    that makes no sense ends the program with 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not know every letter
    parser = _parser()
    options = parser.parse_args(arguments)
    if Path.cwd().resolve().is_relative_to(options.folder.resolve()):
        parser.error("start this in the course's own folder: Python looks for modules where it is started, so a file "
                     "among the submissions could be run as one")
    written = {name: path for name in _FILES if (path := getattr(options, name))}
    for name, path in written.items():
        if problem := _wrong_with(path, name):
            parser.error(f"--{name}: {problem}")
    bar = tqdm(unit=" notebooks", disable=options.quiet, leave=False)
    try:
        rows = collect(options.folder, options.seconds, options.memory * 1_000_000, options.at_once,
                       lambda layers: bar.write(f"Protected by {', '.join(layers)}.\n"),
                       lambda done, total: _shown(bar, done, total))
    except ValueError as error:
        parser.error(tables.printable(str(error)))
    except (Unprotected, Broken) as error:
        print(tables.printable(str(error)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; nothing was written.", file=sys.stderr)
        return 130
    finally:
        bar.close()
    print(tables.text(rows))
    for name, path in written.items():
        _write(path, _FILES[name][0](rows))
        print(f"Written: {tables.printable(str(path))}")
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="python -m lessons.kit.collect", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="where the notebooks lie")
    parser.add_argument("--html", metavar="FILE.html", type=Path, help="write the tables as a web page")
    parser.add_argument("--csv", metavar="FILE.csv", type=Path, help="write a line for every answer")
    parser.add_argument("--nbgrader", metavar="FILE.csv", type=Path,
                        help="write a line for every student and notebook, in the columns of `nbgrader export`")
    parser.add_argument("--seconds", type=_positive, default=SECONDS,
                        help=f"of computing that an answer has ({SECONDS} if left out)")
    parser.add_argument("--memory", metavar="MB", type=_positive, default=MEMORY // 1_000_000,
                        help=f"that an answer may use ({MEMORY // 1_000_000} if left out)")
    parser.add_argument("--at-once", metavar="N", type=_positive,
                        help="so many notebooks at the same time (as many as there are cores if left out)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def _positive(text):
    if not text.isdecimal() or not 0 < int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"write a whole number from 1 to 1,000,000, not {text!r}")
    return int(text)


def _wrong_with(path, name):
    """Why no table can be written there, or "". A file that is no such table is somebody's own."""
    _, begins, ending = _FILES[name]
    if path.suffix != ending:
        return f"the name should end in {ending}, but it is {path.name!r}"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}; make it first"
    if path.is_file():
        with path.open("rb") as file:
            return "" if file.read(len(begins)) == begins else (
                f"{path} is there already, and this command did not write it; name another file")
    return f"{path} is there already, and is no file" if path.exists() else ""


def _shown(bar, done, total):
    bar.total, bar.n = total, done
    bar.refresh()


def _write(path, text):
    with store.atomic(path) as part:
        part.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
