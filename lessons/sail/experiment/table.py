"""The table (SAIL, Table 2): six ways to begin, at the same number of steps, each with its own learning rate, in
set-ups that differ in what the parents have in common."""
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
import xarray

from lessons.averaging.algorithms import greedy_soup
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import names
from lessons.merging import search
from lessons.sail.algorithms import distances, mixing
from lessons.sail.experiment import digits
from toy_models import Architecture, Recipe, abreast, growth, race, zoo
from toy_models.weights import State

SMALL = Architecture.of("MLP", widths=(196, 50, 10))
ONE, TWO, MATCHED, RUN, GROWN = "one start", "own starts", "matched", "one run", "grown"
SCRATCH, BEST, UNIFORM, GREEDY = "scratch", "best parent", "uniform soup", "greedy soup"
SAIL, SEARCHED, LIGO = "SAIL, γ by MMD", "γ searched", "LiGO-like"
STARTS = (SCRATCH, BEST, UNIFORM, GREEDY, SAIL, SEARCHED, LIGO)
MAP_STEPS, MAP_LR = 100, 0.02  # of LiGO-like maps
SAMPLES = 1000  # for MMD
FROM, TRAIN, HELD = 15_000, 4000, 1000  # the target's images


@dataclass(frozen=True)
class SetUp:
    """What the parents are and what the target is.

    Attributes:
        name: what readers call it.
        parents: options of "small_mnist", a dict a parent.
        target: options of the target's images, training and test alike.
        common: what the parents have in common.
        few: how many labelled images the target has, if few.
        epochs: of the parents' training, in units of `digits.EPOCHS`.
    """
    name: str
    parents: tuple[dict, ...]
    target: dict = field(default_factory=dict)
    common: str = ONE
    few: int = 0
    epochs: int = 1

    def __hash__(self):
        return hash(self.name)

    @property
    def data(self) -> str:
        """The same for set-ups that differ in nothing but what their parents have in common."""
        return repr((self.parents, self.target, self.few, self.epochs))

    def images(self, part: str) -> tuple[torch.Tensor, torch.Tensor]:
        """The target's "train", "held" or "test" images."""
        if part == "test":
            return digits.tested(self.target)
        begin = 0 if "third" in self.target else FROM
        first, size = (begin, self.few or TRAIN) if part == "train" else (begin + TRAIN, HELD)
        return digits.images({**self.target, "first": first, "size": size})


_TURNED = tuple({"angle": angle, "first": digits.IMAGES * i, "size": digits.IMAGES}
                for i, angle in enumerate((-45.0, 0.0, 45.0)))
_THIRDS = tuple({"third": third, "size": digits.IMAGES} for third in ("dark", "middle"))
_HALVES = tuple({"classes": classes, "size": digits.IMAGES} for classes in ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)))
_FASHION = tuple({"of": "fashion_mnist", "third": third, **digits.FEWER} for third in ("dark", "bright"))
NEAR = SetUp("turned, one start", _TURNED, {"angle": 20.0})
FAR = SetUp("turned, farther off", _TURNED, {"angle": 75.0})
BRIGHT = SetUp("thirds by brightness", _THIRDS, {"third": "bright"})
STRANGERS = SetUp("turned, own starts", _TURNED, {"angle": 20.0}, TWO)
ALIGNED = SetUp("turned, own starts, matched", _TURNED, {"angle": 20.0}, MATCHED)
BIGGER = SetUp("turned, grown from 50 units", _TURNED, {"angle": 20.0}, GROWN)
OTHER = SetUp("from Fashion-MNIST", _FASHION, epochs=3)
HALVES = SetUp("digits 0–4 and 5–9", _HALVES)
ONE_RUN = SetUp("checkpoints of one run", ({"size": digits.IMAGES},) * 3, common=RUN)
FEW = SetUp("turned, 50 labelled images", _TURNED, {"angle": 20.0}, few=50)
SET_UPS = (NEAR, STRANGERS, ALIGNED, BIGGER, OTHER, HALVES, BRIGHT, FAR, ONE_RUN, FEW)


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    set_ups: tuple[SetUp, ...]
    rates: tuple[float, ...]  # learning rates that every start is tried with
    steps: tuple[int, ...]  # after which it is looked at


