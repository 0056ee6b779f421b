"""Panel (g): is linearity why merging works? Four ways to add task vectors, and short ones beside them."""
import numpy as np
import xarray

from lessons.kit import claims, plotting
from lessons.kit.noise import WIDE, Difference, with_reach
from lessons.kit.page import Markup, Page, capital, minus, paragraph, reading, said, table
from lessons.kit.plotting import BLACK, GREEN, PURPLE, still, themed
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Points, Reference, Star, chips, key, slider, view
from lessons.linearization.experiment import merging
from lessons.linearization.experiment.merging import ARMS, BACK, LINEAR, NETWORK, PERMUTED, POST_HOC, ROTATED, TEST
from lessons.merging.search import rests_on

TASKS = {ROTATED: "turned digits", PERMUTED: "permuted pixels"}
ASKED = {"family": ROTATED, "arm": LINEAR}
_ALT = """
    {family}, {count} tasks merged, α = {alpha:.2f}: accuracy {network_here:.3f} with the networks' τ, {here:.3f} with
    {arm}. Each network alone has {single:.3f}. At the best α {network:.3f} and {best:.3f}. By number of tasks, {arm}
    against the networks, in points of accuracy: {gains}."""


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (g)."""
    merged = merging.by_count(sweep).sel(family=ROTATED).isel(count=-1)
    return said("""We merge {count} tasks of turned digits, and choose α on held-out images. Merged networks then have
                   an accuracy of {network:.1%}. By how many **points** is that of merged tangents higher?""",
                count=int(merged["count"]), network=float(merged.accuracy.sel(arm=NETWORK)))


def shown_arms(sweep: xarray.Dataset) -> dict[str, str]:
    """{what is said of them: arm}: those that are compared with the networks', of the short ones the longest and the
    shortest by λ and one that was stopped early."""
    short = [arm for arm in names(sweep.arm) if arm not in ARMS]
    by_lam, stopped = ([arm for arm in short if arm.startswith("λ") is wanted] for wanted in (True, False))
    return {"tangents": LINEAR, "networks’ τ in tangents": POST_HOC, "tangents’ τ in networks": BACK,
            **dict(zip(("weak λ", "strong λ"), dict.fromkeys((by_lam[0], by_lam[-1])))), "stopped early": stopped[0]}


_SUBJECTS = {"tangents": "merged tangents", "networks’ τ in tangents": "the networks’ τ, added in the tangent,",
             "tangents’ τ in networks": "the tangents’ τ, added in the network,",
             "weak λ": "merged networks of a weak λ", "strong λ": "merged networks of a strong λ",
             "stopped early": "merged networks, stopped early,"}  # of titles


@view
def arms(sweep: xarray.Dataset, prediction=None):
    """Panel (g): left, accuracy on all tasks of a family merged, against α, of the networks' task vectors and others;
    right, by how many points the others are ahead at the best α, for every number of tasks of both families, with
    two standard errors.

    Controls: alpha, arm, family. The prediction, how far merged tangents of all turned digits are ahead, is a star.
    """
    best, shown = merging.by_count(sweep), shown_arms(sweep)
    alphas = [float(alpha) for alpha in sweep.alpha.values]
    counts = [int(count) for count in best["count"].values]
    gains = {arm: _gains(sweep, best, arm, counts) for arm in shown.values()}
    count = counts[-1]
    curves = {family: _of_count(sweep, family, count) for family in merging.FAMILIES}
    if prediction:
        prediction.panel_answers(100 * gains[LINEAR][ROTATED][-1].value, ASKED)
    texts = {arm: text for text, arm in shown.items()}

    def draw(alpha, arm, family):
        leads, accuracy, images = gains[arm], curves[family], merging.images_of(sweep, count)
        single = float(sweep.single.sel(family=family, arm=NETWORK))
        points = 100 * np.array([[lead.value, WIDE * lead.error] for tasks in TASKS for lead in leads[tasks]]).T
        values = {"each alone": single, "networks": accuracy[NETWORK], "arm": accuracy[arm],
                  "sure": with_reach(accuracy[arm], images)[1:], "none": 0,
                  "gain": (points[0], points[0] - points[1], points[0] + points[1])}
        listed = minus("; ".join(f"{TASKS[tasks]}, {number} tasks, {lead:+.1f}" for tasks in TASKS
                                 for number, lead in zip(counts, leads[tasks])))
        place, of_count = position(alphas, alpha), best.sel(family=family, count=count).accuracy
        alt = said(_ALT, family=family, count=count, alpha=alpha, network_here=accuracy[NETWORK][place],
                   here=accuracy[arm][place], arm=texts[arm], single=single, network=float(of_count.sel(arm=NETWORK)),
                   best=float(of_count.sel(arm=arm)), gains=listed)
        return Frame(finding_of_arm(texts[arm], leads), alt, values,
                     key(("merged", f"Merged: {texts[arm]}"), ("", "grey: the networks merged")))

    middle = min(alphas, key=lambda alpha: abs(alpha - 0.5))
    controls = {"alpha": slider("α", {f"{alpha:.2f}": alpha for alpha in alphas}, middle, places=alphas,
                                words=lambda alpha: f"α = {alpha:.2f}"),
                "arm": chips("merged", shown),
                "family": chips("left: tasks", {TASKS[family]: family for family in TASKS}, more=True)}
    return {"kicker": "Chapter 11: is that why merging works?", "charts": _charts(alphas, counts, gains), "draw": draw,
            "controls": controls, "hides": ["arm", "sure", "gain"],
            "caption": f"{caption(sweep)} {rests_on(sweep)} Bars and band: two standard errors of the test images, at "
                       "most, for one pretrained network of each kind of tasks; others may give another sign."}


def _of_count(sweep, family, count):
    """{arm: (α,) accuracy on test images, mean over the groups of so many tasks}."""
    groups = np.flatnonzero(sweep.tasks.values == count)
    mean = sweep.accuracy.sel(family=family, part=TEST).isel(group=groups).mean("group")
    return {arm: mean.sel(arm=arm).values for arm in names(sweep.arm)}


def _gains(sweep, best, arm, counts):
    """{family: [by how much an arm is ahead of the networks, for every number of tasks]}."""
    leads = {}
    for family in TASKS:
        accuracies = best.sel(family=family).accuracy
        leads[family] = [Difference.of(*(float(accuracies.sel(arm=name, count=count)) for name in (arm, NETWORK)),
                                       merging.images_of(sweep, count)) for count in counts]
    return leads


def _charts(alphas, counts, gains):
    """Accuracy against α, and the gains of both families."""
    ticks = {tick: f"{tick:g}" for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10) if alphas[0] <= tick <= alphas[-1]}
    left = Chart(Axis("α", 0.95 * alphas[0], 1.05 * alphas[-1], "log", ticks=ticks),
                 Axis("accuracy, all tasks merged", 0, 1, unit="percent"),
                 (Reference("each alone", "single", "each alone"), Line("networks", "other", "networks"),
                  Band("sure", "merged"), Line("arm", "merged", "", near=True, dots=True), Handle("alpha")))
    places = tuple(float(place) for place in range(len(counts)))
    places += tuple(place + len(counts) + 1 for place in places)
    every = [100 * (lead.value + side * WIDE * lead.error) for leads in gains.values() for family in leads.values()
             for lead in family for side in (-1, 1)]
    right = Chart(Axis("turned\u2003← tasks merged →\u2003permuted", -0.6, places[-1] + 0.6, "places",
                       ticks=dict(zip(places, 2 * [f"{count}" for count in counts]))),
                  Axis("points ahead of merged networks", 1.1 * min(every), 1.1 * max(every), unit="points", digits=1),
                  (Reference("none", "single", aside=True), Points("gain", "merged", x=places),
                   Star("guess", "merged", x=places[len(counts) - 1:len(counts)])))
    return [left, right]


def finding_of_arm(name: str, leads: dict[str, list[Difference]]) -> str:
    """Where an arm is ahead of merged networks, by more than two standard errors; {family: one lead a number of tasks}.
    """
    turned, permuted = (_verb(leads[family]) for family in (ROTATED, PERMUTED))
    rivals = "the usual ones" if _SUBJECTS[name].startswith("merged networks") else "merged networks"
    turned, permuted = turned.format(rivals), permuted.format(rivals)
    if turned == permuted:
        return f"Here {_SUBJECTS[name]} {turned}, on both kinds of tasks"
    return f"Here, on {TASKS[ROTATED]}, {_SUBJECTS[name]} {turned}; on {TASKS[PERMUTED]}, {_SUBJECTS[name]} {permuted}"


def _verb(leads):
    """What the leads of one family come to, over all numbers of tasks; {} stands for the rivals."""
    ahead, behind = ([lead.is_news and sign * lead.value > 0 for lead in leads] for sign in (1, -1))
    if all(ahead) or all(behind):
        return "beat {}" if all(ahead) else "lose to {}"
    if any(ahead) and any(behind):
        return "beat {} or lose to them, depending on the number of tasks"
    if not any(ahead) and not any(behind):
        return "are within the noise of {}"
    return f"{'beat' if any(ahead) else 'lose to'} {{}} with some numbers of tasks"


# -- still pictures -------------------------------------------------------------------------------

@still
def by_length(sweep: xarray.Dataset):
    """Accuracy of all tasks merged, against the length of what is added for each task, α·‖τ‖: whole task vectors, the
    best short ones and tangents, of both families. If length were all that counts, the lines of networks would lie on
    each other."""
    fig, axes = plotting.figure(2, height=3.4, sharey=True)
    best, told = merging.by_count(sweep).isel(count=-1), []
    for ax, (family, title) in zip(axes, TASKS.items()):
        curves, lengths = _of_count(sweep, family, int(best["count"])), sweep.length.sel(family=family)
        short = _best_short(best.sel(family=family).accuracy)
        for arm, name, colour, marker in ((NETWORK, "whole", GREEN, "o"), (short, f"short: {short}", BLACK, "s"),
                                          (LINEAR, "tangents", PURPLE, "^")):
            length = float(lengths.sel(arm=arm))
            ax.plot(sweep.alpha * length, curves[arm], color=colour, marker=marker, markersize=4, label=name)
            top = int(np.argmax(curves[arm]))
            told.append(f"{title}, {name}: best {curves[arm][top]:.2f}, at {float(sweep.alpha[top]) * length:.1f}")
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set(xlabel="length of what is added for a task, α·‖τ‖", title=capital(title), ylim=(0, 1))
        ax.legend()
    axes[0].set_ylabel("accuracy, all tasks merged")
    return plotting.show(fig, f"Accuracy against the length of what is added. {'; '.join(told)}.", caption(sweep))


def _best_short(accuracy):
    """The arm of short task vectors with the highest accuracy."""
    return max((arm for arm in names(accuracy.arm) if arm not in ARMS), key=lambda arm: float(accuracy.sel(arm=arm)))


@still
def in_both(sweep: xarray.Dataset):
    """Turned digits: the networks' task vectors, one alone and all merged, in the network and in its tangent, over the
    accuracy at θ₀."""
    single, start = sweep.single.sel(family=ROTATED), float(sweep.start.sel(family=ROTATED))
    best = merging.by_count(sweep).isel(count=-1).sel(family=ROTATED).accuracy
    rows = {"one task vector": single, f"all {int(best['count'])} merged": best}
    fig, ax = plotting.figure(width=6.4, height=2.6)
    told = []
    for place, (row, accuracy) in enumerate(reversed(rows.items())):
        for side, (arm, name, colour) in enumerate(((POST_HOC, "in the tangent", PURPLE), (NETWORK, "in the network",
                                                                                          GREEN))):
            value = float(accuracy.sel(arm=arm))
            y = place + 0.36 * side - 0.18
            ax.barh(y, value, 0.34, color=colour)
            ax.annotate(f"{name}: {value:.0%}", (value, y), xytext=(4, 0), textcoords="offset points", va="center")
            told.append(f"{row}, {name} {value:.2f}")
    ax.axvline(start, color=BLACK, linestyle="--", marker="")
    ax.annotate("θ₀", (start, 1.5), xytext=(3, 0), textcoords="offset points", va="center")
    ax.set_yticks(range(len(rows)), list(reversed(rows)))
    ax.set(xlabel="accuracy on turned digits", xlim=(0, 1.25), ylim=(-0.5, 1.65))
    plotting.in_percent(ax.xaxis)
    ax.set_xticks(np.arange(0, 1.01, 0.25))
    ax.grid(axis="y", visible=False)
    return plotting.show(fig, f"Accuracy on turned digits. {'; '.join(told)}. At θ₀ {start:.2f}.", caption(sweep))


SEEDS = {"tangents, on turned digits": "tangents_turned", "tangents, on permuted pixels": "tangents_permuted",
         "stopped early, on turned digits": "stopped_turned", "stopped early, on permuted pixels": "stopped_permuted"}


def leads_on_the_seeds() -> dict[str, np.ndarray]:
    """{row: by how many points it is ahead of merged networks, a number a seed of the ledger}."""
    ledger = claims.measured()["CTL-19"]
    return {row: 100 * np.array(ledger[number]) for row, number in SEEDS.items()}


@themed
def on_the_seeds():
    """Eight tasks merged: by how many points tangents, and networks that were stopped early, are ahead of networks, a
    dot a seed of the ledger."""
    rows = leads_on_the_seeds()
    fig, ax = plotting.figure(width=6.4, height=2.6)
    for place, leads in enumerate(rows.values()):
        ax.plot(leads, [place] * len(leads), color=GREEN, marker="o", linestyle="", alpha=0.7)
    ax.axvline(0, color=BLACK, linewidth=1, marker="")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set(xlabel="points above merged networks, eight tasks", ylim=(len(rows) - 0.5, -0.5))
    ax.grid(axis="y", visible=False)
    told = "; ".join(f"{row}: {', '.join(f'{lead:+.1f}' for lead in sorted(leads))}" for row, leads in rows.items())
    return plotting.show(fig, f"Points above merged networks, by seeds. {told}.",
                         "Kept in the repository: a dot for each seed of the ledger, profile full, MNIST. Stopped "
                         f"early: after {min(merging.PROFILES['full'].stops)} steps.")


def reading_of_the_seeds() -> Page:
    """On how many seeds of the ledger tangents, and stopping early, were ahead of merged networks."""
    rows = leads_on_the_seeds()
    told = "; ".join(f"{row}: {(leads > 0).sum()}" for row, leads in rows.items())
    seeds = len(next(iter(rows.values())))
    return reading("On other seeds", "On how many of {seeds} seeds were they ahead of merged networks? {told}.",
                   told=capital(told), seeds=seeds)


# -- tables and readings ---------------------------------------------------------------------------

def arms_table(sweep: xarray.Dataset) -> Page:
    """Accuracy at the α that is best on held-out images: a row an arm, a column a number of tasks, both families."""
    best = merging.by_count(sweep)
    rows = []
    for arm in sweep.arm.values:
        cells = []
        for family in merging.FAMILIES:
            cells.append(f"{float(sweep.single.sel(family=family, arm=arm)):.3f}")
            cells += [f"{value:.3f}" for value in best.accuracy.sel(family=family, arm=arm).values]
        rows.append((arm, *cells))
    counts = [f"{count} tasks" for count in best["count"].values]
    head = ["", *(f"{name.split()[0]}: {what}" for name in merging.FAMILIES for what in ("alone", *counts))]
    return table(head, rows, after=paragraph(f"{caption(sweep)} {rests_on(sweep)}"))


def reading_of_merging(sweep: xarray.Dataset) -> Page:
    """All tasks of each family merged: what linearity gives, and what short task vectors give."""
    best, gains = merging.by_count(sweep).isel(count=-1), {}
    count = int(best["count"])
    shorts = [arm for arm in names(sweep.arm) if arm not in ARMS]
    for family in TASKS:
        accuracy = best.accuracy.sel(family=family)
        gains[family] = [Difference.of(float(accuracy.sel(arm=arms).max()), float(accuracy.sel(arm=NETWORK)),
                                       merging.images_of(sweep, count)) for arms in ([LINEAR], shorts)]
    linear, short = zip(*gains.values())
    first = f"With {count} tasks, merged tangents were better than merged networks." \
        if all(lead.is_news and lead.value > 0 for lead in linear) else \
        f"With {count} tasks, merged tangents were not better than merged networks on both kinds of tasks."
    listed = ", and ".join(said("""{turned:+.1f} points with {what} on turned digits and {permuted:+.1f} on permuted
                                   pixels""", what=what, turned=100 * leads[0].value, permuted=100 * leads[1].value)
                           for what, leads in (("tangents", linear), ("the best short vectors", short)))
    more = f"Accuracy changed by {listed}."
    if short[1].value > linear[1].value and linear[0].value > short[0].value:
        more += " So on turned digits training the tangents gained more, and on permuted pixels short vectors did."
    more += " (The best of the short vectors is chosen on these test images, which favours it.)"
    return Page(f"{first} {more}", Markup("<p><b>{}</b> {}</p>").format(first, more))


def reading_of_length(sweep: xarray.Dataset) -> Page:
    """All tasks merged: on permuted pixels whole task vectors, made as long in the sum as the best short ones by α; on
    turned digits whole and short ones at their best."""
    family, count = sweep.sel(family=PERMUTED), int(sweep.tasks[-1])
    best = merging.chosen(sweep).sel(family=PERMUTED).isel(group=-1)
    top = _best_short(best.accuracy)
    wanted = float(best.alpha.sel(arm=top) * family.length.sel(arm=top) / family.length.sel(arm=NETWORK))
    alpha = float(sweep.alpha[np.abs(np.log(sweep.alpha.values / wanted)).argmin()])
    whole, short = float(family.accuracy.sel(arm=NETWORK, alpha=alpha, part=TEST).isel(group=-1)), \
        float(best.accuracy.sel(arm=top))
    told = ["On permuted pixels it was not. Whole task vectors that were scaled down to about the length of the best "
            "short ones reached {whole:.0%}, and the short ones {short:.0%}. So there the short ones pointed in better "
            "directions." if short - whole >= 0.05 else
            "On permuted pixels, whole vectors that were scaled to the same length did about as well."]
    turned = merging.by_count(sweep).sel(family=ROTATED, count=count).accuracy
    level = Difference.of(float(turned.sel(arm=_best_short(turned))), float(turned.sel(arm=NETWORK)),
                          merging.images_of(sweep, count))
    if not level.is_news:
        told.append("On turned digits, whole and short ones at their best are within the noise of each other.")
    return reading("Was it their length?", " ".join(told), whole=whole, short=short)


def reading_of_need(sweep: xarray.Dataset) -> Page:
    """Whether networks have to be near their tangents to be merged."""
    turned, best = sweep.single.sel(family=ROTATED), merging.by_count(sweep).sel(family=ROTATED).isel(count=-1)
    alone, inside = (float(turned.sel(arm=arm)) for arm in (NETWORK, POST_HOC))
    merged, straight = (float(best.accuracy.sel(arm=arm)) for arm in (NETWORK, POST_HOC))
    start = float(sweep.start.sel(family=ROTATED))
    first = "Networks did not have to be near their tangents." if alone - inside > 0.1 and merged - start > 0.1 else \
        "Here the networks were near their tangents, or did not merge."
    more = said("""On turned digits, a network alone reached {alone:.0%}, and the tangent, at the network's weights,
                   {inside:.0%}. Merged, the same task vectors reached {merged:.0%} in the network and {straight:.0%} in
                   the tangent, where the start θ₀ had {start:.0%}.""", alone=alone, inside=inside, merged=merged,
                straight=straight, start=start)
    return Page(f"{first} {more}", Markup("<p><b>{}</b> {}</p>").format(first, more))
