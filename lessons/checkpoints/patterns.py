"""Patterns of module names that came in a file, matched so that no pattern can hang the program that reads it.

A regular expression such as `(a+)+$x` takes exponential time, and Python cannot stop a match that has begun. So any
pattern that is more than a plain name is matched in a second process, which is stopped when its time is over. That
process runs this file, so the file imports nothing but the standard library.
"""
import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence

SECONDS = 10.0  # for all patterns of a file together; those that people write take milliseconds
SMALL = 100_000_000  # letters of all patterns times letters of all names: what is matched here without a second process
_PLAIN = re.compile(r"\^?(?:[\w.-]|\\\.)*\$?")  # no repetition and no choice: matching takes linear time


def first_matches(patterns: Sequence[str], names: Sequence[str]) -> list[int | None]:
    """Which pattern applies to each name, by PEFT's rule: the first one that matches the name's end, from a dot on.

    Args:
        patterns: regular expressions, in the order of the file.
        names: of modules.

    Returns:
        For every name the number of its pattern, from 0 on, or None where none matches.

    Raises:
        ValueError: a pattern is not a regular expression, or matching takes longer than `SECONDS`. Names the pattern.
    """
    hard = [pattern for pattern in patterns if not _PLAIN.fullmatch(pattern)]
    if not hard and sum(map(len, patterns)) * sum(map(len, names)) <= SMALL:
        return _matched(patterns, names)
    try:
        done = subprocess.run([sys.executable, "-I", "-S", __file__], input=json.dumps([patterns, names]),
                              capture_output=True, text=True, encoding="utf-8", timeout=SECONDS, check=False)
        matches, error = json.loads(done.stdout)
    except subprocess.TimeoutExpired as late:
        which = ", ".join(repr(pattern[:60]) for pattern in (hard or patterns)[:3])
        raise ValueError(f"the search for module names that match {which} has not ended after {SECONDS:g} seconds. "
                         "Write the modules' names out in the pattern's place") from late
    except (OSError, ValueError) as broken:
        raise ValueError(f"its patterns are matched in a second Python process, which failed ({broken})") from broken
    if error:
        raise ValueError(error)
    return matches


def _matched(patterns, names):
    compiled = []
    for pattern in patterns:
        try:
            compiled.append(re.compile(rf"(.*\.)?({pattern})"))
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"{pattern[:60]!r} is no regular expression: {error}") from error
    return [next((place for place, expression in enumerate(compiled) if expression.fullmatch(name)), None)
            for name in names]


if __name__ == "__main__":
    if hasattr(signal, "alarm"):
        signal.alarm(60)  # nothing else would stop it if the process that started it is gone
    try:
        answer = [_matched(*json.load(sys.stdin)), ""]
    except ValueError as problem:
        answer = [None, str(problem)]
    print(json.dumps(answer))
