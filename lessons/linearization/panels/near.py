"""Panel (a): what λ makes linear that early stopping does not, and what it costs; what does make a network linear; and
the λ table."""
import numpy as np
import xarray

from lessons.kit import claims, plotting
from lessons.kit.noise import WIDE, Difference, with_reach
from lessons.kit.page import Markup, Page, capital, paragraph, reading, said, table
from lessons.kit.plotting import themed
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Points, Star, chips, key, slider, view
from lessons.linearization import experiment
from lessons.linearization.experiment.near import EVEN_ODD, STARTS, TEN_ADAM, TEN_SGD

ASKED = {"lam": 2.0, "setting": EVEN_ODD}
CLEARLY = 0.05  # of the move: a gap that is smaller by less is not called smaller


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (a)."""
    gaps = experiment.near.relative(sweep).sel(setting=EVEN_ODD).isel(moment=-1)
    far = sweep.distance.sel(setting=EVEN_ODD).isel(moment=-1)
    return said("""Even or odd, trained to the end. With λ = 0 the network ends {plain:.2f} away from θ₀, and its
                   relative Taylor gap is {gap:.2f}. With λ = {lam:g} it ends {pulled:.2f} away, so it stays nearer.
                   What is its relative gap?""", plain=float(far.sel(lam=0.0)), gap=float(gaps.sel(lam=0.0)),
                lam=ASKED["lam"], pulled=float(far.sel(lam=ASKED["lam"])))


@view
def near(sweep: xarray.Dataset, prediction=None):
    """Panel (a): left, the relative Taylor gap of every λ at the end of training, beside plain finetuning that was
    stopped with as much training error left; right, test accuracy with two standard errors, and in grey the distance
    and the training error left.

    Controls: lam, setting. The prediction, the gap at one λ, is a star.
    """
    end = sweep.isel(moment=-1)
    lams, parts = [float(lam) for lam in sweep.lam.values], {}
    shares = {name: experiment.near.left(end).sel(setting=name).values for name in experiment.near.SETTINGS}
    images = experiment.near.PROFILES[sweep.attrs["profile"]].test
    for name, left in shares.items():
        parts[name] = experiment.near.relative(end).sel(setting=name).values, *_stopped_early(sweep, name, left)
    if prediction:
        prediction.panel_answers(parts[EVEN_ODD][0][lams.index(ASKED["lam"])], ASKED)

    def draw(lam, setting):
        of_setting, (gaps, early, early_accuracy) = end.sel(setting=setting), parts[setting]
        accuracy, far = (of_setting[name].values for name in ("network_accuracy", "distance"))
        values = {"with λ": gaps, "stopped early": np.where(np.isfinite(gaps), early, np.nan), "λ = 0": gaps[:1],
                  "sure": with_reach(accuracy, images)[1:], "accuracy": accuracy, "distance": far / far[0],
                  "its accuracy": np.where(np.isfinite(gaps), early_accuracy, np.nan),
                  "error left": shares[setting]}
        number = position(lams, lam)
        about = key(("merged", "The network at the end of training with λ"),
                    ("single", "Without λ, stopped at the same training error (interpolated)"),
                    ("", f"grey: shares of the distance from θ₀ and of the {left_of(setting)} left"))
        return Frame(finding_of_lam(gaps, early, accuracy, early_accuracy, images),
                     _described(of_setting, lam, shares[setting][number], early[number], early_accuracy[number]),
                     values, about)

    controls = {"lam": slider("λ", {f"{lam:g}": lam for lam in lams}, ASKED["lam"], words=lambda lam: f"λ = {lam:g}",
                              places=range(len(lams)), ends=[("", "no pull"), ("", "strong pull")]),
                "setting": chips("trained", experiment.near.SETTINGS)}
    return {"kicker": "Chapter 11: a pull towards θ₀",
            "tries": ("Move λ from left to right. Is green ever clearly below black?",
                      "Choose “ten digits, SGD”. Who is more accurate at the same λ?"),
            "charts": _charts(lams, parts), "draw": draw,
            "controls": controls, "hides": ["with λ", "stopped early"],
            "caption": caption(sweep) + " Band: two standard errors, of the test images."}


def _stopped_early(sweep, setting, shares):
    """Relative gap and test accuracy of plain finetuning that was stopped at every share of the error."""
    plain = sweep.sel(setting=[setting])[["taylor_gap", "move", "loss", "loss_0", "network_accuracy"]].load()
    return [np.array([read(plain, setting, share) for share in shares])
            for read in (experiment.near.stopped_early, experiment.near.accuracy_stopped_early)]


def _charts(lams, parts):
    """The relative gap, and what λ costs, both against λ."""
    across = Axis("λ", -0.3, len(lams) - 0.7, "places", ticks={place: f"{lam:g}" for place, lam in enumerate(lams)})
    most = max(np.nanmax(values) for pair in parts.values() for values in pair)
    left = Chart(across, Axis("relative Taylor gap, on test images", 0, 1.1 * float(most), digits=2),
                 (Line("stopped early", "single", "stopped early", dots=True),
                  Line("with λ", "merged", "with λ", dots=True, near=True), Points("λ = 0", "single", x=(0,)),
                  Star("guess", "merged", x=(lams.index(ASKED["lam"]),)), Handle("lam")))
    right = Chart(across, Axis("test accuracy, and what λ does besides", 0, 1.05, unit="percent"),
                  (Line("distance", "other", "distance"), Line("error left", "other", "error left", dashed=True),
                   Line("its accuracy", "single", "stopped early", dots=True),
                   Band("sure", "merged"), Line("accuracy", "merged", "accuracy", near=True, dots=True),
                   Handle("lam")))
    return [left, right]


def finding_of_lam(gaps: np.ndarray, early: np.ndarray, accuracy: np.ndarray, early_accuracy: np.ndarray,
                   images: int) -> str:
    """Whether some λ has a clearly smaller gap than early stopping at the same training error, and at what price.

    Args:
        gaps, early: (λ,) relative gaps, with λ and stopped early; the first λ is 0.
        accuracy, early_accuracy: (λ,) the same of the accuracy on so many test images.
    """
    smaller = np.flatnonzero((early - gaps > CLEARLY) & np.isfinite(early_accuracy))
    if not len(smaller):
        return "No λ makes the network clearly more linear than stopping early at the same training error"
    losses = [Difference.of(early_accuracy[place], accuracy[place], images) for place in smaller]
    if all(loss.is_news and loss.value > 0 for loss in losses):
        return "Where λ makes the network more linear than stopping early does, it is less accurate"
    return "Some λ makes the network more linear than stopping early does, and no less accurate"


def left_of(setting: str) -> str:
    """Of what a share is left in a setting: the residual's length, or the loss."""
    return "residual’s length ‖r‖" if setting in STARTS else "training loss"


