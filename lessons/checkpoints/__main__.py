"""python -m lessons.checkpoints fetch b32: download the checkpoints of a set; `list b32` says what is here."""
import argparse
import sys

from data import store
from lessons.checkpoints import fetching, known
from lessons.checkpoints.opening import CheckpointError


def main(arguments=None) -> int:
    """Fetch a set or list it; 0, or 1 where a file is not to be had."""
    parser = argparse.ArgumentParser(prog="python -m lessons.checkpoints", description=__doc__)
    parser.add_argument("what", choices=("fetch", "list"))
    parser.add_argument("set", choices=sorted(known.SETS))
    asked = parser.parse_args(arguments)
    problems = 0
    for remote in known.SETS[asked.set]:
        try:
            if asked.what == "fetch":
                fetching.fetch(remote)
            elif fetching.here(remote):
                fetching.checked(remote)
            print(f"{remote.name}/{remote.file}: {fetching.status(remote)}")
        except (store.Unavailable, store.StoreError, CheckpointError) as error:
            problems += 1
            print(f"{remote.name}/{remote.file}: {error}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
