"""Whether the scale of the pixels moves the peak: the permuted tasks of `peak` with standardised pixels, with these and
a lower learning rate, and with pixels that are only shifted or only made larger."""
from dataclasses import dataclass

import xarray

from lessons.cart.experiment import bell, grid, numbers, peak
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.peak import Case, Scaling
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles

MEAN, SPREAD = 0.1307, 0.3081  # of MNIST's pixels, as PyTorch's own example of MNIST standardises them
LOW = 0.01  # about `peak.LR` · SPREAD²: a step changes the first layer's outputs as without `SPREAD`
STANDARDISED = "standardised pixels"
SLOWER = "standardised pixels, lower learning rate"
CASES = {STANDARDISED: (Case(), Scaling(MEAN, SPREAD)),
         SLOWER: (Case(), Scaling(MEAN, SPREAD, LOW))}
MORE_CASES = {"pixels only shifted": (Case(), Scaling(shift=MEAN)),
              "pixels only larger": (Case(), Scaling(spread=SPREAD)),
              "5 digits, standardised pixels": (Case(digits=5, outputs=5), Scaling(MEAN, SPREAD)),
              "5 digits, standardised pixels, lower learning rate":
                  (Case(digits=5, outputs=5), Scaling(MEAN, SPREAD, LOW))}
SECONDS = {"quick": 25, "full": 90}  # rough, on 2 cores


@dataclass(frozen=True)
class Settings:
    """The cases, by what a reader calls them, and how many test images a task and part are looked at."""
    cases: dict[str, tuple[Case, Scaling]]
    images: int
    directions: tuple[int, ...] = grid.DIRECTIONS


PROFILES = Profiles(quick=Settings(CASES, images=400), full=Settings(CASES | MORE_CASES, images=1000))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Every case, as in `peak.measure`."""
    by_name = {name: peak.measured(peak.networks(case, seed, settings.images, scaling), case.width, settings.directions)
               for name, (case, scaling) in settings.cases.items()}
    return peak.joined(by_name, settings.images, [case.num_tasks for case, _ in settings.cases.values()])


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """CART-4: what `numbers.by_case` says of every case, and how high the first singular value behind the large ones
    is, as a share of the last large one."""
    by_case = numbers.by_case(sweep)
    for name in map(str, sweep.case.values):
        part = sweep.sel(case=name)
        sigma, large = part.sigma.sel(how=HOWS[1]).values, round(part.large.item())
        by_case[f"{numbers.plain(name)}_drop"] = float(sigma[large] / sigma[large - 1])
    return {"CART-4": by_case}


PIXELS = Experiment("cart-pixels", measure, PROFILES, bell.source, "MNIST", claims=claims)
run = PIXELS.run
LEDGER = (PIXELS,)