def _described(of_setting, lam, share, early, early_accuracy):
    """The alternative text."""
    there, setting = of_setting.sel(lam=lam), str(of_setting.setting.item())
    at_points = there.sel(points="test")
    numbers = {name: float(there[name]) for name in ("distance", "linear_distance", "network_accuracy",
                                                     "trained_accuracy", "taylor_accuracy", "kl", "kernel_change")}
    text = said("""{setting}, λ = {lam:g}, after {steps} steps: the network is {distance:.3f} away from θ₀, the tangent
                   trained beside it {linear_distance:.3f}. {share:.1%} of the {what} is left.""", setting=setting,
                lam=lam, steps=int(there.steps), share=share, what=left_of(setting), **numbers)
    if at_points.move <= experiment.near.STILL:
        return f"{text} Nothing has moved: λη is 1, and every step is undone."
    absolute = float(at_points.taylor_gap)
    text += " " + said("""Taylor gap on test images {absolute:.3f}, which is {gap:.3f} of the movement; stopped early
                          with as much error left, λ = 0 has {early:.3f}. Accuracy of the network
                          {network_accuracy:.3f}, stopped early {early_accuracy:.3f}, of the tangent trained beside it
                          {trained_accuracy:.3f}, of the network's θ in the tangent {taylor_accuracy:.3f}.""",
                       absolute=absolute, gap=absolute / float(at_points.move), early=early,
                       early_accuracy=early_accuracy, **numbers)
    for name, sentence in (("kl", "The KL divergence of the two answers is {kl:.4f} nats."),
                           ("kernel_change", "The kernel has changed by {kernel_change:.2f} of its size.")):
        if np.isfinite(numbers[name]):
            text += " " + said(sentence, **numbers)
    return text


# -- readings of the lesson ------------------------------------------------------------------------

def reading_of_the_pull(sweep: xarray.Dataset) -> Page:
    """Even or odd: what the pull does to the gap, beside stopping early."""
    lams, gaps, early, _, _, far = _at_the_end(sweep, EVEN_ODD)
    most = int(gaps.argmax())
    better = (early - gaps > CLEARLY).any()
    first = "On even or odd, some λ was better than stopping early." if better else \
        "On even or odd, no λ was clearly better than stopping early."
    asked = list(lams).index(ASKED["lam"])
    sentences = [said("With λ = {lam:g} the relative Taylor gap was {gap:.2f}.", lam=lams[asked], gap=gaps[asked])]
    if gaps[-1] < gaps[0] - CLEARLY:
        sentences.append(said("""The strongest pull lowered it to {last:.2f}, but stopping early at the same
            training error lowered it to {stopped:.2f}.""", last=gaps[-1], stopped=early[-1]))
    if most and gaps[most] > gaps[0] + 0.02 and experiment.near.wrong_way(far) == 0:
        sentences.append(said("""With λ = {lam:g} the gap was even larger than without a pull, {most:.2f}, although the
            weights had stayed nearer.""", lam=lams[most], most=gaps[most]))
    return Page(f"{first} {' '.join(sentences)}", Markup("<p><b>{}</b> {}</p>").format(first, " ".join(sentences)))


