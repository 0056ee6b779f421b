"""I(k) and R(k), layer by layer; both sides of Theorem 2."""
import numpy as np
import xarray

from lessons.cart.experiment.bell import SEVERAL, name_of
from lessons.cart.experiment.grid import HOWS, READINGS
from lessons.cart.experiment.readings import LOW_RANK, along_the_ranks, one, row_space
from lessons.cart.panels.parts import Ranks, listed
from lessons.kit import page, plotting
from lessons.kit.page import Markup, Page, paragraph, quiet, said, table
from lessons.kit.plotting import BLACK, BLUE, RED, Look, still
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, chips, key, view

LITTLE = 0.1  # a change by less than this share is hardly one
LOWEST = 0.01  # where the axis of I(k) begins
TICKS = {0.01: "0.01", 0.03: "0.03", 0.1: "0.1", 0.3: "0.3", 1.0: "1"}
SETTINGS = {name_of(0.0): "0 % of the pixels", name_of(0.5): "50 %", name_of(0.75): "75 %", name_of(0.875): "87.5 %",
            name_of(1.0): "100 %", SEVERAL: "two data sets"}  # with a chip
_ALT = """
    {setting}, {layer}, I(k) as {reading}, {rank}: centred {here:.3f}, from θ₀ {there:.3f}. By rank, centred {centred};
    from θ₀ {plain}. R(k): {of_R}. Gain in layer 1 at λ = 1: {of_g}. Accuracy at λ = 1: {of_a}."""
OF_READING = dict(zip(READINGS, (Look(BLUE, "s"), Look(RED, "^"))))


@view
def per_layer(sweep: xarray.Dataset):
    """Left, how much task vectors overlap, I(k) a pair of tasks, centred and in grey from θ₀; right, what could go with
    CART's accuracy at λ = 1: the gain of layer 1, and in grey I(k) and R(k), each from its lowest value to its highest.

    Controls: rank, setting, layer, reading. Sets of tasks whose networks are narrower are left out: this axis is not
    theirs.
    """
    settings = [name for name in SETTINGS if name in sweep.setting.values]
    parts = {name: one(sweep, setting=name) for name in settings}
    ranks = Ranks(sweep)

    def draw(rank, setting, layer, reading):
        part, row = parts[setting], position(ranks.values, rank, "rank")
        overlap = part.interference.sel(layer=layer, reading=reading)
        centred, plain = (overlap.sel(how=how).values for how in HOWS)
        of_cart = part.sel(how=HOWS[0])
        measures = {"accuracy": of_cart.accuracy.sel(part="test", lam=1.0).mean("task").values,
                    "gain": of_cart.gain.sel(lam=1.0).values, "I(k)": centred,
                    "R(k)": of_cart.error.sel(layer=layer).values}
        values = {"centred": above(LOWEST, centred), "plain": above(LOWEST, plain),
                  **{name: from_0_to_1(numbers) for name, numbers in measures.items()}}
        alt = said(_ALT, setting=setting, layer=layer, reading=reading, rank=ranks.said(rank), here=centred[row],
                   there=plain[row], centred=listed(centred), plain=listed(plain),
                   **{f"of_{name[0]}": listed(numbers) for name, numbers in measures.items()})
        return Frame(finding(centred[-1], plain[-1], reading), alt, values,
                     key(("merged", "centred, as in CART"),
                         ("", "grey: task vectors from θ₀, and the paper’s two measures")))

    places = ranks.places
    left = Chart(ranks.view_axis("directions kept"),
                 Axis("overlap of two tasks’ directions, I(k) (log)", LOWEST, 1, kind="log", digits=2, ticks=TICKS),
                 (Line("plain", "other", "from θ₀", x=places), Line("centred", "merged", "centred", x=places),
                  Handle("rank")))
    right = Chart(ranks.view_axis("directions kept in layer 1"),
                  Axis("from its lowest value to its highest, at λ = 1", 0, 1, ticks={0: "lowest", 1: "highest"}),
                  (Line("I(k)", "other", "overlap I(k)", x=places),
                   Line("R(k)", "other", "what is cut, R(k)", x=places),
                   Line("gain", "single", "gain in layer 1", x=places),
                   Line("accuracy", "merged", "accuracy", x=places, dots=True, bare=True), Handle("rank")))
    layers = [layer for layer in names(parts[settings[0]].layer) if all(layer in part.layer for part in parts.values())]
    controls = {"rank": ranks.view_slider(LOW_RANK),
                "setting": chips("tasks", {SETTINGS[name]: name for name in settings}, name_of(1.0)),
                "layer": chips("layer", layers, more=True), "reading": chips("Eq. 5 as", READINGS, more=True)}
    return {"kicker": "Chapter 8: interference", "charts": [left, right], "draw": draw, "controls": controls,
            "caption": f"{caption(sweep)} I(k): mean over all pairs of tasks."}


