"""The ledger of claims: what the sources say, how the course measures it, what came out.

`lessons/<chapter>/claims.yaml` is written by hand: a chapter's claims, how each is measured, the verdict, and the
conditions that carry it. `lessons/sources.yaml` names the sources. `lessons/measured.yaml` holds the numbers measured
on the real data, and where and when they were. It is written by `make claims` (`python -m lessons.kit.claims`), as are
CLAIMS.md, an index, and docs/claims, a page for every source.

A measured claim names a module, which lists in LEDGER the experiments that measure it, each with the profiles and seeds
with which the ledger asks it.

What the ledger promises is the verdict. A rerun is judged by `confirmed`: with other networks, or another processor,
numbers may differ as long as the conditions hold.

`model` says what a claim is and reads and writes the files, `judge` measures again and compares, `page` shows, and
`__main__` is the command.
"""
from lessons.kit.claims.judge import confirmed, expected, measuring, of_ledger, remeasure, wrong
from lessons.kit.claims.model import (
    Claim,
    Condition,
    Numbers,
    Shown,
    Source,
    Verdict,
    condition,
    keep,
    ledger,
    measured,
    runs,
    sources,
)
from lessons.kit.claims.page import brief, pages, show, span, spread

__all__ = ["Claim", "Condition", "Numbers", "Shown", "Source", "Verdict", "brief", "condition", "confirmed", "expected",
           "keep", "ledger", "measured", "measuring", "of_ledger", "pages", "remeasure", "runs", "show",
           "sources", "span", "spread", "wrong"]