def reading_of_ten_digits(sweep: xarray.Dataset, setting: str = TEN_SGD) -> Page:
    """Ten digits: the λ that is farthest ahead of stopping early, and what both have learned; or that there is none."""
    lams, gaps, early, accuracy, early_accuracy, _ = _at_the_end(sweep, setting)
    best = int(np.nanargmax(early - gaps))
    if early[best] - gaps[best] <= CLEARLY:
        return reading(capital(setting), "Here no λ was clearly better than stopping early either.")
    return reading(capital(setting), """
        With λ = {lam:g} the gap was {gap:.2f}, where stopping early at the same training error had {early:.2f}. The
        pulled network was {after:.0%} accurate, the one that stopped early {stopped:.0%}, and plain finetuning to the
        end {before:.0%}.""",
                   lam=lams[best], gap=gaps[best], early=early[best], after=accuracy[best],
                   stopped=early_accuracy[best], before=accuracy[0])


def _at_the_end(sweep, setting):
    """λ, gap, gap of stopping early, accuracy, that of stopping early, and distance, at the end of training, of every λ
    that moves at all."""
    end = sweep.isel(moment=-1).sel(setting=setting)
    gaps, shares = (part.sel(setting=setting).isel(moment=-1).values
                    for part in (experiment.near.relative(sweep), experiment.near.left(sweep)))
    early, early_accuracy = _stopped_early(sweep, setting, shares)
    moves = np.isfinite(gaps)
    every = sweep.lam.values, gaps, early, end.network_accuracy.values, early_accuracy, end.distance.values
    return [values[moves] for values in every]


CAUSES = {"random weights instead of pretrained ones": ("same_random_over_pretrained",),
          "random weights, as long as pretrained ones": ("same_as_long_over_pretrained",),
          "pretrained weights, shuffled in their layers": ("same_shuffled_over_pretrained",),
          "200 units in a layer instead of 20": ("fifth_wide_over_narrow",),
          "a pull, λ = 2 and 10": ("fifth_pulled_over_plain_least", "fifth_pulled_over_plain_most")}


def _of_seeds():
    """{what is changed: the gap over that without the change, a number a seed or a seed and λ}, from the ledger."""
    ledger = claims.measured()["LFT-11"]
    return {what: np.array([ledger[number] for number in numbers]).ravel() for what, numbers in CAUSES.items()}


