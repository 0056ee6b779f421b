"""`python -m lessons.kit.claims`: measure the claims again."""
import argparse
import sys

from lessons.kit import archive
from lessons.kit.claims import judge, model, page
from lessons.kit.page import digits


def main(arguments=None) -> int:
    """`python -m lessons.kit.claims`: measure again, write measured.yaml after every seed, and CLAIMS.md with the pages
    in docs/claims."""
    parser = argparse.ArgumentParser(prog="python -m lessons.kit.claims", description=main.__doc__)
    parser.add_argument("--page", action="store_true", help="write the pages from the numbers that are there")
    parser.add_argument("--only", action="append", metavar="MODULE",
                        help="measure the claims of this module, or of those inside it, and keep the other numbers")
    parser.add_argument("--experiment", metavar="NAME", help="of these the experiment with this name alone")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="SEED",
                        help="measure these seeds alone and keep those of others")
    parser.add_argument("--unseen", nargs="+", type=int, metavar="SEED",
                        help="measure these seeds, write nothing, and say which conditions they do not confirm")
    parser.add_argument("--long", action="store_true",
                        help="with --unseen: also what takes more than a quarter of an hour a seed")
    options = parser.parse_args(arguments)
    try:
        asked = [] if options.page else _chosen(options.only, options.experiment)
        if options.unseen:
            return _try_unseen(asked, options.unseen, options.long)
        circumstances = archive.committed() if asked else {}
    except ValueError as error:
        parser.error(str(error))
    for module, experiment in asked:
        for profile, seed in _asked(experiment, options.seeds):
            numbers = judge.remeasure(experiment, profile, seed)
            model.keep(module, experiment.name, profile, seed, numbers, circumstances)
            for doubt in judge.confirmed(numbers):
                print(f"seed {seed}: {doubt}", file=sys.stderr)
    page.write()
    for line in [] if options.page else archive.changed():
        print(line, file=sys.stderr)
    return 0


def _chosen(names, experiment):
    """[(module, experiment)] of the ledger: all of them, or those of the named modules and packages.

    Raises:
        ValueError: no module that measures claims has such a name, or none of them such an experiment.
    """
    modules = judge.measuring()
    for name in names or []:
        if not any(_lies_in(module, name) for module in modules):
            raise ValueError(f"{name} measures no claim. These modules do: {', '.join(modules)}")
    of_modules = [(module, one) for module in modules for one in judge.of_ledger(module)
                  if names is None or any(_lies_in(module, name) for name in names)]
    chosen = [(module, one) for module, one in of_modules if experiment in (None, one.name)]
    if not chosen:
        raise ValueError(f"there is no experiment {experiment!r}. "
                         f"There are: {', '.join(one.name for _, one in of_modules)}")
    return chosen


def _lies_in(module, name):
    return module == name or module.startswith(f"{name}.")


def _asked(experiment, seeds):
    """(profile, seed) with which the ledger asks an experiment; where seeds are given, these alone."""
    for profile, of_profile in experiment.ledger.items():
        for seed in of_profile:
            if seeds is None or seed in seeds:
                yield profile, seed


def _try_unseen(chosen, seeds, long):
    """Measure seeds that no bound was set on, in the profiles of the ledger, and say how many conditions hold."""
    wanted = [one for _, one in chosen if long or not one.long]
    left_out = [one.name for _, one in chosen if one not in wanted]
    held = failed = 0
    for experiment in wanted:
        for profile in experiment.ledger:
            for seed in seeds:
                wrong, tried = judge.wrong(judge.remeasure(experiment, profile, seed))
                held += tried - len(wrong)
                failed += len(wrong)
                for id, condition, value in wrong:
                    print(f"seed {seed}: {id} {condition.number} is {digits(value)}, "
                          f"the verdict needs {condition.bounds}")
    if left_out:
        print(f"Not tried, because one seed takes more than a quarter of an hour: {', '.join(left_out)}. "
              "Add --long to try these too.")
    if held + failed:
        print(f"{held} of {held + failed} conditions hold")
    else:
        print("No condition was tried.")
    return 0 if held + failed else 1


if __name__ == "__main__":
    sys.exit(main())
