"""Panel (f): LoRA's kernel and LoRA's networks against the rank."""
import numpy as np
import xarray

from lessons.kit.noise import WIDE
from lessons.kit.page import Page, paragraph, reading, said, table
from lessons.kit.sweep import caption
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Spots, key, slider, view
from lessons.linearization.experiment import frozen, lora
from lessons.linearization.experiment.lora import LEFT, RANKS, WHOLE

LEARNED = 1.05 * LEFT  # of R̃: a network that has more left ran out of steps
_NAMES = ("apart", "cosine", "condition", "risk", "accuracy", "taylor", "moved")
_ALT = """
    Rank {rank}, mean of {draws} draws of A: ‖K_LoRA − K‖/‖K‖ is {apart:.3f}, their cosine {cosine:.4f}. Condition
    number of K + I {condition:.1f}, whole {whole_condition:.1f}. Ridge regression leaves {risk:.3g} of the squared
    error, whole {whole_risk:.3g}, and is right on {accuracy:.3f} of the test images, whole {whole_accuracy:.3f}. {bent}
    The matrices have moved by {moved:.3f}, whole {whole_moved:.3f}."""


@view
def ranks(sweep: xarray.Dataset):
    """Panel (f): left, how far LoRA's kernel is from that of the whole matrices, with every draw of A and two standard
    errors of the mean; right, the relative Taylor gap of networks that were tuned to one and the same training error.
    Control: rank."""
    low_rank, mean = sweep.sel(rank=list(RANKS)), sweep.mean("draw")
    distances = low_rank.apart.transpose("rank", "draw").values
    bent = low_rank.taylor.where(low_rank.left <= LEARNED).transpose("rank", "draw").values[:, :lora.TRAINED]
    level, far = float(mean.taylor.sel(rank=WHOLE)), distances.mean(1)
    reach = WIDE * distances.std(1, ddof=1) / np.sqrt(distances.shape[1])
    gap = np.where(np.isfinite(bent).all(1), np.nan_to_num(bent).mean(1), np.nan)
    values = {"draws": _cloud(distances), "sure": (far - reach, far + reach), "apart": far, "nets": _cloud(bent),
              "gap": gap, "whole": level}
    finding = finding_of_lora(far, reach, bent, level)

    def draw(rank):
        numbers = {name: float(mean[name].sel(rank=rank)) for name in _NAMES}
        numbers |= {f"whole_{name}": float(mean[name].sel(rank=WHOLE)) for name in _NAMES}
        of_rank = gap[RANKS.index(rank)]
        told = "Some of the networks ran out of steps before a fifth of the error was left." if np.isnan(of_rank) else \
            said("Trained to a fifth of the error: Taylor gap {gap:.3f} of the move, whole {level:.3f}.", gap=of_rank,
                 level=level)
        return Frame(finding, said(_ALT, rank=rank, draws=sweep.sizes["draw"], bent=told, **numbers), values,
                     key(("merged", "LoRA, mean over draws of A; grey dots: every draw"),
                         ("single", "The whole matrices tuned, to the same training error")))

    across = Axis("rank", 0.9, 70, "log", ticks={rank: f"{rank}" for rank in RANKS})
    left = Chart(across, Axis("LoRA’s kernel: distance from the whole one", 0, 1.05 * float(distances.max()), digits=2),
                 (Spots("draws", "other", small=True), Band("sure", "merged"),
                  Line("apart", "merged", "", dots=True, near=True), Handle("rank")))
    right = Chart(across, Axis("Taylor gap, as a share of the move", 0, 1.1 * float(np.nanmax([*bent.flat, level])),
                               digits=2),
                  (Reference("whole", "single", "whole matrices"), Spots("nets", "other", small=True),
                   Line("gap", "merged", "LoRA", dots=True, near=True), Handle("rank")))
    control = slider("rank", list(RANKS), 4, words=lambda rank: f"rank {rank}")
    return {"kicker": "Chapter 11: through few directions", "charts": [left, right], "draw": draw,
            "controls": {"rank": control}}


def _cloud(of_draws):
    """(2, points): every draw at its rank."""
    return np.repeat(RANKS, of_draws.shape[1]), of_draws.ravel()


def finding_of_lora(far: np.ndarray, reach: np.ndarray, bent: np.ndarray, level: float) -> str:
    """Whether the kernel comes nearer with the rank, and at which ranks every network is less linear than the one that
    was tuned whole.

    Args:
        far, reach: (ranks,) distance of the kernels, and two standard errors of it.
        bent: (ranks, draws) relative Taylor gaps, NaN where a network has not learned as much.
        level: that of the network that was tuned whole.
    """
    nears = far[-1] + reach[-1] < far[0] - reach[0]
    first = "LoRA’s kernel comes near the whole one with the rank" if nears else \
        "That LoRA’s kernel comes nearer the whole one is within the noise"
    measured = np.isfinite(bent).all(1)
    above = (bent > level).all(1)[measured]
    if above.all():
        return f"{first}, {'but' if nears else 'and'} its networks are less linear"
    if above[:2].all():
        return f"{first}, {'but' if nears else 'and'} at low rank its networks are less linear"
    return first


