"""What the pictures of chapter 8 say, beside what was measured."""
import re

from lessons.cart.experiment import bell, peak, several
from lessons.cart.experiment.grid import HOWS
from lessons.cart.panels.bell import levels_of
from lessons.cart.panels.overlap import permutations_of
from lessons.cart.panels.parts import together


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    levels, cart, centring, *_ = said
    part = list(permutations_of(bell.run("quick", 0)).values())[-2]
    assert f"average {levels_of(part)['average']:.3f}, pretrained" in levels
    cases = together(peak.run("quick", 0), several.run("quick", 0))
    for told in (cart, centring):
        case, head = re.search(r"\. ([^.]*?), (output layer [^.]*)\. With", told).groups()
        case = next(name for name in cases.case.values if name.lower() == case.lower())
        accuracy = cases.accuracy.sel(case=case, head=head).isel(rank=-2)
        centred, plain = (float(accuracy.sel(how=how)) for how in HOWS)
        assert f"CART has {centred:.3f} ±" in told and f"truncation without centring {plain:.3f}." in told
