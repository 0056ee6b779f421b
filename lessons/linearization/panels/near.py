"""Panel (a): a network and its tangent against λ and time; and the λ table."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Markup, Page, paragraph, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREY, ORANGE
from lessons.kit.predict import Star
from lessons.kit.sweep import caption
from lessons.linearization import experiment
from lessons.linearization.experiment.near import EVEN_ODD, TEN_ADAM, TEN_SGD

ASKED_LAM = 2.0
ERROR, ACCURACY = "training error left", "test accuracy"
GAP_NAMES = {"Taylor gap: both at the network's θ": "taylor", "trained gap: each trained on its own": "trained"}
POINT_NAMES = {"test images": "test", "training images": "train"}
IMAGES = Look(BLUE, "o")
STOPPED = Look(GREY, "s")
PULLED = Look(ORANGE, "D", ":")
NOW = Look(BLACK, "D")
HIGHEST = 0.85  # relative gap that is drawn; larger ones stand at the edge
REACH = 3.0  # of the answers that are drawn


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (a)."""
    gaps = experiment.near.relative(sweep).sel(setting=EVEN_ODD).isel(moment=-1)
    far = sweep.distance.sel(setting=EVEN_ODD).isel(moment=-1)
    return said("""Even or odd, trained to the end. With λ = 0 the network ends {plain:.2f} away from θ₀, and its
                   relative Taylor gap is {gap:.2f}. With λ = {lam:g} it ends {pulled:.2f} away, so it stays nearer.
                   What is its relative gap?""", plain=float(far.sel(lam=0.0)), gap=float(gaps.sel(lam=0.0)),
                lam=ASKED_LAM, pulled=float(far.sel(lam=ASKED_LAM)))


@panel
def near(sweep: xarray.Dataset, prediction=None):
    """Panel (a): left, how far the answers to test images have moved, the network's against the tangent's; right, the
    relative gap of every λ against what is left of the training error, beside plain finetuning that is stopped early.

    Controls: lam, moment, setting, gap, points, against.
    """
    fig, (left, right) = plotting.figure(2, height=4.6, width_ratios=(5, 6))
    left.plot([-REACH, REACH], [-REACH, REACH], color=GREY, linestyle=":", linewidth=1.4, marker="")  # both agree
    left.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), aspect="equal", xlabel="the tangent's answer has moved by",
             ylabel="the network's answer has moved by")
    right.set(xlim=(-0.03, 1.03), ylim=(0, HIGHEST * 1.02), ylabel="relative gap: gap over move",
              xlabel="share of the training error left, or test accuracy")
    images = cloud(left, IMAGES, markersize=4)
    stopped = curve(right, STOPPED, "λ = 0, stopped early", linewidth=1.6, markersize=5)
    pulled = curve(right, PULLED, "every λ, at this moment", linewidth=1.2, markersize=6)
    marked = cloud(right, NOW, "the chosen λ", markersize=10, markerfacecolor="none", markeredgewidth=2)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = moving_titles((left, right))
    asked = {"setting": EVEN_ODD, "lam": ASKED_LAM, "moment": 1.0, "gap": "taylor", "points": "test", "against": ERROR}
    answered = sweep.sel(setting=EVEN_ODD, lam=ASKED_LAM, moment=1.0)
    star = Star(right, prediction, float(experiment.near.left(answered)), float(experiment.near.relative(answered)),
                asked)

    def draw(lam, moment, setting, gap, points, against):
        part = sweep.sel(setting=setting)
        gaps = experiment.near.relative(part, gap, points).clip(max=HIGHEST)
        places = (experiment.near.left(part) if against == ERROR else part.network_accuracy).clip(0, 1)
        stopped.set_data(places.sel(lam=0.0), gaps.sel(lam=0.0))
        pulled.set_data(places.sel(moment=moment), gaps.sel(moment=moment))
        marked.set_data([places.sel(lam=lam, moment=moment)], [gaps.sel(lam=lam, moment=moment)])
        unit = float(part.move.sel(lam=0.0, points="test").isel(moment=-1))
        answers = part.sel(lam=lam, moment=moment)
        moved = [(answers[f"{which}_answer"] - part.start_answer).values / unit for which in (gap, "network")]
        images.set_data(*(np.clip(values, -REACH, REACH) for values in moved))
        star.place(lam=lam, moment=moment, setting=setting, gap=gap, points=points, against=against)
        numbers = _numbers(part, lam, moment, gap, points)
        titles[0].set_text(said("λ = {lam:g}: {distance:.2f} away from θ₀", **numbers))
        if np.isnan(numbers["gap"]):
            titles[1].set_text("Nothing has moved: λη = 1 undoes every step")
        elif lam == 0 or np.isnan(numbers["early"]):
            titles[1].set_text(said("Relative gap {gap:.2f}, error left {left:.0%}", **numbers))
        else:
            titles[1].set_text(said("Relative gap {gap:.2f}; λ = 0 stopped there {early:.2f}", **numbers))
        return _described(numbers)

    lams = list(map(float, sweep.lam.values))
    controls = {"lam": slider("λ", {f"{lam:g}": lam for lam in lams}, ASKED_LAM),
                "moment": slider("steps", {f"{share:.0%} of them": share for share in experiment.near.SHARES}, 1.0),
                "setting": choice("trained", experiment.near.SETTINGS),
                "gap": choice("gap", GAP_NAMES), "points": choice("on", POINT_NAMES),
                "against": choice("against", (ERROR, ACCURACY))}
    return controls, fig, draw, caption(sweep) + " Left: answers in units of the move at λ = 0, at the end."


