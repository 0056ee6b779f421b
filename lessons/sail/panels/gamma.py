"""γ on small MNIST: where the nearest mixture lies, what mixing adds to the better parent, what distances propose."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.noise import WIDE, Difference
from lessons.kit.page import Page, capital, quiet, reading, said, table
from lessons.kit.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, Look, still
from lessons.kit.sweep import caption, names
from lessons.kit.view import (
    Axis,
    Chart,
    Frame,
    Handle,
    Line,
    Reference,
    Spots,
    Star,
    chips,
    key,
    percent,
    slider,
    view,
)
from lessons.sail.algorithms.mixing import nearest_share
from lessons.sail.experiment import gamma
from lessons.sail.experiment.digits import HALVES, NOTHING, ONE, TEST, THIRDS, TWO
from lessons.sail.panels.parts import GAMMA

LEAST = 1e-3  # nats that the best γ must gain before a share of it is taken
NEARLY_ALL = 0.9  # of the gain, from which on the title says so
LOSSES = (0.3, 5.5)  # nats, what is drawn
LATER = 50  # steps of training after which a reading looks again
ASKED = {"pair": f"{THIRDS.name}; {ONE}", "steps": 50}
_CHIPS = {"brightness, shared": (THIRDS, ONE), "brightness, different": (THIRDS, TWO), "digits, shared": (HALVES, ONE),
          "digits, different": (HALVES, TWO), "two random networks": (THIRDS, NOTHING)}
NEAREST_ASKED = {"pair": f"{THIRDS.name}; {TWO}", "gamma": 0.5}
WORSE, AS_LOW = 1.2, 0.1  # times one parent's loss; nats above the lowest of the line
EQUALLY = 0.05  # as a share of a distance
_ALT = """
    {pair}. After {steps} steps the loss is lowest, {lowest:.3f}, at γ = {best:g}; at γ = ½ it is {half:.3f}, from A
    alone {a:.3f}, from B alone {b:.3f}, from random weights {random:.3f}. The better of A and B has this share
    of what the best γ gains over random weights, by steps: {shares}."""
_NEAREST_ALT = """
    Parents differ in {pair}. γ = {gamma:g}: {distance:.1f} from θ*, loss {loss:.2f} before training. A alone is {a:.1f}
    from θ*, with loss {a_loss:.2f}, B alone {b:.1f}, with {b_loss:.2f}. Nearest, by your function, is γ =
    {nearest:.2f}; of the measured mixtures that is γ = {stop:g}, with loss {stop_loss:.2f}. The lowest loss between
    them is {lowest:.2f}, at γ = {best:g}."""


def pairs(sweep: xarray.Dataset) -> dict[str, xarray.Dataset]:
    """{"case; start": the sweep's part} of all that were trained."""
    parts = {}
    for case in names(sweep.case):
        for start in names(sweep.start):
            part = sweep.sel(case=case, start=start)
            if part.loss.notnull().all():
                parts[f"{case}; {start}"] = part
    return parts


def share_of_gain(random: float, parent: float, best: float) -> float:
    """Which share of the gain of the best mixture over random weights the better parent has by itself; losses in
    nats."""
    return (random - parent) / (random - best)


@view
def along(sweep: xarray.Dataset, share_of=share_of_gain, prediction=None):
    """The loss on the new task along γ after as many steps as the slider shows, with each parent alone and a random
    start; right, which share of the best mixture's gain over a random start the better parent has by itself, after
    every number of steps.

    Args:
        share_of: computes that share from three losses, as `share_of_gain`.

    Controls: steps, pair. The prediction, that share after 50 steps, is a star.
    """
    steps_values = [int(steps) for steps in sweep.steps.values]
    places = tuple(map(float, range(len(steps_values))))
    parts, known = pairs(sweep), {text: f"{case.name}; {start}" for text, (case, start) in _CHIPS.items()}
    known = {text: pair for text, pair in known.items() if pair in parts}
    shown = {pair: [_shown(sweep, parts[pair], steps) for steps in steps_values] for pair in known.values()}
    shares = {pair: gain_shares(parts[pair], sweep, share_of) for pair in known.values()}
    if prediction:
        prediction.panel_answers(shares[ASKED["pair"]][steps_values.index(ASKED["steps"])], ASKED)

    def draw(steps, pair):
        place = steps_values.index(steps)
        values, numbers, finding = shown[pair][place]
        told = np.array([told for _, _, (_, told) in shown[pair]])
        by_steps = ", ".join(f"{count}: {share:.2f}" if is_told else f"{count}: the gain is within the noise"
                             for count, share, is_told in zip(steps_values, shares[pair], told))
        alt = said(_ALT, pair=pair, steps=steps, shares=by_steps, **numbers)
        about = key(("merged", "Mixture with share γ of A"), ("a", "A alone"), ("b", "B alone"),
                    ("single", "The better of the two"))
        drawn = np.where(told & (shares[pair] >= 0), shares[pair], np.nan)
        return Frame(finding[0], alt, values | {"share": drawn, "all": 1.0}, about)

    controls = {"steps": slider("steps on the target", dict(zip(map(str, steps_values), steps_values)), ASKED["steps"],
                                words=lambda steps: f"after {steps} steps", places=places),
                "pair": chips("parents differ in, initialisation", known)}
    return {"kicker": "Chapter 9: what does mixing add?",
            "tries": ("Choose “digits, shared” and move the steps. Which mixture between A and B is best?",
                      "Choose “two random networks” and look beyond A and B."),
            "charts": _charts(sweep, places), "draw": draw,
            "controls": controls, "hides": ["mixture", "share", "A alone", "B alone"],
            "caption": f"{caption(sweep)} Losses above {LOSSES[1]:g} are not drawn, nor shares below 0. The best γ is "
                       "chosen on the test images, which favours it."}


def _shown(sweep, part, steps):
    """What the left chart draws of one pair after so many steps, its numbers, and `finding_of_gamma`."""
    loss, numbers = part.loss.sel(steps=steps).values, _numbers(sweep, part, steps)
    drawn = np.where(loss <= LOSSES[1], loss, np.nan)
    values = {"mixture": drawn, "random start": numbers["random"]}
    for name, place in (("A alone", 1.0), ("B alone", 0.0)):
        values[name] = ([place], [np.interp(place, sweep.gamma, drawn)])
    return values, numbers, finding_of_gamma(part, sweep.random_loss.sel(case=part.case), steps)


def _charts(sweep, places):
    """The loss along γ, and the better parent's share of the gain over the steps."""
    left = Chart(GAMMA, Axis("loss on the target, in nats", *LOSSES, "log", digits=2,
                             ticks={tick: f"{tick:g}" for tick in (0.3, 0.5, 1, 2, 5)}),
                 (Reference("random start", "other", "random start"),
                  Line("mixture", "merged", x=tuple(map(float, sweep.gamma.values)), bare=True),
                  Spots("B alone", "b"), Spots("A alone", "a")))
    ticks = {place: str(int(steps)) for place, steps in zip(places, sweep.steps.values)}
    right = Chart(Axis("steps", -0.3, len(places) - 0.7, "places", ticks=ticks),
                  Axis("one parent alone: share of the best gain", 0, 1.12, unit="percent",
                       ticks={share: percent(share) for share in (0, 0.25, 0.5, 0.75, 1)}),
                  (Reference("all", "other", "best γ"), Line("share", "single", x=places, dots=True, near=True),
                   Star("guess", "single", x=(places[list(sweep.steps.values).index(ASKED["steps"])],)),
                   Handle("steps")))
    return [left, right]


def finding_of_gamma(part: xarray.Dataset, random: xarray.DataArray, steps: int) -> tuple[str, bool]:
    """What mixtures add to the better parent after so many steps, and whether the best γ gains anything over random
    starts: more than these differ among each other. What a mixture adds must be more than chance gives on so few test
    images.

    Args:
        part: one case and start of the sweep.
        random: (again, steps), the loss from random starts.
    """
    now, random = part.sel(steps=steps), random.sel(steps=steps).values
    loss, accuracy, gammas = now.loss.values, now.accuracy.values, now.gamma.values
    gain = random.mean() - loss.min()
    if gain <= WIDE * random.std(ddof=1) * np.sqrt(1 + 1 / len(random)):
        return "No mixture of these two is a clearly better start than random weights", False
    ends = np.isin(gammas, (0.0, 1.0))
    parent = np.where(ends, loss, np.inf).argmin()
    if random.mean() - loss[parent] >= NEARLY_ALL * gain:
        return "One parent alone has nearly all that the best mixture gains over random weights", True
    better = []
    for where, there in (("between the parents", (gammas > 0) & (gammas < 1)),
                         ("beyond them", (gammas < 0) | (gammas > 1))):
        best = np.where(there, loss, np.inf).argmin()
        adds = Difference.of(float(accuracy[best]), float(accuracy[parent]), TEST)
        if loss[best] < loss[parent] and adds.is_news and adds.value > 0:
            better.append(where)
    if not better:
        return "The best mixture has a lower loss than either parent, but is as accurate within the noise", True
    where = " and ".join(better) if len(better) == 2 else better[0].replace("them", "the parents")
    return f"{capital(where)} lie better starts than either of them", True


def gain_shares(part: xarray.Dataset, sweep: xarray.Dataset, share_of=share_of_gain) -> np.ndarray:
    """(steps,): which share of the best γ's gain over a random start the better parent alone has, below 0 where it is
    worse than a random start; 0 where the best γ gains nothing."""
    random = sweep.random_loss.sel(case=part.case).mean("again")
    near = part.loss.sel(gamma=[0.0, 1.0]).min("gamma")
    best = part.loss.min("gamma")
    gains = (random - best).values > LEAST
    return np.array([float(share_of(*map(float, losses))) if gain else 0.0
                     for gain, *losses in zip(gains, random.values, near.values, best.values)])


def _numbers(sweep, part, steps):
    loss = part.loss.sel(steps=steps)
    return {"best": float(loss.idxmin("gamma")), "lowest": float(loss.min()), "half": float(loss.sel(gamma=0.5)),
            "a": float(loss.sel(gamma=1.0)), "b": float(loss.sel(gamma=0.0)),
            "random": float(sweep.random_loss.sel(case=part.case, steps=steps).mean())}


# -- the nearest mixture ---------------------------------------------------------------------------

_NEAREST_CHIPS = {text: pair for text, pair in _CHIPS.items() if NOTHING not in pair}


def sides(part: xarray.Dataset) -> tuple[float, float, float]:
    """Of the triangle A, B, θ*: from A to θ*, from B to θ*, from A to B, which the distance half-way between them
    tells."""
    a, half, b = (float(part.distance.sel(gamma=gamma)) for gamma in (1.0, 0.5, 0.0))
    return a, b, float(np.sqrt(max(0.0, 2 * a ** 2 + 2 * b ** 2 - 4 * half ** 2)))


@view
def nearest(sweep: xarray.Dataset, nearest_of=nearest_share, prediction=None):
    """Between two parents, the distance from a network that learned the new task and the loss before training, with the
    nearest mixture and that of the lowest loss.

    Args:
        nearest_of: computes the γ of the nearest mixture from the sides of the triangle, as `mixing.nearest_share`.

    Controls: gamma, pair. The prediction, the loss of the nearest mixture, is a star.
    """
    parts = {f"{case.name}; {start}": _inside(sweep, case, start) for case, start in _NEAREST_CHIPS.values()}
    gammas = [float(gamma) for gamma in next(iter(parts.values())).gamma.values]
    triangles = {pair: _nearest_of(part, nearest_of) for pair, part in parts.items()}
    if prediction:
        prediction.panel_answers(triangles[NEAREST_ASKED["pair"]]["stop_loss"], NEAREST_ASKED)

    def draw(gamma, pair):
        part, numbers = parts[pair], triangles[pair]
        loss = part.loss.sel(steps=0).values
        values = {"distance": part.distance.values, "loss": loss,
                  "nearest": ([numbers["stop"]], [numbers["stop_distance"]]),
                  "its loss": ([numbers["stop"]], [numbers["stop_loss"]]),
                  "lowest": ([numbers["best"]], [numbers["lowest"]])}
        for name, place in (("A", -1), ("B", 0)):
            values |= {f"{name} alone": ([gammas[place]], [loss[place]]),
                       f"distance of {name}": ([gammas[place]], [part.distance.values[place]])}
        place = gammas.index(gamma)
        alt = said(_NEAREST_ALT, pair=pair, gamma=gamma, distance=float(part.distance[place]), loss=loss[place],
                   **numbers)
        return Frame(finding_of_the_nearest(numbers), alt, values,
                     key(("merged", "Mixture with share γ of A"), ("a", "A alone"), ("b", "B alone"),
                         ("single", "nearest, by your function")))

    controls = {"gamma": slider("γ, the share of A", {f"{gamma:g}": gamma for gamma in gammas}, 0.5, places=gammas,
                                words=lambda gamma: {0.0: "B alone", 0.5: "half-way", 1.0: "A alone"}.get(
                                    gamma, f"γ = {gamma:g}"), ends=[("b", "B alone"), ("a", "A alone")]),
                "pair": chips("parents differ in, initialisation", {
                    text: f"{case.name}; {start}" for text, (case, start) in _NEAREST_CHIPS.items()},
                    NEAREST_ASKED["pair"])}
    return {"kicker": "Chapter 9: where is the nearest start, and where is the best?",
            "tries": ("Drag γ and compare the two charts.",
                      "Choose “digits, different”. Does the left chart show that anything has changed?"),
            "charts": _nearest_charts(parts, gammas), "draw": draw, "controls": controls,
            "hides": ["loss", "its loss", "lowest"],
            "caption": f"{caption(sweep)} θ* is a network that has learned the new task. The marked mixture is the "
                       "measured one that is closest to what your function says. Losses before any training."}


def _inside(sweep, case, start):
    """One pair, between its parents."""
    part = sweep.sel(case=case.name, start=start)
    return part.where((part.gamma >= 0) & (part.gamma <= 1), drop=True)


def _nearest_of(part, nearest_of):
    """The numbers of one pair that its alternative text and its title need."""
    a, b, between = sides(part)
    share, loss = float(nearest_of(a, b, between)), part.loss.sel(steps=0)
    stop = float(part.gamma[int(np.abs(part.gamma.values - share).argmin())])
    return {"a": a, "b": b, "nearest": share, "stop": stop, "a_loss": float(loss.sel(gamma=1.0)),
            "b_loss": float(loss.sel(gamma=0.0)), "stop_loss": float(loss.sel(gamma=stop)),
            "stop_distance": float(part.distance.sel(gamma=stop)), "best": float(loss.idxmin("gamma")),
            "lowest": float(loss.min())}


def _nearest_charts(parts, gammas):
    """Distance and loss between the parents."""
    x = Axis("γ, the share of A", 0, 1, ticks={0: "0", 0.5: "½", 1: "1"})
    most = max(float(part.distance.max()) for part in parts.values())
    losses = np.concatenate([part.loss.sel(steps=0).values for part in parts.values()])
    above = Chart(x, Axis("distance from θ*", 0, 1.1 * most, digits=1),
                  (Line("distance", "merged", x=tuple(gammas), bare=True), Spots("distance of B", "b"),
                   Spots("distance of A", "a"), Spots("nearest", "single", names=("nearest",)), Handle("gamma")))
    below = Chart(x, Axis("loss on the new task, in nats", 0.8 * float(losses.min()), 1.3 * float(losses.max()), "log",
                          digits=2, ticks={tick: f"{tick:g}" for tick in (0.3, 0.5, 1, 2, 5)}),
                  (Line("loss", "merged", x=tuple(gammas), near=True), Spots("B alone", "b"), Spots("A alone", "a"),
                   Spots("lowest", "merged", names=("lowest",)), Spots("its loss", "single", names=("nearest",)),
                   Star("guess", "merged", x=(NEAREST_ASKED["gamma"],)), Handle("gamma")))
    return [above, below]


def finding_of_the_nearest(numbers: dict) -> str:
    """Whether the nearest mixture has a low loss: `_nearest_of` gives the numbers."""
    if numbers["stop_loss"] >= WORSE * min(numbers["a_loss"], numbers["b_loss"]):
        return "The nearest mixture has a higher loss than the better parent alone"
    if numbers["stop_loss"] <= numbers["lowest"] + AS_LOW:
        return "The nearest mixture is also the best one, or nearly"
    return "The nearest mixture is not the best one, though better than either parent"


def question_of_the_nearest(sweep: xarray.Dataset) -> str:
    """What the learner predicts before `nearest`."""
    numbers = _nearest_of(_inside(sweep, THIRDS, TWO), nearest_share)
    return said("""On the new task, A has a loss of {a_loss:.2f} and B has {b_loss:.2f}. What is the **loss of the
                   nearest mixture**, before any further training?""", **numbers)


def reading_of_the_nearest(sweep: xarray.Dataset) -> Page:
    """Two pairs from different initialisations: where the nearest mixture lies, and what its loss is."""
    bright, digits = (_nearest_of(_inside(sweep, case, TWO), nearest_share) for case in (THIRDS, HALVES))
    misleads = bright["stop_loss"] >= WORSE * bright["b_loss"] and digits["stop_loss"] <= digits["lowest"] + 0.03
    title = "The distance did not show which start is good" if misleads else "The nearest mixture, and its loss"
    told = ["With *brightness* the nearest mixture was at γ = {bright[nearest]:.2f}, and its loss of "
            "{bright[stop_loss]:.2f} was {ratio:.1f} times that of B alone. With *digits* it was at γ = "
            "{digits[nearest]:.2f}, and its loss of {digits[stop_loss]:.2f}",
            "was the lowest between A and B." if digits["stop_loss"] <= digits["lowest"] + 0.03
            else "was not the lowest between A and B."]
    if misleads and _still_so(sweep):
        told.append("After {steps} steps of training, B alone was still ahead in the first case, and the middle in the "
                    "second.")
    return reading(title, " ".join(told).replace("*", "“", 1).replace("*", "”", 1).replace("*", "“", 1).replace(
        "*", "”", 1), bright=bright, digits=digits, ratio=bright["stop_loss"] / bright["b_loss"], steps=LATER)


def _still_so(sweep):
    """Whether both findings hold after training, too."""
    bright, digits = (_inside(sweep, case, TWO).loss.sel(steps=LATER) for case in (THIRDS, HALVES))
    return (float(bright.sel(gamma=0.5)) >= WORSE * float(bright.sel(gamma=0.0))
            and float(digits.sel(gamma=0.5)) <= float(digits.min()) + 0.03)


def reading_of_equal_sides(sweep: xarray.Dataset) -> Page:
    """Why the nearest mixture lies in the middle after different initialisations, and what a shared one changes."""
    triangles = [sides(_inside(sweep, case, TWO)) for case in (THIRDS, HALVES)]
    unequal = max(abs(a - b) / max(a, b) for a, b, _ in triangles)
    shared = [_nearest_of(_inside(sweep, case, ONE), nearest_share) for case in (THIRDS, HALVES)]
    told = ["After different initialisations, A and B were about equally far from θ*: the two distances differed by at "
            "most {unequal:.1%}. If they are equal, your formula gives γ = ½, whatever the parents have learned."
            if unequal <= EQUALLY else "The two distances from θ* differed by up to {unequal:.0%}."]
    if all(nearest["stop_loss"] <= nearest["lowest"] + AS_LOW for nearest in shared):
        told.append("Where A, B and θ* all began from the same initialisation, the nearest mixture was close to the "
                    "best one in both cases.")
    return reading("Why was it in the middle both times?", " ".join(told), unequal=unequal)


# -- nearer, and no lower --------------------------------------------------------------------------

_STARTS = {"one start": Look(BLUE, "o"), "two starts": Look(ORANGE, "s"), "two starts, matched": Look(GREEN, "^")}


@still
def nearer_is_not_lower(sweep: xarray.Dataset):
    """Distance from a network that learned the target, against the loss before any step: parents, mixtures of them,
    random weights, and no weights at all."""
    fig, axes = plotting.figure(3, height=3.6, sharey=True)
    told = []
    for ax, (start, look) in zip(axes, _STARTS.items()):
        part = sweep.sel(case=THIRDS.name, start=start)
        inside = part.where((part.gamma >= 0) & (part.gamma <= 1), drop=True)
        loss = inside.loss.sel(steps=0)
        ax.plot(inside.distance, loss, color=look.colour, marker=look.marker, label="γ from 0 to 1")
        random = float(sweep.random_loss.sel(case=THIRDS.name, steps=0).mean())
        points = {"random weights": (float(part.random_distance), random, "X", BLACK),
                  "all weights 0": (float(part.target_norm), np.log(10), "P", PURPLE),
                  "θ* itself": (0.0, float(part.target_loss), "*", RED)}
        for name, (x, y, marker, colour) in points.items():
            ax.plot([x], [y], color=colour, marker=marker, markersize=9, linestyle="", label=name)
        ax.set(title=start.capitalize(), xlabel="distance from θ*", xlim=(-0.7, 15.5))
        nearest = int(np.argmin(inside.distance.values))
        told.append(f"{start}: nearest at {float(inside.distance[nearest]):.1f} with loss {float(loss[nearest]):.2f}, "
                    f"the second parent at {float(inside.distance[0]):.1f} with {float(loss[0]):.2f}, "
                    f"random weights at {float(part.random_distance):.1f} with {random:.2f}")
    axes[0].set_ylabel("loss on the target, no step yet (nats)")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=4)
    return plotting.show(fig, f"Distance against loss. {'; '.join(told)}.", caption(sweep))


