"""Eq. 2 and Eq. 3: panel (b), the source's Figure 7 redrawn from our measurement, and from which λ on they no longer
hold. Why they miss is in `causes`."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Markup, Page, agrees, capital, quiet, reading, said, table
from lessons.kit.plotting import BLUE, COLOURS, GREY, WithQuartiles, still, violin
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, chips, key, slider, view
from lessons.lines.panels import in_words
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import LAYERS, PAIRS
from lessons.task_arithmetic.panels.common import OF_LAM, dotted, grid, ordered

QUARTILES = ("mean", "low", "high")


# -- panel (b) -------------------------------------------------------------------------------------

_ALT = """
    {equation} for {ends} at λ = {lam:.2f}. 1 − cosine, gap against baseline: {by_layer}. In {layer} half of the images
    have a gap between {gap_low:.4f} and {gap_high:.4f}, and a baseline between {base_low:.4f} and {base_high:.4f}."""


@view
def equations(sweep: xarray.Dataset):
    """Panel (b): Eq. 2 or Eq. 3 against λ in one layer, with the middle half of the images; grey, in the others. Left,
    1 − cosine_arith as a share of 1 − cosine_base; right, coef. Controls: lam, layer, ends."""
    lams = grid(sweep.step)
    of_all = {str(name): _numbers(sweep.sel(ends=name)) for name in sweep.ends.values}

    def draw(lam, layer, ends):
        numbers, row, place = of_all[ends], position(lams, lam, "lam"), LAYERS.index(layer)
        gap, coef = (numbers[name].T for name in ("share", "coef_mean"))  # (layers, λ)
        values = {"gap of this layer": gap[place], "coef of this layer": coef[place], "as long as the mean": 1}
        values |= {"middle half": [numbers[name][:, place] for name in ("share_low", "share_high")],
                   "middle half of coef": [numbers[name][:, place] for name in ("coef_low", "coef_high")]}
        for name, of_gap, of_coef in zip(LAYERS, gap, coef):
            for mark, along in ((f"gap, {name}", of_gap), (f"coef, {name}", of_coef)):
                values[mark] = np.full(len(lams), np.nan) if name == layer else along
        at_lam = {name: part[row] for name, part in numbers.items()}
        sure = {name: at_lam[name][place] for name in ("gap_low", "gap_high", "base_low", "base_high")}
        alt = said(_ALT, equation="Eq. 2" if ends in PAIRS else "Eq. 3", ends=ends, lam=lam,
                   by_layer=_by_layer(at_lam), layer=in_words(layer), **sure)
        return Frame(finding_of_equations(gap, coef), alt, values, _key(ends, layer))

    return {"kicker": "Chapter 4: do the features follow the weights?", "charts": _charts(of_all.values()),
            "draw": draw,
            "tries": ("Move the slider to the right. When does the left line leave 0, and the right one 1?",
                      "Choose the other layers. In which one do the features get too short first?",
                      "Under “More”, choose “90° and its negative”, which is Eq. 3."),
            "controls": {"lam": slider("λ", lams, 0.5, words=lambda lam: f"λ = {lam:g}"),
                         "layer": chips("layer", LAYERS, "layer 3"),
                         "ends": chips("task vectors", ordered(of_all), more=True)},
            "caption": f"{caption(_of_features(sweep))} Lines: mean over the images. A gap of 100 % is the distance "
                       "between the two ends, the baseline; coef 1 is the length of their mean. Above a gap of "
                       f"{mlp.SHARE:.0%}, features are said to turn, below a coef of {mlp.LENGTH:g} to be too short."}


def _numbers(part):
    """Of one sum or negation {name: (λ, layers)}: means and quartiles over the images; gaps also as shares of the mean
    baseline, coef's quartiles from its distribution."""
    part = part.transpose("step", "layer", "bin", ...)
    numbers = {f"{name}_{quantity}": part[f"{name}_{quantity}"].values for name in ("gap", "base")
               for quantity in QUARTILES}
    for end, name in (("", "mean"), ("_low", "low"), ("_high", "high")):
        numbers[f"share{end}"] = np.maximum(numbers[f"gap_{name}"] / numbers["base_mean"], 0)
    below = part.coef_count.values.cumsum(-1) / part.coef_count.values.sum(-1, keepdims=True)
    for name, share in (("coef_low", 0.25), ("coef_high", 0.75)):
        numbers[name] = part.bin.values[(below >= share).argmax(-1)]
    return numbers | {name: part[name].values for name in ("coef_mean", "deviation")}


def _key(ends, layer):
    """What the lines stand for."""
    between = f"Eq. 2: the task vectors of {ends}, added" if ends in PAIRS else \
        f"Eq. 3: the task vector of {ends.partition(' and')[0]}, added and subtracted"
    return key(("", between), ("merged", f"{capital(in_words(layer))}, with the middle half of the images"),
               ("", "grey: the other layers"))