def _numbers(part, lam, moment, gap, points):
    """What titles and alternative text say."""
    of_moment = part.sel(lam=lam, moment=moment)
    setting = str(part.setting.item())
    share = float(experiment.near.left(of_moment))
    names = {name: label for label, name in GAP_NAMES.items()}
    wide = part.expand_dims("setting")
    numbers = {"lam": lam, "moment": moment, "setting": setting, "gap_name": names[gap].partition(":")[0],
               "points": "test" if points == "test" else "training", "left": share,
               "steps": int(of_moment.steps), "gap": float(experiment.near.relative(of_moment, gap, points)),
               "early": experiment.near.stopped_early(wide, setting, share, gap, points),
               "absolute": float(of_moment[f"{gap}_gap"].sel(points=points)), "kl": float(of_moment.kl),
               "kernel": float(of_moment.kernel_change)}
    return numbers | {name: float(of_moment[name]) for name in ("distance", "linear_distance", "network_accuracy",
                                                                "trained_accuracy", "taylor_accuracy")}


def _described(numbers):
    """The alternative text."""
    sentences = [said("""{setting}, λ = {lam:g}, after {steps} steps: the network is {distance:.3f} away from θ₀, the
                         tangent trained beside it {linear_distance:.3f}. {left:.1%} of the training error is left.""",
                      **numbers)]
    if np.isnan(numbers["gap"]):
        return f"{sentences[0]} Nothing has moved: λη is 1, and every step is undone."
    sentences.append(said("""{gap_name} on {points} images {absolute:.3f}, which is {gap:.3f} of the move. Accuracy of
                             the network {network_accuracy:.3f}, of the tangent trained beside it
                             {trained_accuracy:.3f}, of the network's θ in the tangent {taylor_accuracy:.3f}.""",
                          **numbers))
    if numbers["lam"] and not np.isnan(numbers["early"]):
        sentences.append(said("Stopped early, with as much of it left, λ = 0 has a relative gap of {early:.3f}.",
                              **numbers))
    if not np.isnan(numbers["kl"]):
        sentences.append(said("The KL divergence of the two answers is {kl:.4f} nats.", **numbers))
    if not np.isnan(numbers["kernel"]):
        sentences.append(said("The kernel has changed by {kernel:.2f} of its size.", **numbers))
    return " ".join(sentences)


