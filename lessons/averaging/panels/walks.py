"""Is it the distance? One model pulled back and another pushed out, each along its own task vector."""
import numpy as np
import xarray

from lessons.averaging.experiment.models import BOLD
from lessons.averaging.experiment.walks import OF_THE_TWENTY, WALKERS
from lessons.averaging.panels.outliers import LOOKS, USUAL
from lessons.kit import plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.plotting import GREY, still
from lessons.kit.sweep import caption

_LOOKS = {OF_THE_TWENTY: LOOKS[USUAL], BOLD: LOOKS[BOLD]}
NEAR, FAR = 4.0, 20.0
CLEAR = 0.05  # a difference of accuracies that is called one: several standard errors


@still
def nearer_and_farther(sweep: xarray.Dataset):
    """How far the outputs of averaged weights point away from the ensemble's: left, against the walker's distance from
    the pretrained network; right, against the distances between the three."""
    fig, (left, right) = plotting.figure(2, height=3.8, sharey=True)
    for walker in WALKERS:
        part = sweep.sel(walker=walker)
        look = _LOOKS[walker]
        style = {"color": look.colour, "marker": look.marker, "label": walker}
        left.plot(part.length, part.walk_gap, **style)
        right.plot(part.walk_apart, part.walk_gap, **style)
    farthest = sweep.distance[:20].max().item()
    left.axvline(farthest, color=GREY, linestyle=":", linewidth=1.4, marker="")
    left.set(yscale="log", xlabel="distance from the pretrained network", xlim=(0, FAR + 1),
             ylabel="average to ensemble, 1 − cosine\n(logarithmic)", title="Moved along its own direction")
    right.set(xlabel="distance between the members of a triple", xlim=(0, None), title="The same triples")
    left.legend(loc="lower right")
    gap = sweep.walk_gap
    alt = said("""The gap between average and ensemble in triples. {bold} pulled back to {near:.0f}: {bold_near:.4f}, at
                  {far:.0f}: {bold_far:.4f}. {usual} at {near:.0f}: {usual_near:.4f}, pushed out to {far:.0f}:
                  {usual_far:.4f}.""",
               bold=BOLD, usual=OF_THE_TWENTY, near=NEAR, far=FAR,
               bold_near=gap.sel(walker=BOLD, length=NEAR).item(), bold_far=gap.sel(walker=BOLD, length=FAR).item(),
               usual_near=gap.sel(walker=OF_THE_TWENTY, length=NEAR).item(),
               usual_far=gap.sel(walker=OF_THE_TWENTY, length=FAR).item())
    below = " Dotted: the farthest of the twenty. Mean over ten pairs of partners."
    return plotting.show(fig, alt, caption(sweep) + below)


def reading_of_the_walks(sweep: xarray.Dataset) -> Page:
    """How much of what the bold one does is its distance, and how much its direction."""
    bold, usual = (sweep.sel(walker=walker) for walker in (BOLD, OF_THE_TWENTY))
    near = bold.sel(length=NEAR)
    nearest = int(usual.walk_apart.values.argmin())  # from there on it moves away from its partners
    as_far_apart = np.interp(near.walk_apart, usual.walk_apart[nearest:], usual.walk_gap[nearest:])
    times = float(near.walk_gap / as_far_apart)
    verdict = f"So it is not the distance alone. The direction may count{_rival(near, usual.sel(length=NEAR))}" \
        if times > 2 else "So it is the distance"
    return reading("Distance or direction?", """Left, at distance {at:.0f}, the gap is {bold:.4f} for the bold one and
        {usual:.4f} for the other. Right, compare the bold one's triples at this distance with triples of the other
        whose members are equally far apart. The gap of the bold one is {times:.0f} times as large{behind}. {verdict}.
        {farther}""",
        at=NEAR, bold=near.walk_gap.item(), usual=usual.walk_gap.sel(length=NEAR).item(), times=times,
        behind=_behind(near), verdict=verdict, farther=_farther(bold, usual))


def _farther(bold, usual):
    """Whether both gaps are larger far out, and what this means for the accuracies of the model that was pushed there.
    """
    if not all((part.walk_gap.sel(length=FAR) > part.walk_gap.sel(length=NEAR)).item() for part in (bold, usual)):
        return ""
    far = usual.sel(length=FAR)
    average, ensemble, alone = (far[name].item() for name in ("walk_average", "walk_ensemble", "walk_alone"))
    poor = " But a larger gap need not mean a less accurate average. The network that is pushed out is poor alone, " \
           "and its average is more accurate than the ensemble." \
        if average - ensemble > CLEAR and ensemble - alone > CLEAR else ""
    return f"At distance {FAR:.0f} both gaps are larger.{poor}"


def _rival(bold, usual):
    """What else differs where both lie at the same distance: the accuracy of the models that walk."""
    if (usual.walk_alone - bold.walk_alone).item() <= CLEAR:
        return ""
    return ", and so may accuracy: pulled back, the bold one alone is clearly less accurate than the other. This " \
           "test does not separate the two explanations"


def _behind(near):
    """By how much the bold one's average is less accurate than its ensemble where it is pulled back."""
    lost = (near.walk_ensemble - near.walk_average).item()
    return f", and its average is {100 * lost:.1f} points below the ensemble" if lost > 0 else ""