def proposals(sweep: xarray.Dataset) -> Page:
    """What each rule proposes, and the best γ after every number of steps."""
    rows = []
    for name, part in pairs(sweep).items():
        best = [f"{float(part.loss.sel(steps=steps).idxmin('gamma')):g}" for steps in part.steps.values]
        rows.append((name, *(f"{float(part.proposed.sel(rule=rule)):.2f}" for rule in gamma.RULES),
                     ", ".join(best)))
    steps = ", ".join(str(int(steps)) for steps in sweep.steps.values)
    heads = ("parents", *gamma.RULES, f"best after {steps} steps")
    return table(heads, rows, after=quiet(caption(sweep)))


def reading_of_what_mixing_adds(sweep: xarray.Dataset) -> Page:
    """Which share of the gain of the best mixture between the parents the better one has alone: where they differ in
    brightness, and in digits. What lies beyond the parents does not count, since longer weights help there, too."""
    def shares(case):
        return gain_shares(_inside(sweep, case, ONE), sweep)
    first, last = (list(sweep.steps.values).index(steps) for steps in (LATER, int(sweep.steps[-1])))
    bright, digits = shares(THIRDS), shares(HALVES)
    best = _inside(sweep, HALVES, ONE).loss.min("gamma")
    gains = (sweep.random_loss.sel(case=HALVES.name).mean("again") - best).values
    title = ("Of these pairs, mixing added most where each parent knows other classes"
             if bright[first] >= NEARLY_ALL > digits[first] else "What mixing adds to one parent")
    return reading(title, """
        Mixtures between the two parents count here, and not those beyond. With “brightness” and a shared
        initialisation, the better parent had {bright:.0%} of what the best mixture gained over random weights after
        {steps} steps. With “digits”, where each parent knows half of the classes, it had {digits:.0%}. After {last}
        steps that share was {later:.0%}, and the whole gain had shrunk to {gain:.0%} of its size.""",
                   bright=bright[first], digits=digits[first], later=digits[last], steps=LATER,
                   last=int(sweep.steps[last]), gain=gains[last] / gains[first])


