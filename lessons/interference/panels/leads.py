"""How far CART is ahead of the other methods of Table 1, over the seeds of the ledger."""
from collections.abc import Mapping

import numpy as np

from lessons.interference.experiment import IN_THE_LEDGER, results
from lessons.interference.experiment.searches import CLAIMED
from lessons.interference.panels.comparison import SUITES
from lessons.interference.panels.methods import inside, title_of
from lessons.kit import claims, page, plotting
from lessons.kit.page import Page, said
from lessons.kit.plotting import BLACK, BLUE, GREY, PURPLE, RED, Look

RIVALS = CLAIMED[1:]
AHEAD, BEHIND, NOISE = "ahead of", "behind", "within the noise of"
_LOOKS = dict(zip(RIVALS, (Look(PURPLE, "s"), Look(BLUE, "o"), Look(RED, "^"), Look(BLACK, "D"))))
Leads = dict[str, dict[str, tuple[float, float]]]


def leads() -> Leads:
    """{suite: {rival: CART's mean lead over seeds, half of its 95 % interval}}, of what the ledger has with two seeds
    or more."""
    numbers = claims.measured().get("CART-8", {})
    table: Leads = {}
    for suite in SUITES:
        over = {rival: numbers.get(f"{IN_THE_LEDGER[suite]}: cart over {rival}", []) for rival in RIVALS}
        if all(len(values) > 1 for values in over.values()):
            table[suite] = {rival: (float(np.mean(values)), float(results.interval(np.array(values))))
                            for rival, values in over.items()}
    return table


def verdict(mean: float, half: float) -> str:
    """AHEAD, BEHIND or NOISE, by an interval."""
    return NOISE if abs(mean) <= half else AHEAD if mean > 0 else BEHIND


@plotting.themed
def over_seeds():
    """CART's lead over each of the other methods of Table 1, a row a suite and a mark a rival, with 95 % intervals over
    the ledger's seeds."""
    table = leads()
    if not table:
        return page.reading("CART’s lead", "The ledger has no numbers yet.")
    fig, ax = plotting.figure(height=0.75 * len(table) + 1.3)
    rows = {suite: len(table) - 1 - place for place, suite in enumerate(table)}
    for place, (rival, look) in enumerate(_LOOKS.items()):
        means, halves = 100 * np.array([table[suite][rival] for suite in table]).T
        ax.errorbar(means, [row + 0.27 - 0.18 * place for row in rows.values()], xerr=halves, color=look.colour,
                    marker=look.marker, linestyle="", markersize=6, label=f"over {_named(rival)}")
    ax.axvline(0, color=GREY, marker="")
    ax.set_yticks(list(rows.values()), [SUITES[suite] for suite in rows])
    ax.set(xlabel="CART’s lead, in points of normalised accuracy (left of the line it is behind)",
           ylim=(-0.6, len(rows) - 0.4))
    fig.legend(loc="outside upper left", ncols=len(RIVALS))
    told = "; ".join(f"{SUITES[suite]}: " + ", ".join(f"over {title_of(rival)} {100 * mean:+.1f} ± {100 * half:.1f}"
                                                      for rival, (mean, half) in over.items())
                     for suite, over in table.items())
    return plotting.show(fig, f"CART’s lead in points. {told}.",
                         "Mean over ten seeds (three on CIFAR-100) on the real data, profile full, settings chosen on "
                         "held-out images; on CIFAR-100 every method has a short grid of its own. Bars: 95 % intervals "
                         "over seeds.")


def reading() -> Page:
    """Of which methods CART is ahead, on which suite, by the ledger's intervals."""
    return reading_of(leads())


def reading_of(table: Mapping[str, Mapping[str, tuple[float, float]]]) -> Page:
    """`reading`, of a table as `leads` gives it."""
    if not table:
        return page.reading("CART’s lead", "The ledger has no numbers yet.")
    verdicts = {suite: {rival: verdict(*lead) for rival, lead in over.items()} for suite, over in table.items()}
    suites_of: dict[str, list[str]] = {}  # of a sentence
    for suite, of_rivals in verdicts.items():
        suites_of.setdefault(_against(of_rivals), []).append(SUITES[suite].replace(", ", " with "))
    text = " ".join(said("On {suites}, CART was {against}.", suites=_listed(suites), against=against)
                    for against, suites in suites_of.items())
    return page.reading(finding(verdicts), "{text}", text=text)


def finding(verdicts: Mapping[str, Mapping[str, str]]) -> str:
    """Whether CART is ahead of all others on all suites, on some or on none."""
    first = [all(told == AHEAD for told in of_rivals.values()) for of_rivals in verdicts.values()]
    if all(first):
        return "CART was ahead of every method of Table 1 on all suites"
    return "Whether CART was first depended on the tasks" if any(first) else "CART was first on no suite"


def _against(of_rivals):
    """Whom it is ahead of, whom behind, and of whom it is within the noise, in words."""
    if len(set(of_rivals.values())) == 1:
        return f"{next(iter(of_rivals.values()))} all four"
    names = {told: [_named(rival) for rival, of_rival in of_rivals.items() if of_rival == told]
             for told in (AHEAD, BEHIND, NOISE)}
    return _listed([f"{told} {_listed(rivals)}" for told, rivals in names.items() if rivals])


def _named(method):
    """A method in a sentence."""
    return "the average" if method == "average" else inside(method)


def _listed(names):
    """Names in a sentence: A, B and C."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
