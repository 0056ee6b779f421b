"""`python -m lessons.kit.claims`: measure the claims again."""
import argparse
import sys

from lessons.kit import archive
from lessons.kit.claims import judge, merge, model, page, running
from lessons.kit.page import digits

SEEDS = "10-29"  # that no bound was set on


def main(arguments=None) -> int:
    """`python -m lessons.kit.claims`: measure again, write measured.yaml after every seed, and CLAIMS.md with the pages
    in docs/claims. `python -m lessons.kit.claims spread --help` and `… merge --help` say what these two do."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    commands = {"merge": merge.main, "spread": spread}
    if arguments[:1] and arguments[0] in commands:
        return commands[arguments[0]](arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m lessons.kit.claims", description=main.__doc__)
    _which(parser)
    parser.add_argument("--page", action="store_true", help="write the pages from the numbers that are there")
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
        commit = archive.committed()["commit"] if asked else ""
    except ValueError as error:
        parser.error(str(error))
    status = running.measure(running.units_of(asked, options.seeds), options.cluster, commit)
    page.write()
    for line in [] if options.page else archive.changed():
        print(line, file=sys.stderr)
    return status


def _which(parser):
    """The options that say what is measured, and where."""
    parser.add_argument("--only", action="append", metavar="MODULE",
                        help="measure the claims of this module, or of those inside it, and keep the other numbers")
    parser.add_argument("--experiment", metavar="NAME", help="of these the experiment with this name alone")
    parser.add_argument("--cluster", metavar="ADDRESS",
                        help="measure on a Dask cluster, tcp://host:port or tls://host:port, what is not measured yet")


def spread(arguments) -> int:
    """`python -m lessons.kit.claims spread`: measure seeds that no bound was set on, write them to lessons/spread.yaml
    after every seed, and the pages, which then say how they fared. What was measured before, with this code and these
    data, is not measured again."""
    parser = argparse.ArgumentParser(prog="python -m lessons.kit.claims spread", description=spread.__doc__)
    _which(parser)
    parser.add_argument("--seeds", nargs="+", default=[SEEDS], metavar="SEED",
                        help="seeds and ranges of seeds (default: %(default)s)")
    parser.add_argument("--profile", help="of the ledger's profiles this one alone, such as quick")
    parser.add_argument("--long", action="store_true", help="also what takes more than a quarter of an hour a seed")
    parser.add_argument("--list", action="store_true", help="say what would be measured, and measure nothing")
    options = parser.parse_args(arguments)
    try:
        experiments = [(module, experiment) for module, experiment in _chosen(options.only, options.experiment)
                       if options.long or not experiment.long]
        seeds = _numbers(options.seeds)
        todo = [unit for unit in running.units_of(experiments, seeds, others=True)
                if options.profile in (None, unit.profile)]
        if clash := sorted(set(todo).intersection(running.units_of(experiments))):
            raise ValueError(f"the ledger's bounds were set with {clash[0]}; choose seeds that it does not have")
        commit = "" if options.list else archive.committed()["commit"]
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        print("\n".join(map(str, todo)))
        return 0
    status = running.measure(todo, options.cluster, commit, model.SPREAD, again=False)
    page.write()
    return status


def _numbers(texts):
    """Whole numbers of texts such as "3" and "10-29".

    Raises:
        ValueError: one is neither a number nor a range.
    """
    numbers = []
    for text in texts:
        first, _, last = text.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()) or int(last or first) < int(first):
            raise ValueError(f"{text!r} is no seed and no range of seeds, such as 10-29")
        numbers += range(int(first), int(last or first) + 1)
    return list(dict.fromkeys(numbers))


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
