"""Why Eq. 2 and Eq. 3 miss, in pictures: how fast, and by which cause."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Markup, Page, said, table
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, Look, still
from lessons.kit.sweep import caption
from lessons.task_arithmetic.experiment import causes
from lessons.task_arithmetic.experiment.mlp import LAYERS

LOOKS = dict(zip(LAYERS, (Look(BLACK, "o"), Look(BLUE, "s"), Look(GREEN, "^"), Look(ORANGE, "D"))))
STYLES = {"Eq. 2": "-", "Eq. 3": "--"}


@still
def growth(sweep: xarray.Dataset):
    """Left, what Eq. 2 misses over λ^1.5: level means λ^1.5, the grey line λ². Right, the share that kinks make of what
    Eq. 2 and Eq. 3 miss, against λ."""
    fig, (left, right) = plotting.figure(2, height=4.6)
    lams = sweep.step.values
    missed = sweep.missed.sel(ends=causes.EQUATIONS["Eq. 2"]).mean("ends")
    for layer, look in LOOKS.items():
        scaled = missed.sel(layer=layer).values / lams ** 1.5
        left.plot(lams, scaled, color=look.colour, marker=look.marker, label=layer)
    start = missed.isel(step=0).values.mean() / lams[0] ** 1.5
    few = lams[:4]
    left.plot(few, 0.7 * start * (few / lams[0]) ** 0.5, color=GREY, linestyle=":", marker="", label="as steep as λ²")
    left.set(title="Eq. 2: what is missed, over λ^1.5", xlabel="λ (logarithmic)", xscale="log", yscale="log",
             ylabel="missed share of the length / λ^1.5")
    left.set_yticks((0.3, 0.5, 1.0), ("0.3", "0.5", "1"))
    for equation, line in STYLES.items():
        share = causes.shares(sweep, equation)
        for layer in LAYERS[1:]:
            look = LOOKS[layer]
            right.plot(lams, share.sel(layer=layer), color=look.colour, marker=look.marker, linestyle=line,
                       markerfacecolor=look.colour if equation == "Eq. 2" else "none", label=f"{equation}, {layer}")
    right.axhline(0.5, color=GREY, linewidth=1, linestyle=":", marker="")
    right.set(title="Which part of it kinks make", xlabel="λ (logarithmic)", xscale="log", ylim=(0, 1.02),
              ylabel="share of kinks; the rest: curvature")
    right.set_yticks(np.linspace(0, 1, 5))
    for ax in (left, right):
        ax.set_xticks(lams, [f"{lam:g}" for lam in lams])
        ax.minorticks_off()
    plotting.in_percent(right.yaxis)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=2, handlelength=4)
    sentences = []
    for equation in causes.EQUATIONS:
        share = causes.shares(sweep, equation).sel(layer="output")
        values = ", ".join(f"{value:.0%} at λ = {lam:g}" for lam, value in zip(lams, share.values))
        sentences.append(f"{equation}: of what the output misses, kinks make {values}")
    return plotting.show(fig, f"{'; '.join(sentences)}.", caption(sweep) + " Means over 28 pairs or eight tasks.")


def reading_of_growth(sweep: xarray.Dataset) -> Page:
    """Exponents and shares, with this sweep's numbers."""
    exponents = {equation: {part: causes.exponents(sweep, equation, part) for part in ("missed", "kinks", "curvature")}
                 for equation in causes.EQUATIONS}
    shares = {equation: causes.shares(sweep, equation).sel(layer="output") for equation in causes.EQUATIONS}
    early = causes.gates_matter(sweep, "Eq. 2", 0.2)
    late = causes.gates_matter(sweep, "Eq. 2", 1.0)
    leads = "kinks are the larger part with each choice" if early[0] > 0.5 else \
        "which part is larger depends on the choice"
    lead = "which part is larger depends on the choice" if late[0] < 0.5 < late[1] else \
        "which part is larger does not depend on the choice"
    sure = said("""How sure are the shares of Eq. 2? In the table, the ReLUs are frozen at the middle network. They can
                   also be frozen at either end. Over these three choices, the share of kinks at the output is between
                   {early[0]:.0%} and {early[1]:.0%} at λ = 0.2, so {leads}. At λ = 1 it is between {late[0]:.0%} and
                   {late[1]:.0%}, so {lead}.""",
                early=early, late=late, leads=leads, lead=lead)
    rows = [[equation, *(f"{of_part['output']:.2f}" for of_part in parts.values()),
             *(f"{shares[equation].sel(step=lam).item():.0%}" for lam in (0.1, 0.4, 0.6, 1.0))]
            for equation, parts in exponents.items()]
    of_missed = exponents["Eq. 2"]["missed"]
    first = said("""In layer 1 there are kinks alone. What Eq. 2 misses there grows like λ to the power {first:.2f} (λ
                    up to {small:g}; as a share of the features’ length). {between}The table has the powers of λ at the
                    output, and the share of kinks in what is missed there.""",
                 first=of_missed["layer 1"], small=causes.SMALL,
                 between="What Eq. 2 misses at the output grows with a larger power, but with a smaller one than the "
                         "output’s curvature. "
                 if of_missed["layer 1"] < of_missed["output"] < exponents["Eq. 2"]["curvature"]["output"] else "")
    mixed = "At the output, the kinks’ part grows with a larger power of λ than in layer 1, perhaps because the " \
            "layers between layer 1 and the output mix what many units miss. " \
        if exponents["Eq. 2"]["kinks"]["output"] > of_missed["layer 1"] else ""
    last = said("{mixed}{sure}", mixed=mixed, sure=sure)
    paragraph = Markup("<p>{}</p>")
    return table(("at the output", "power of λ: what is missed", "power of λ: its kinks", "power of λ: its curvature",
                  *(f"share of kinks at λ = {lam:g}" for lam in (0.1, 0.4, 0.6, 1.0))), rows,
                 before=Markup("<p><b>What was measured.</b> {}</p>").format(first), after=paragraph.format(last))