def reading_of_lora(sweep: xarray.Dataset) -> Page:
    """Which half of “it holds for LoRA” holds, with this sweep's numbers: the kernel's at all ranks, the network's at
    those at which all networks learned."""
    kernels = said("""
        The kernel: ‖K_LoRA − K‖/‖K‖ falls with the power {apart_power:.2f} of the rank, from {apart_1:.2f} at rank 1 to
        {apart_64:.2f} at rank 64.""", **lora.claims(sweep)["LFT-14"])
    left = sweep.left.sel(rank=list(RANKS)).isel(draw=slice(lora.TRAINED))
    learned = [int(rank) for rank in RANKS if bool((left.sel(rank=rank) <= LEARNED).all())]
    if len(learned) < 2:
        return reading("Does it hold for LoRA?", "{kernels} The networks ran out of steps at nearly all ranks.",
                       kernels=kernels)
    low, high = learned[0], learned[-1]
    mean, of_whole = sweep.mean("draw"), sweep.sel(rank=WHOLE).mean("draw")
    gaps = [float(mean.taylor.sel(rank=rank)) for rank in (low, high)]
    moved = [float(mean.moved.sel(rank=rank) / of_whole.moved) for rank in (low, high)]
    more = gaps[0] > float(of_whole.taylor)
    return reading("Does it hold for LoRA?", """
        {kernels} The network: at the same training error, its relative Taylor gap is {gaps[0]:.2f} at rank {low},
        {gaps[1]:.2f} at rank {high}, and {level:.2f} for the whole matrices. {ran_out} So tuning few directions bends
        it {side}. ‖ΔW‖ is {moved[0]:.0f} times that of the whole matrices at rank {low}, and {moved[1]:.1f} times at
        rank {high}, with this scale of A.""",
                   kernels=kernels, gaps=gaps, moved=moved, low=low, high=high, level=float(of_whole.taylor),
                   side="more, not less" if more else "no more on this seed",
                   ran_out="" if low == RANKS[0] else said("(Below rank {low} networks ran out of steps.)", low=low))


def frozen_table(sweep: xarray.Dataset) -> Page:
    """The relative Taylor gap at every rank with A tuned and frozen, and of the whole step, made as long; means over
    the draws of A with which the networks learned. The sweep is that of `experiment.frozen`."""
    mean = frozen.learned(sweep).mean("draw")
    rows = []
    for rank in frozen.RANKS:
        numbers = [float(mean.taylor.sel(rank=rank, way=way)) for way in frozen.WAYS]
        far = float(mean.moved.sel(rank=rank, way=frozen.BOTH) / sweep.whole_moved)
        rows.append((f"rank {rank}", *("–" if np.isnan(number) else f"{number:.2f}" for number in numbers),
                     "–" if np.isnan(far) else f"{far:.1f}"))
    head = ("relative Taylor gap", "A and B tuned", "B alone, A frozen", "the whole step, made as long as LoRA’s",
            "‖ΔW‖ over that of the whole step")
    return table(head, rows, after=paragraph(said("{caption} The whole step as it was: {whole:.2f}.",
                                                  caption=caption(sweep), whole=float(sweep.whole))))


def reading_of_frozen(sweep: xarray.Dataset) -> Page:
    """Whether the product B·A bends the network, or the length of the step; of the lowest rank at which networks
    learned, a mean over draws of A."""
    mean = frozen.learned(sweep).taylor.mean("draw").dropna("rank")
    if not mean.sizes["rank"]:
        return reading("The product, or the length?", "On this seed the networks ran out of steps.")
    both, alone, longer = (float(mean.isel(rank=0).sel(way=way)) for way in frozen.WAYS)
    product = "So the product is not why the network bends." if alone > 0.9 * both else \
        "So the product is a part of why the network bends."
    length = "So a step of this length bends the network in other directions too." if longer > 0.9 * both else \
        "So its length alone is not why."
    return reading("The product, or the length?", """
        With A frozen, B·A is linear in B. At rank {rank} the relative Taylor gap was then {alone:.2f}, and with both
        tuned {both:.2f}. {product} The step of the whole matrices, made as long as LoRA’s, had {longer:.2f}. {length}
        """, rank=int(mean["rank"][0]), alone=alone, both=both, longer=longer, product=product, length=length)