# -- the λ table -----------------------------------------------------------------------------------

ROWS = {"distance ‖θ − θ₀‖": ("distance", "{:.2f}"), "trained gap": ("trained_gap", "{:.2f}"),
        "Taylor gap": ("taylor_gap", "{:.2f}"), "trained gap / move": ("trained", "{:.2f}"),
        "Taylor gap / move": ("taylor", "{:.2f}"), "KL(f‖f̄), nats": ("kl", "{:.3f}"),
        "training error left": ("left", "{:.0%}"), "accuracy, network": ("network_accuracy", "{:.2f}"),
        "accuracy, tangent": ("trained_accuracy", "{:.2f}"),
        "accuracy, network's θ in the tangent": ("taylor_accuracy", "{:.2f}")}


def lambda_table(sweep: xarray.Dataset, setting: str = TEN_SGD) -> Page:
    """The source's table with this sweep's numbers: a column for every λ, at the end of training, on test images."""
    at_the_end = sweep.sel(setting=setting, points="test").isel(moment=-1)
    wide = sweep.sel(setting=setting).isel(moment=-1)
    relative = {gap: experiment.near.relative(wide, gap) for gap in ("trained", "taylor")}
    at_the_end = at_the_end.assign(**relative, left=experiment.near.left(at_the_end))
    rows = []
    for title, (name, form) in ROWS.items():
        values = [float(at_the_end[name].sel(lam=lam)) for lam in sweep.lam.values]
        if not np.isnan(values).all():
            rows.append((title, *("–" if np.isnan(value) else form.format(value) for value in values)))
    return table((setting, *(f"λ = {lam:g}" for lam in sweep.lam.values)), rows, after=paragraph(caption(sweep)))


def reading_of_early_stopping(sweep: xarray.Dataset) -> Page:
    """λ beside early stopping at the same training error, with this sweep's numbers."""
    parts = [_beside_stopping(sweep, setting) for setting in (EVEN_ODD, TEN_SGD)]
    return Page(" ".join(part.text for part in parts), Markup("").join(part.page for part in parts))


def _beside_stopping(sweep, setting):
    """One setting: the λ with which the relative gap is largest, and stopping."""
    gaps = experiment.near.relative(sweep).sel(setting=setting).isel(moment=-1)
    shares = experiment.near.left(sweep).sel(setting=setting).isel(moment=-1)
    taylor, trained = (_apart_from_stopping(sweep, setting, gap) for gap in ("taylor", "trained"))
    largest = gaps.idxmax("lam").item()
    return reading(f"λ or early stopping, {setting}", """
        The relative Taylor gap is {plain:.2f} with λ = 0, largest with λ = {largest:g}, {most:.2f}, and {last:.2f} with
        λ = {last_lam:g}, which leaves {left:.0%} of the training error. Stopped early with as much of it left, plain
        finetuning has a smaller gap than {count} of {of} λ; averaged over them, its Taylor gap is {mean:.3f} {side},
        its trained gap {trained:.3f} {trained_side}.""",
                   plain=float(gaps.sel(lam=0.0)), largest=largest, most=float(gaps.max()),
                   last=float(gaps.dropna("lam")[-1]), last_lam=float(gaps.dropna("lam").lam[-1]),
                   left=float(shares.sel(lam=gaps.dropna("lam").lam[-1])),
                   side="smaller" if taylor.mean() > 0 else "larger", count=int((taylor > 0).sum()), of=len(taylor),
                   mean=abs(float(taylor.mean())), trained=abs(float(trained.mean())),
                   trained_side="smaller" if trained.mean() > 0 else "larger")