def above(lowest: float, values: np.ndarray) -> np.ndarray:
    """Numbers, and gaps where they are lower than the axis goes."""
    return np.where(values < lowest, np.nan, values)


def from_0_to_1(values: np.ndarray) -> np.ndarray:
    """Numbers stretched so that the lowest is 0 and the highest 1."""
    return (values - values.min()) / (values.max() - values.min())


def finding(centred: float, plain: float, reading: str) -> str:
    """Whether centred task vectors overlap more or less than those from θ₀, by more than a tenth. No error is known for
    these two numbers: they are means over all pairs of tasks of one set."""
    start = "As printed, centring" if reading == READINGS[1] else "Centring"
    if centred > (1 + LITTLE) * plain:
        return f"{start} makes the tasks’ directions overlap more, not less"
    if centred < (1 - LITTLE) * plain:
        return f"{start} makes the tasks’ directions overlap less"
    return f"{start} hardly changes how much the tasks’ directions overlap"


def reading_of_figure_2(sweep: xarray.Dataset) -> Page:
    """I(8 %) a pair of tasks in layer 1, centred and not, in both readings, for every set of tasks."""
    rows = []
    lower = []
    for name in map(str, sweep.setting.values):
        part = one(sweep, setting=name)
        values = [row_space(part, how, reading) for reading in READINGS for how in HOWS]
        rows.append((name, *(f"{value:.3f}" for value in values)))
        if values[0] < values[1]:
            lower.append(name)
    head = ("", *(f"as {reading}, {how}" for reading in READINGS for how in ("centred", "from θ₀")))
    text = said("As meant, I(8 %) is lower when centred for {lower} of {all} sets of tasks{names}.",
                lower=len(lower), all=len(rows), names=f": {', '.join(lower)}" if lower else "")
    return table(head, rows, text, after=paragraph(text))


def reading_of_figure_3(sweep: xarray.Dataset) -> Page:
    """What goes with accuracy over the ranks: I(k), R(k), what the first layer misses, or its gain.

    A rank correlation over n ranks, if nothing went with anything, would have a standard deviation of 1/√(n − 1).
    """
    correlations = {str(name): along_the_ranks(one(sweep, setting=name)) for name in sweep.setting.values}
    measures = next(iter(correlations.values()))
    rows = [(name, *(f"{value:.2f}" for value in values.values())) for name, values in correlations.items()]
    ranks = sweep.sizes["rank"]
    title = said(Markup("""
        <p><b>Rank correlations with CART's accuracy, over {ranks} ranks, at λ = 1</b> (1: the two always go together;
        for ranks in random order, half of the time it would lie within ± {chance:.2f}, and nineteen times in twenty
        within ± {wide:.2f}).</p>"""),
                 ranks=ranks, chance=0.67 / (ranks - 1) ** 0.5, wide=1.96 / (ranks - 1) ** 0.5)
    return table(("", *measures), rows, before=title, after=quiet(caption(sweep)))