PROFILES = Profiles(quick=Settings((NEAR, STRANGERS, ALIGNED, BIGGER, OTHER, HALVES), (0.1, 0.6), (0, 50, 100, 200)),
                    full=Settings(SET_UPS, (0.05, 0.1, 0.2, 0.4, 0.8, 1.2), (0, 25, 50, 100, 150, 200, 300, 400)))


# -- parents ---------------------------------------------------------------------------------------

def recipes_of(set_up: SetUp, seed: int = 0) -> list[Recipe]:
    """The parents; as they are trained, before they are matched or grown."""
    architecture = SMALL if set_up.common == GROWN else digits.ARCHITECTURE
    recipes = []
    for number, options in enumerate(set_up.parents):
        own_seed = seed + digits.SECOND * number if set_up.common in (TWO, MATCHED) else seed
        epochs = digits.EPOCHS - 2 + number if set_up.common == RUN else set_up.epochs * digits.EPOCHS
        recipes.append(digits.recipe(options, own_seed, epochs=epochs, architecture=architecture))
    return recipes


def all_recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network that the zoo keeps."""
    return [recipe for set_up in settings.set_ups for recipe in recipes_of(set_up, seed)]


def parents_of(set_up: SetUp, seed: int = 0, device: str = "auto") -> list[State]:
    """The parents as they can be mixed: of the target's width, matched to the first where that is the set-up."""
    states = [network.state_dict() for network in zoo.get_all(recipes_of(set_up, seed), device)]
    if set_up.common == MATCHED:
        states = [states[0], *(digits.matched(states[0], state) for state in states[1:])]
    if set_up.common == GROWN:
        width = digits.WIDTHS[1]
        states = [growth.widen(state, {"layer 1": width}, "Net2Wider", shares="drawn", seed=seed) for state in states]
    return states


# -- starts ----------------------------------------------------------------------------------------

def starts_of(set_up: SetUp, seed: int = 0, device: str = "auto",
              known: dict | None = None) -> tuple[dict[str, State], dict[str, np.ndarray]]:
    """{name: a network to begin from}, and {name: the parents' shares} of those that are mixed.

    Args:
        known: what set-ups with the same data share, filled here: it is made once.
    """
    known = {} if known is None else known
    parents = parents_of(set_up, seed, device)
    held = set_up.images("held")
    loss, accuracy = (values.numpy() for values in abreast.scores(abreast.stacked(parents), *held))
    count = len(parents)

    def accuracy_of(chosen):
        mixed = mixing.proximal([parents[i] for i in chosen], [1 / len(chosen)] * len(chosen))
        return abreast.scores(abreast.stacked([mixed]), *held)[1].item()

    taken = greedy_soup(list(accuracy), accuracy_of)
    shares = {BEST: np.eye(count)[loss.argmin()], UNIFORM: np.full(count, 1 / count),
              GREEDY: np.array([(i in taken) / len(taken) for i in range(count)]),
              SAIL: _once(known, by_mmd, set_up), SEARCHED: searched(parents, held)}
    random, = digits.random_states(seed, 1)
    states = {SCRATCH: random}
    states |= {name: mixing.proximal(parents, share) for name, share in shares.items()}
    states[LIGO] = _once(known, ligo_like, set_up, seed)
    return {name: states[name] for name in STARTS}, shares


def _once(known, function, set_up, *others):
    """What the function makes of the set-up's data."""
    key = function.__name__, set_up.data
    if key not in known:
        known[key] = function(set_up, *others)
    return known[key]


def by_mmd(set_up: SetUp) -> np.ndarray:
    """γ = H⁻¹e/(eᵀH⁻¹e) with MMD² of images with labels (SAIL, Eq. 12 and 13, §4.4); on the simplex where H is not
    positive definite."""
    sets = [digits.images(options) for options in set_up.parents] + [set_up.images("train")]
    sets = [(x[:SAMPLES], y[:SAMPLES]) for x, y in sets]
    kernel = distances.gaussian(distances.median_distance(torch.cat([x[:200] for x, _ in sets])))
    count = len(sets)
    squares = torch.zeros(count, count, dtype=torch.float64)
    for i in range(count):
        for j in range(i):
            (x, of_x), (y, of_y) = sets[i], sets[j]
            squares[i, j] = squares[j, i] = distances.squared_mmd(x, y, kernel, False, of_x, of_y)
    H = mixing.inner_products(squares[:-1, -1].sqrt(), squares[:-1, :-1].sqrt())
    return mixing.shares_of(H, otherwise="simplex").numpy()