def _charts(numbers):
    """The gap and coef over λ, on axes on which all sums and negations have room."""
    highest = max(part["share_high"].max() for part in numbers)
    lowest = min(part["coef_low"].min() for part in numbers)
    longest = max(part["coef_high"].max() for part in numbers)
    left = Chart(OF_LAM, Axis("gap, share of the ends' distance", 0, 1.1 * float(highest), unit="percent", digits=1),
                 (*(Line(f"gap, {layer}", "other", layer) for layer in LAYERS), Band("middle half", "merged"),
                  Line("gap of this layer", "merged", near=True), Handle("lam")))
    right = Chart(OF_LAM, Axis("coef, along the ends' mean", float(lowest) - 0.02, float(longest) + 0.02, digits=2),
                  (*(Line(f"coef, {layer}", "other", layer) for layer in LAYERS),
                   Reference("as long as the mean", "single"), Band("middle half of coef", "merged"),
                   Line("coef of this layer", "merged", near=True), Handle("lam")))
    return [left, right]


def finding_of_equations(gap: np.ndarray, coef: np.ndarray) -> str:
    """Whether the features follow the weights, and what they do where they no longer do: turn, come out too short, or
    both; by the shares from which on an equation is said to hold no longer, in any layer.

    Args:
        gap: (layers, λ) as a share of the baseline, mean over the images.
        coef: (layers, λ), mean over the images.
    """
    turned, short = (beyond.any(0) for beyond in (gap > mlp.SHARE, coef < mlp.LENGTH))
    if turned[0] or short[0]:
        return "The features do not follow the weights, even for small λ"
    happens = [says for says, beyond in (("turn", turned), ("come out too short", short)) if beyond.any()]
    if not happens:
        return "The features follow the weights, whatever λ is"
    return f"For small λ the features follow the weights, for large λ they {' and '.join(happens)}"


def _of_features(sweep):
    """The sweep, saying on how many images the features were measured."""
    return sweep.assign_attrs(images=f"{sweep.attrs['feature_images']:,} test images a task")


def _by_layer(now):
    texts = []
    for place, layer in enumerate(LAYERS):
        numbers = {name: now[name][place] for name in ("gap_mean", "base_mean", "coef_mean", "deviation")}
        texts.append(said("""{layer} {gap_mean:.4f} against {base_mean:.4f}, coef {coef_mean:.3f}, deviation
                             {deviation:.4f}""", layer=layer, **numbers))
    return "; ".join(texts)


# -- Figure 7 --------------------------------------------------------------------------------------

SUMS = [mlp.name_of(*pair) for pair in ((22.5, 45.0), (22.5, 90.0), (45.0, 135.0), (90.0, 180.0))]
OPPOSITES = [mlp.negation_of(angle) for angle in (22.5, 45.0, 90.0, 180.0)]


@still
def figure_7(sweep: xarray.Dataset, lams=(0.2, 0.4)):
    """Figures 7 and 8 of CTL at its λ, 0.4, and at half of it, which its labels for Eq. 2 can mean too: gap and
    baseline for four pairs and four negations, and the distribution of coef in the third layer."""
    fig, axes = plotting.figure(4, 2, height=6.2, sharey="row")
    third = sweep.sel(layer="layer 3")
    columns = [(ends, lam) for ends in (SUMS, OPPOSITES) for lam in lams]
    for (top, bottom), (ends, lam) in zip(axes.T, columns):
        part = third.sel(ends=ends, step=lam)
        places = np.arange(part.sizes["ends"])
        base = WithQuartiles(top, places - 0.13, GREY, "s", "baseline")
        gap = WithQuartiles(top, places + 0.13, BLUE, "o", "arith")
        for markers, name in ((base, "base"), (gap, "gap")):
            markers.set_values(*(part[f"{name}_{quartile}"] for quartile in QUARTILES))
        top.set(title=f"{'Addition' if ends is SUMS else 'Negation'}, λ = {lam:g}", yscale="log", ylim=(1e-4, 2))
        for place in range(part.sizes["ends"]):
            of_end = part.isel(ends=place)
            violin(bottom, place, of_end.bin.values, of_end.coef_count.values, of_end.coef_median.item(),
                   COLOURS[place], width=0.35)
        dotted(bottom, 1)
        bottom.set(ylim=(0.7, 1.2))
        short = [name.replace(" and its negative", "").replace(" and ", "\n") for name in ends]
        for ax in (top, bottom):
            ax.set_xticks(places, short)
    axes[0, 0].set_ylabel("1 − cosine, layer 3 (log)")
    axes[1, 0].set_ylabel("coef, layer 3")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    part = third.sel(ends=SUMS + OPPOSITES, step=list(lams))
    alt = said("""Layer 3. 1 − cosine_arith lies between {gap[0]:.4f} and {gap[1]:.4f}, the baseline between
                  {base[0]:.3f} and {base[1]:.3f}; the mean of coef between {coef[0]:.3f} and {coef[1]:.3f}.""",
               gap=_range(part.gap_mean), base=_range(part.base_mean), coef=_range(part.coef_mean))
    below = " Above: mean and quartiles over the images. Below: distribution over the images, line: median."
    return plotting.show(fig, alt, caption(_of_features(sweep)) + below)