def _apart_from_stopping(sweep, setting, gap):
    """The relative gap of every λ > 0, minus that of plain finetuning which is stopped with as much error left."""
    gaps = experiment.near.relative(sweep, gap).sel(setting=setting).isel(moment=-1)[1:].dropna("lam")
    return gaps.copy(data=[experiment.near.beside_stopping(sweep, setting, lam, gap) for lam in gaps.lam.values])


def reading_of_adam(sweep: xarray.Dataset) -> Page:
    """What a decoupled pull beside Adam changes from λ = 0 to the largest, with this sweep's numbers."""
    at_the_end = sweep.sel(setting=TEN_ADAM, points="test").isel(moment=-1)
    first, last = at_the_end.isel(lam=0), at_the_end.isel(lam=-1)
    divergences = at_the_end.kl.values
    return reading("Adam, with the pull beside it", """
        From λ = 0 to {lam:g} the distance falls {far:.1f} times, the Taylor gap {taylor:.1f} times, the trained gap
        {trained:.1f} times; the relative gaps go from {taylor_0:.2f} to {taylor_last:.2f} and from {trained_0:.2f} to
        {trained_last:.2f}, the accuracy from {accuracy_0:.2f} to {accuracy_last:.2f}. Of {pairs} pairs of KL
        divergences {wrong} are the wrong way round.""",
                   lam=float(last.lam), far=float(first.distance / last.distance),
                   taylor=float(first.taylor_gap / last.taylor_gap),
                   trained=float(first.trained_gap / last.trained_gap),
                   taylor_0=float(first.taylor_gap / first.move), taylor_last=float(last.taylor_gap / last.move),
                   trained_0=float(first.trained_gap / first.move), trained_last=float(last.trained_gap / last.move),
                   accuracy_0=float(first.network_accuracy), accuracy_last=float(last.network_accuracy),
                   pairs=len(divergences) * (len(divergences) - 1) // 2, wrong=experiment.near.wrong_way(divergences))


def reading_of_the_source() -> Page:
    """What the slides' own table says of itself."""
    parts = []
    for name, rows in experiment.near.REPORTED.items():
        rising = {row: values[::-1] for row, values in rows.items()}  # from λ = 0 on
        parts.append(said("""{name}: the distance falls {far:.1f} times from λ = 0 to 50, the gap only {gap:.2f} times;
                             {gap_wrong} of 28 pairs of gaps and {kl_wrong} of the divergences are the wrong way
                             round""", name=name, far=rising["distance"][0] / rising["distance"][-1],
                          gap=rising["gap"][0] / rising["gap"][-1], gap_wrong=experiment.near.wrong_way(rising["gap"]),
                          kl_wrong=experiment.near.wrong_way(rising["kl"])))
    return reading("The slides' own table", """
        {parts}. A gap that were a Taylor rest would fall with the square of the distance.""", parts=". ".join(parts))


def reading_of_the_hump(sweep: xarray.Dataset) -> Page:
    """The trained gap on training samples, at both ends of λ."""
    gaps = sweep.trained_gap.sel(setting=EVEN_ODD, points="train").isel(moment=-1)
    return reading("On training samples", """
        Even or odd, at the end, λ from 0 to 50, the trained gap is {listed}: largest at λ = {most:g}.""",
                   listed=", ".join(f"{float(gap):.3f}" for gap in gaps), most=float(gaps.idxmax("lam")))


def causes_table(sweep: xarray.Dataset) -> Page:
    """What makes finetuning linear: a row a network, when a fifth of the squared error is left. The sweep is that of
    `experiment.causes`."""
    columns = ("taylor", "trained", "kernel_change", "distance")
    rows = [(name, *(f"{float(sweep[column].sel(case=name)):.2f}" for column in columns)) for name in sweep.case.values]
    head = ("a fifth of the error left", "Taylor gap / move", "trained gap / move", "change of the kernel", "distance")
    return table(head, rows, after=paragraph(caption(sweep)))