def searched(parents: Sequence[State], held: tuple[torch.Tensor, torch.Tensor]) -> np.ndarray:
    """The shares with the lowest loss on held-out images before any step: from −1 to 2 for two parents, on a grid of
    the simplex for three."""
    tenths = range(11)
    grid = [(i, j, 10 - i - j) for i in tenths for j in tenths if i + j <= 10]
    if len(parents) == 2:
        grid = [(i, 10 - i) for i in range(-10, 21)]
    shares = np.array(grid) / 10
    stack = abreast.stacked([mixing.proximal(parents, share) for share in shares])
    return shares[abreast.scores(stack, *held)[0].argmin()]


def ligo_like(set_up: SetUp, seed: int) -> State:
    """A network of 50 units that learned all parents' images, grown by maps that were learned on the target's."""
    different = dict.fromkeys(tuple(options.items()) for options in set_up.parents)
    sets = [digits.images(dict(options)) for options in different]
    x, y = torch.cat([x for x, _ in sets]), torch.cat([y for _, y in sets])
    small = zoo.get(digits.recipe({"size": digits.IMAGES}, seed, epochs=0, architecture=SMALL), progress=False)
    steps = set_up.epochs * digits.EPOCHS * len(y) // digits.BATCH
    *_, last = abreast.descend(abreast.stacked([small.state_dict()]),
                               abreast.batches(x, y, steps + 1, digits.BATCH, seed), digits.LR)
    source = abreast.single(last.stack, 0)
    train = set_up.images("train")
    batches = abreast.batches(*train, MAP_STEPS, min(digits.BATCH, len(train[1])), seed)
    maps = growth.learned.beginning(source, {"layer 1": digits.WIDTHS[1]}, "copies", seed)
    return growth.learned.learn(source, maps, loss_of, batches, MAP_LR)


