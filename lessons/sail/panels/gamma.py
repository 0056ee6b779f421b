"""Panel (d): γ from −1 to 2 on small MNIST, and what distances propose."""
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
    slider,
    view,
)
from lessons.sail.experiment import gamma
from lessons.sail.experiment.digits import HALVES, INSIDE, MATCHED, NOTHING, ONE, TEST, THIRDS, TWO
from lessons.sail.panels.parts import ENDS, GAMMA

MMD, PRINTED = "MMD, images with labels", "as printed"
LEAST = 1e-3  # nats that the best γ must gain before a share of it is taken
NEARLY_ALL = 0.9  # of the gain, from which on the title says so
LOSSES = (0.3, 5.5)  # nats, what is drawn
ASKED = {"pair": f"{THIRDS.name}; {ONE}", "steps": 50}
_CHIPS = {"thirds, one start": (THIRDS, ONE), "thirds, two starts": (THIRDS, TWO),
          "thirds, matched": (THIRDS, MATCHED), "turned": (INSIDE, ONE), "different digits": (HALVES, ONE),
          "two random networks": (THIRDS, NOTHING)}
_ALT = """
    {pair}. After {steps} steps the loss is lowest, {lowest:.3f}, at γ = {best:g}; at γ = ½ it is {half:.3f}, from A
    alone {a:.3f}, from B alone {b:.3f}, from random weights {random:.3f}. The better of A and B has this share
    of what the best γ gains over random weights, by steps: {shares}. MMD proposes γ = {mmd:.2f}, the formula as printed
    {printed:.2f}. Nearest to θ* is γ = {nearest:g}, at a distance of {distance:.1f}; a random start is
    {random_distance:.1f} from it."""


def pairs(sweep: xarray.Dataset) -> dict[str, xarray.Dataset]:
    """{"case; start": the sweep's part} of all that were trained."""
    parts = {}
    for case in names(sweep.case):
        for start in names(sweep.start):
            part = sweep.sel(case=case, start=start)
            if part.loss.notnull().all():
                parts[f"{case}; {start}"] = part
    return parts


@view
def along(sweep: xarray.Dataset, prediction=None):
    """Panel (d): the loss on the target along γ after as many steps as the slider shows, with each parent alone, a
    random start and what MMD proposes; right, which share of the best γ's gain over a random start the better parent
    has by itself, after every number of steps.

    Controls: steps, pair. The prediction, that share after 50 steps, is a star.
    """
    steps_values = [int(steps) for steps in sweep.steps.values]
    places = tuple(map(float, range(len(steps_values))))
    parts, known = pairs(sweep), {text: f"{case.name}; {start}" for text, (case, start) in _CHIPS.items()}
    known = {text: pair for text, pair in known.items() if pair in parts}
    shown = {pair: [_shown(sweep, parts[pair], steps) for steps in steps_values] for pair in known.values()}
    shares = {pair: gain_shares(parts[pair], sweep) for pair in known.values()}
    if prediction:
        prediction.panel_answers(shares[ASKED["pair"]][steps_values.index(ASKED["steps"])], ASKED)

    def draw(steps, pair):
        place = steps_values.index(steps)
        values, numbers, finding = shown[pair][place]
        told = [told for _, _, (_, told) in shown[pair]]
        by_steps = ", ".join(f"{count}: {share:.2f}" if is_told else f"{count}: the gain is within the noise"
                             for count, share, is_told in zip(steps_values, shares[pair], told))
        alt = said(_ALT, pair=pair, steps=steps, shares=by_steps, **numbers)
        about = key(("merged", "Mixture with share γ of A, marked where MMD says"), ("a", "A alone"), ("b", "B alone"),
                    ("single", "The better of the two"), ("", "grey dot: γ as printed"))
        return Frame(finding[0], alt, values | {"share": np.where(told, shares[pair], np.nan), "all": 1.0}, about)

    controls = {"steps": slider("steps on the target", dict(zip(map(str, steps_values), steps_values)), ASKED["steps"],
                                words=lambda steps: f"after {steps} steps", places=places),
                "pair": chips("parents", known)}
    return {"kicker": "Chapter 9: γ on digits", "charts": _charts(sweep, places), "draw": draw, "controls": controls,
            "hides": ["mixture", "share", "A alone", "B alone", "by MMD", "as printed"],
            "caption": f"{caption(sweep)} Losses above {LOSSES[1]:g} are not drawn. The best γ is chosen on the test "
                       "images, which favours it."}