def reading_of_two_random_networks(sweep: xarray.Dataset) -> Page:
    """Mixtures of two networks that learned nothing: the loss beyond them over that half-way between them."""
    ratio = gamma.claim_5(sweep)["nothing_2_over_half"]
    title = ("A lower loss beyond a parent does not show that knowledge was mixed" if ratio < 1
             else "Two networks that have learned nothing")
    return reading(title, """
        Two random networks have learned nothing. After {steps} steps from their mixture at γ = 2, the loss was
        {ratio:.2f} times that from half-way between them.""", steps=LATER, ratio=ratio)


def reading_of_figure_2b(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 2b of SAIL and ours, with this sweep's numbers."""
    numbers = gamma.claim_5(sweep)
    return reading("Figure 2b of the source, and ours", """
        Thirds by brightness, one start. The best γ is beyond the nearer parent, as in the source: {best_0:g} before any
        step, {best_50:g} after 50. From random weights the loss is {random_0:.2f} before any step and {random_50:.2f}
        after 50; from θᴾ at the best γ it is {lowest_50:.3f} after 50. The nearer parent alone has {near_50:.3f}: that
        is {share_50:.0%} of what θᴾ gains, and {share_200:.0%} after 200 steps.""", **numbers)


def reading_of_the_formula(sweep: xarray.Dataset) -> Page:
    """The γ that MMD proposes, against the best one, with this sweep's numbers."""
    numbers = gamma.claim_4(sweep)
    return reading("γ by MMD, and the best γ", """
        On the thirds by brightness MMD proposes {mmd:.2f} with labels and {inputs:.2f} from images alone; the formula
        as printed {printed:.2f}. Before any step the loss at the first of these is {cost_mmd:.3f} nats above that at
        the best γ, and at the last {cost_printed:.2f} nats. For a target between the turned digits of the parents MMD
        proposes {inside_mmd:.2f}, at a cost of {inside_cost:.3f} nats. From two starts the nearest point by distances
        of parameters is at {strangers_nearest:.2f}, and its loss is {strangers_cost:.2f} nats above the lowest, since
        strangers are all about equally far apart.""", **numbers)