# -- Theorem 2 -------------------------------------------------------------------------------------

@still
def theorem(sweep: xarray.Dataset):
    """Both sides of Theorem 2 against the overlap of planted row spaces, and how far random tasks stay below the
    bound."""
    fig, (left, right) = plotting.figure(2, height=3.9)
    overlaps = sweep.overlap.values
    left.plot(overlaps, sweep.loss.clip(1e-6), color=BLACK, marker="o", markersize=4, label="task interference L")
    for reading, look in OF_READING.items():
        bound = sweep.bound.sel(reading=reading).clip(1e-6)
        left.plot(overlaps, bound, color=look.colour, marker=look.marker, markersize=4, label=f"bound, I as {reading}")
    left.set(yscale="log", xlabel="overlap of the row spaces (0 orthogonal, 1 the same)", ylabel="L and its bound",
             title="Three planted tasks", ylim=(1e-2, None))
    left.legend()
    bins = np.logspace(-6, 0.5, 30)
    for (reading, look), line in zip(OF_READING.items(), ("-", "--")):
        right.hist(sweep.ratio.sel(reading=reading).clip(bins[0]), bins, histtype="step", linewidth=2, linestyle=line,
                   color=look.colour, label=f"I as {reading}")
    right.axvline(1, color=BLACK, linestyle="--", linewidth=1.2, marker="")
    right.text(0.85, 0.95, "a counter-\nexample\nlies right", transform=right.get_xaxis_transform(), ha="right",
               va="top", fontsize=9.5)
    right.set(xscale="log", xlabel="L as a share of the bound", ylabel="random tasks",
              title="Assumptions as they must be meant")
    right.legend(loc="upper left")
    bounds = sweep.bound.isel(overlap=0)
    most = sweep.ratio.max("trial")
    trials = sweep.sizes["trial"]
    alt = said("""Left: at overlap 0, L is {loss:.2g} and the bound {meant:.2g} with I as meant, {printed:.3g} with I as
                  printed, which is the same at every overlap. Right: L over the bound for {trials} random tasks is at
                  most {most_meant:.3f} (meant) and {most_printed:.3f} (printed).""",
               loss=sweep.loss.values[0],
               meant=bounds.sel(reading="meant").item(),
               printed=bounds.sel(reading="printed").item(),
               trials=trials,
               most_meant=most.sel(reading="meant").item(),
               most_printed=most.sel(reading="printed").item())
    generated = sweep.assign_attrs(source="generated matrices (generated)", source_kind="generated",
                                   network="linear models", images=f"{trials} random sets of tasks")
    return plotting.show(fig, alt, caption(generated))


def reading_of_the_theorem(sweep: xarray.Dataset) -> Page:
    """Where Theorem 2 holds, where it fails, and what it says of a real layer, with this sweep's numbers."""
    square = sweep.literal.sel(which="square V")
    i_k = sweep.literal.sel(which="I(k)")
    return page.reading("Choi et al.’s Theorem 2",
                        """With V_t thin (one column a singular value that is not zero) and I at full rank, L was at
                           most {most:.2f} of the bound for {trials} sets of tasks: no counterexample. With I as
                           meant, but everything else read to the letter, a has d entries, V_t is square, and V_t·a
                           is any vector: then L = {square_loss:g} and the bound is {square_bound:g}. With I(k) for k
                           below the rank, which is what Figures 2 and 3 show: L = {i_k_loss:.2f}, bound
                           {i_k_bound:g}. And for the first layer of the MLPs
                           above, whose smallest singular values are tiny, the bound is {slack:.0e} times L: true, and
                           no help.""",
                        most=sweep.ratio.max().item(),
                        trials=sweep.sizes["trial"],
                        square_loss=square.sel(side="L").item(),
                        square_bound=square.sel(side="bound").item(),
                        i_k_loss=i_k.sel(side="L").item(),
                        i_k_bound=i_k.sel(side="bound").item(),
                        slack=sweep.slack.item())