def _range(values):
    return values.min().item(), values.max().item()


def reading_of_figure_7(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 7, 8 and 19 to 24 of Zhou et al. and ours, with this sweep's
    numbers."""
    adding = mlp.claim_10(sweep)
    negating = mlp.claim_11(sweep)
    small = max(adding["gap_over_base_at_0.4"], negating["gap_over_base_at_0.4"]) < 0.2
    ends = all(numbers["coef_at_1"] < mlp.LENGTH and numbers["gap_over_base_at_1"] > mlp.SHARE
               for numbers in (adding, negating))
    made = reading("Figures 7, 8 and 19 to 24 of Zhou et al., and ours", """
        {agrees}: at both λ that the labels for Eq. 2 can mean, and for Eq. 3, the gap is {part} of the baseline.
        Differs: the source shows λ = 0.4 only, so it cannot show where the equations end.{end}""",
                   agrees=agrees(small), part="less than a fifth" if small else "not everywhere less than a fifth",
                   end=" At λ = 1 the features half-way between the ends are shorter than the mean of the ends’, and "
                       "they point elsewhere, too." if ends else "")
    below = said("""Means over the images. The gap is that of the worst layer and the worst of 28 pairs (Eq. 2) or eight
                    tasks (Eq. 3). Coef is the mean over the pairs or tasks, in the worst layer. If an equation held
                    exactly, the gap would be 0 and coef 1.""")
    rows = _at_three("Eq. 2", adding) + _at_three("Eq. 3", negating)
    shown = table(("", "gap, share of the baseline, at most", "coef, at least"), rows, before=made.page,
                  after=quiet(below))
    return Page(f"{made.text}\n{shown.text}\n{below}", shown.page)


def _at_three(equation, numbers):
    """What an equation comes to at three λ: rows."""
    digits = {"0.2": (1, 3), "0.4": (1, 3), "1": (0, 2)}  # of the gap in per cent, and of coef
    return [(f"{equation}, λ = {lam}", f"{numbers[f'gap_over_base_at_{lam}']:.{of_gap}%}",
             f"{numbers[f'coef_at_{lam}']:.{of_coef}f}") for lam, (of_gap, of_coef) in digits.items()]


# -- where it ends --------------------------------------------------------------------------------

def where_it_ends(sweep: xarray.Dataset) -> Page:
    """A table: from which λ on Eq. 2 and Eq. 3 miss by more than a stated share, layer by layer."""
    limits = mlp.limits(sweep)
    kinds = {"gap": f"gap over {mlp.SHARE:.0%} of the baseline", "coef": f"coef below {mlp.LENGTH:g}"}
    rows = []
    for equation in map(str, limits.equation.values):
        for name, label in kinds.items():
            values = limits[name].sel(equation=equation).values
            rows.append((f"{equation}, {label}", *("never" if np.isnan(value) else f"{value:g}" for value in values)))
    below = quiet("The smallest λ of those measured; mean over all pairs or tasks.")
    return table(("from which λ on", *LAYERS), rows, after=below)


def reading_of_the_limits(sweep: xarray.Dataset) -> Page:
    """From which λ on some layer's features turn too far or get too short, adding and subtracting; with this sweep's
    numbers."""
    limits = mlp.limits(sweep)
    first = {(equation, name): limits[name].sel(equation=equation).min().item()  # NaN: in no layer
             for equation in ("Eq. 2", "Eq. 3") for name in ("gap", "coef")}
    title = "The features follow the weights at small λ, and not at large λ." \
        if all(lam > sweep.step.min() for lam in first.values()) else "Where the features stop following the weights."
    text = said("""If you add two task vectors, the gap is above {share:.0%} of the distance between the ends {turn},
                   and coef is below {length:g} {short}. If you subtract one, the gap is that large {turn_back}, and
                   coef that small {short_back}. (These are means over all pairs or tasks, in the layer where it
                   happens first.)""", share=mlp.SHARE, length=mlp.LENGTH,
                turn=_from(first["Eq. 2", "gap"]), short=_from(first["Eq. 2", "coef"]),
                turn_back=_from(first["Eq. 3", "gap"]), short_back=_from(first["Eq. 3", "coef"]))
    if not np.isnan(first["Eq. 3", "coef"]):
        text += " When you subtract, the middle is θ₀, so θ₀’s own features are then shorter than the mean of the ends."
    best = sweep.many.sel(num_tasks=2).idxmax("many_lam").item()
    if all(lam <= best for lam in (first["Eq. 2", "gap"], first["Eq. 2", "coef"])):
        text += " The best λ for two tasks that we tried is beyond both limits."
    return Page(f"{title} {text}", Markup("<p><b>{}</b> {}</p>").format(title, text))


def _from(lam):
    return "at no λ up to 1" if np.isnan(lam) else f"from λ = {lam:g} on"