def loss_of(state: State, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Mean cross-entropy (nats) of an MLP with these weights."""
    h, y = batch
    last = len(state) // 2 - 1
    for layer in range(last + 1):
        h = F.linear(h, state[f"layers.{layer}.weight"], state[f"layers.{layer}.bias"])
        h = F.relu(h) if layer < last else h
    return F.cross_entropy(h, y)


# -- measuring -------------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train from every start of every set-up, at every learning rate.

    Returns:
        A Dataset over set_up, start, rate and steps with loss (nats), accuracy on 2,000 test images of the target,
        held_loss and held_accuracy on 1,000 others; `steps` of the LiGO-like start counts the steps that its maps took:
        NaN before. shares (set_up, start, parent: 3), NaN where there is none.
    """
    zoo.get_all(all_recipes(settings, seed), device)
    parts, known = [], {}
    for set_up in settings.set_ups:
        starts, shares = starts_of(set_up, seed, device, known)
        part = _all_trained(set_up, starts, settings, seed, known)
        table = np.full((len(STARTS), 3), np.nan)
        for name, share in shares.items():
            table[STARTS.index(name), :len(share)] = share
        parts.append(part.assign(shares=(("start", "parent"), table)).expand_dims(set_up=[set_up.name]))
    attributes = {"images": "5,000 training images of every parent, 4,000 of the target (or 50), 2,000 test images"}
    order = [set_up.name for set_up in settings.set_ups]
    return xarray.concat(parts, "set_up").sel(set_up=order).assign_attrs(attributes)


def _all_trained(set_up, starts, settings, seed, known):
    """`_trained`; scratch and the LiGO-like start, which know nothing of the parents' networks, once for all set-ups
    with the same data."""
    alike = {start: (start, set_up.data) for start in (SCRATCH, LIGO)}
    new = {start: state for start, state in starts.items() if alike.get(start) not in known}
    trained = _trained(set_up, new, settings, seed)
    known |= {key: trained.sel(start=[start]) for start, key in alike.items() if start in new}
    trained_before = [known[key] for start, key in alike.items() if start not in new]
    return xarray.concat([trained, *trained_before], "start").sel(start=list(STARTS))


def _trained(set_up, starts, settings, seed):
    """Loss and accuracy over start, rate and steps."""
    rates, steps = settings.rates, settings.steps
    states = [state for state in starts.values() for _ in rates]
    lr = torch.tensor(rates, dtype=torch.float64).repeat(len(starts))
    x, y = set_up.images("train")
    batches = abreast.batches(x, y, steps[-1] + 1, min(digits.BATCH, len(y)), seed)
    sets = {"": set_up.images("test"), "held_": set_up.images("held")}
    values = race.of_mlps(states, batches, steps, sets, lr, size=digits.BATCH)
    coords = {"start": list(starts), "rate": list(rates), "steps": list(steps)}
    shape = [len(values) for values in coords.values()]
    return _with_the_maps_paid(xarray.Dataset({name: (tuple(coords), array.reshape(shape))
                                               for name, array in values.items()}, coords))


def _with_the_maps_paid(sweep):
    """The LiGO-like start's steps moved by those that its maps took."""
    if LIGO not in sweep.start.values:
        return sweep
    own = sweep.sel(start=LIGO)
    moved = own.assign_coords(steps=own.steps + MAP_STEPS).reindex(steps=sweep.steps)
    return sweep.where(sweep.start != LIGO).fillna(moved)


def chosen(sweep: xarray.Dataset) -> xarray.Dataset:
    """Loss and accuracy (set_up, start, steps), the learning rate chosen by the held-out loss, and that `rate`."""
    best = search.best(-sweep.held_loss.fillna(np.inf), "rate")
    return sweep[["loss", "accuracy"]].sel(best).reset_coords("rate").where(sweep.held_loss.notnull().all("rate"))


# -- claims ----------------------------------------------------------------------------------------

LOOKS = (0, 50, 100, 200)
SIX = (("same", NEAR), ("other", STRANGERS), ("matched", ALIGNED), ("size", BIGGER), ("task", OTHER),
       ("halves", HALVES))


def promises(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """{set-up: {number: value}}: the loss of SAIL's mixture over the best parent's alone and over that of scratch,
    after 0 to 200 steps, each start with its own learning rate: below 1 it keeps its promise."""
    best = chosen(sweep).loss
    by_set_up = {}
    for set_up in names(sweep.set_up):
        ratios = {}
        for steps in LOOKS:
            losses = best.sel(set_up=set_up, steps=steps)
            sail = float(losses.sel(start=SAIL))
            ratios |= {f"parent_{steps}": sail / float(losses.sel(start=BEST)),
                       f"scratch_{steps}": sail / float(losses.sel(start=SCRATCH))}
        by_set_up[set_up] = ratios
    return by_set_up


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind SAIL-11, and of SAIL-7 what the table has: {claim: {number: value}}. What each means stands in
    claims.yaml."""
    return {"SAIL-7": claim_7(sweep), "SAIL-11": claim_11(sweep)}


def claim_7(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-7: from Fashion-MNIST to MNIST, SAIL's mixture over the best parent and over scratch."""
    return {f"task_{number}": value for number, value in promises(sweep).get(OTHER.name, {}).items()}


def claim_11(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-11: losses in the first set-up, each start with its own learning rate; and of every set-up, SAIL's mixture
    over the best parent and over scratch."""
    best = chosen(sweep).loss
    starts = {"scratch": SCRATCH, "parent": BEST, "uniform": UNIFORM, "greedy": GREEDY, "sail": SAIL, "ligo": LIGO}
    numbers = {}
    for steps in LOOKS:
        losses = best.sel(set_up=NEAR.name, steps=steps)
        numbers |= {f"{name}_{steps}": float(losses.sel(start=start)) for name, start in starts.items()
                    if np.isfinite(losses.sel(start=start))}
    ratios = promises(sweep)
    for name, set_up in (*SIX, ("bright", BRIGHT), ("far", FAR), ("run", ONE_RUN), ("few", FEW)):
        if set_up.name in ratios:
            numbers |= {f"{name}_{number}": value for number, value in ratios[set_up.name].items()}
    return numbers


EXPERIMENT = Experiment("sail-table", measure, PROFILES, digits.source, "MNIST", recipes=all_recipes, claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