def _shown(sweep, part, steps):
    """What the left chart draws of one pair after so many steps, its numbers, and `finding_of_gamma`."""
    loss, numbers = part.loss.sel(steps=steps).values, _numbers(sweep, part, steps)
    drawn = np.where(loss <= LOSSES[1], loss, np.nan)
    values = {"mixture": drawn, "random start": numbers["random"]}
    for name, gamma_there in (("A alone", 1.0), ("B alone", 0.0), ("by MMD", numbers["mmd"]),
                              ("as printed", numbers["printed"])):
        place = np.clip(gamma_there, *ENDS)
        values[name] = ([place], [np.interp(place, sweep.gamma, drawn)])
    return values, numbers, finding_of_gamma(part, sweep.random_loss.sel(case=part.case), steps)


def _charts(sweep, places):
    """The loss along γ, and the better parent's share of the gain over the steps."""
    left = Chart(GAMMA, Axis("loss on the target, in nats", *LOSSES, "log", digits=2,
                             ticks={tick: f"{tick:g}" for tick in (0.3, 0.5, 1, 2, 5)}),
                 (Reference("random start", "other", "random start"),
                  Line("mixture", "merged", x=tuple(map(float, sweep.gamma.values)), bare=True),
                  Spots("as printed", "other"), Spots("by MMD", "merged"), Spots("B alone", "b"),
                  Spots("A alone", "a")))
    ticks = {place: str(int(steps)) for place, steps in zip(places, sweep.steps.values)}
    right = Chart(Axis("steps", -0.3, len(places) - 0.7, "places", ticks=ticks),
                  Axis("one parent alone: share of the best gain", 0, 1.12, unit="percent",
                       ticks={share: f"{share:.0%}" for share in (0, 0.25, 0.5, 0.75, 1)}),
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
        return "The best mixture has a lower loss than either parent, no accuracy that can be told from theirs", True
    where = " and ".join(better) if len(better) == 2 else better[0].replace("them", "the parents")
    return f"{capital(where)} lie better starts than either of them", True


def gain_shares(part: xarray.Dataset, sweep: xarray.Dataset) -> np.ndarray:
    """(steps,): which share of the best γ's gain over a random start the better parent alone has; 0 where the best γ
    gains nothing."""
    random = sweep.random_loss.sel(case=part.case).mean("again")
    near = part.loss.sel(gamma=[0.0, 1.0]).min("gamma")
    best = part.loss.min("gamma")
    gain = (random - best).values
    share = ((random - near) / (random - best)).values
    return np.where(gain > LEAST, share, 0).clip(0, 1)


def _numbers(sweep, part, steps):
    loss = part.loss.sel(steps=steps)
    return {"best": float(loss.idxmin("gamma")), "lowest": float(loss.min()), "half": float(loss.sel(gamma=0.5)),
            "a": float(loss.sel(gamma=1.0)), "b": float(loss.sel(gamma=0.0)),
            "random": float(sweep.random_loss.sel(case=part.case, steps=steps).mean()),
            "mmd": float(part.proposed.sel(rule=MMD)), "printed": float(part.proposed.sel(rule=PRINTED)),
            "nearest": float(part.distance.idxmin("gamma")), "distance": float(part.distance.min()),
            "random_distance": float(part.random_distance)}


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
        as printed {printed:.2f}. Before any step that costs {cost_mmd:.3f} nats beside the best γ, and
        {cost_printed:.2f} as printed. Half-way between turned digits MMD proposes {inside_mmd:.2f}, and it costs
        {inside_cost:.3f}. From two starts the nearest point by distances of parameters is at {strangers_nearest:.2f},
        and costs {strangers_cost:.2f} beside the best γ: strangers are all about equally far apart.""", **numbers)