@themed
def causes():
    """How many times as large the relative Taylor gap is with each change, a dot a seed: of weights with another past
    when their squared error is as large as that of the pretrained network, of which a fifth is left then; of width and
    pull when a fifth of the network's own is left."""
    seeds = _of_seeds()
    fig, ax = plotting.figure(height=2.6)
    for place, ratios in enumerate(seeds.values()):
        ax.plot(ratios, np.full(len(ratios), place), linestyle="", marker="o", color=plotting.GREEN, alpha=0.8)
    ax.axvline(1, color=plotting.BLACK, linewidth=1)
    ax.set_xscale("log")
    ticks = (0.2, 0.5, 1, 2, 5)
    ax.set_xticks(ticks, [f"× {tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_yticks(range(len(seeds)), list(seeds))
    ax.set(ylim=(len(seeds) - 0.5, -0.5), xlabel="← more linear\u2003relative Taylor gap, with the change over without"
                                                "\u2003less linear →")
    listed = " ".join(f"{what.capitalize()}: {', '.join(f'{ratio:.2f}' for ratio in sorted(ratios))}."
                      for what, ratios in seeds.items())
    counts = sorted({len(ratios) for what, ratios in seeds.items() if "pull" not in what})  # the pull has two a seed
    return plotting.show(fig, f"The relative Taylor gap with a change over that without, a dot a seed. {listed}",
                         f"Kept in the repository: {' or '.join(map(str, counts))} seeds of profile full, tanh "
                         "networks on even or odd. In the first three rows all are stopped at the same squared error, "
                         "in the last two each at a fifth of its own. Last row: two λ a seed.")


def reading_of_causes() -> Page:
    """Which change makes the network more linear on which seeds, at the same training error, and whether what was
    learned before is the reason."""
    random, as_long, shuffled, wide, pulled = _of_seeds().values()
    sentences = []
    if (random > 1).all():
        sentences.append("At the same training error, finetuning from pretrained weights was more linear than from "
                         f"random ones on all {len(random)} seeds.")
    if (as_long < random).all() and (shuffled < random).all():
        controls = np.concatenate([as_long, shuffled])
        sentences.append(f"""But so it was from weights of the same length that had learned nothing, and in
                             {(controls < 1).sum()} of {len(controls)} cases they were even more linear than the
                             pretrained ones. So what had been learned is not needed for it.""")
    if (wide < 1).sum() > len(wide) / 2:
        sentences.append(f"More units made it more linear, too, on {(wide < 1).sum()} of {len(wide)} seeds.")
    if (np.abs(pulled - 1) < CLEARLY).all():
        sentences.append("The pull had changed next to nothing by then. A possible reason is that it had hardly had "
                         "time.")
    first, *rest = [" ".join(sentence.split()) for sentence in sentences] or ["No change did the same on all seeds."]
    return Page(" ".join([first, *rest]), Markup("<p><b>{}</b> {}</p>").format(first, " ".join(rest)))


def lengths_table(sweep: xarray.Dataset) -> Page:
    """The relative Taylor gap when a fifth of the error is left, and at the same error, and the length of θ₀, from four
    starts."""
    rows = [(start, *(f"{float(gap):.3f}" for gap in gaps), f"{float(length):.1f}")
            for start, *gaps, length in zip(names(sweep.start), sweep.taylor, sweep.taylor_same, sweep.length)]
    return table(("θ₀", "relative Taylor gap, a fifth of its error left", "all at the same error", "‖θ₀‖"), rows,
                 after=paragraph(caption(sweep)))


# -- the λ table -----------------------------------------------------------------------------------

ROWS = {"distance ‖θ − θ₀‖": ("distance", "{:.2f}"), "trained gap": ("trained_gap", "{:.2f}"),
        "Taylor gap": ("taylor_gap", "{:.2f}"), "trained gap / move": ("trained", "{:.2f}"),
        "Taylor gap / move": ("taylor", "{:.2f}"), "KL(f‖f̄), nats": ("kl", "{:.3f}"),
        "{what} left": ("left", "{:.0%}"), "accuracy, network": ("network_accuracy", "{:.2f}"),
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
            cells = ("–" if np.isnan(value) else form.format(value) for value in values)
            rows.append((title.format(what=left_of(setting)), *cells))
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
        λ = {last_lam:g}, which leaves {left:.0%} of the {what}. Stopped early with as much of it left, plain
        finetuning has a smaller gap than {count} of {of} λ; averaged over them, its relative Taylor gap is {mean:.3f}
        {side}, its relative trained gap {trained:.3f} {trained_side}.""",
                   what=left_of(setting), plain=float(gaps.sel(lam=0.0)), largest=largest, most=float(gaps.max()),
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
    return reading("Adam, with the pull beside it", """
        Divide each number at λ = 0 by that at λ = {lam:g}. This gives {far:.1f} for the distance, {taylor:.1f} for the
        Taylor gap and {trained:.1f} for the trained gap. The accuracy goes from {accuracy_0:.2f} to
        {accuracy_last:.2f}.""",
                   lam=float(last.lam), far=float(first.distance / last.distance),
                   taylor=float(first.taylor_gap / last.taylor_gap),
                   trained=float(first.trained_gap / last.trained_gap),
                   accuracy_0=float(first.network_accuracy), accuracy_last=float(last.network_accuracy))


def reading_of_the_source() -> Page:
    """What the slides' own table says of itself."""
    parts = []
    for name, rows in experiment.near.REPORTED.items():
        rising = {row: values[::-1] for row, values in rows.items()}  # from λ = 0 on
        parts.append(said("""{name}: {far:.1f} for the distance, and {gap:.2f} for the gap""", name=name,
                          far=rising["distance"][0] / rising["distance"][-1], gap=rising["gap"][0] / rising["gap"][-1]))
    return reading("The slides' own table", """
        Here, too, divide the number at λ = 0 by that at λ = 50. {parts}. A gap that is a Taylor remainder of second
        order would fall with the square of the distance.""", parts=". ".join(parts))


def reading_of_the_cost(sweep: xarray.Dataset) -> Page:
    """Even or odd: what the strongest pull does to the gap and to the accuracy on test images."""
    lams, gaps, early, accuracy, _, _ = _at_the_end(sweep, EVEN_ODD)
    cost = Difference.of(accuracy[-1], accuracy[0], experiment.near.PROFILES[sweep.attrs["profile"]].test)
    told = said("changed by {points:+.1f} points (two standard errors are at most {wide:.1f})", points=100 * cost.value,
                wide=100 * WIDE * cost.error)
    return reading("Even or odd", """
        From λ = {first:g} to λ = {last:g} the relative Taylor gap went from {before:.2f} to {after:.2f}, and the
        accuracy on test images {told}. {news}""",
                   first=lams[0], last=lams[-1], before=gaps[0], after=gaps[-1], told=told,
                   news="" if cost.is_news else "On this seed that may be noise.")


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
