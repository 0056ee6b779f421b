"""Panel (f): LoRA's kernel against the rank."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREY, ORANGE, RED
from lessons.linearization.experiment import lora
from lessons.linearization.experiment.lora import RANKS, WHOLE

WHOLE_LOOK, LORA = Look(BLACK, "", "--"), Look(BLUE, "o")
BENT = Look(RED, "D")
AVERAGE = "mean of all draws"


@panel
def ranks(sweep: xarray.Dataset):
    """Panel (f): left, the eigenvalues of LoRA's kernel beside those of the whole one; right, how far the two kernels
    are apart, and the relative Taylor gap of networks that were tuned to one and the same training error. Controls:
    rank, draw."""
    fig, (left, right) = plotting.figure(2, height=4.4)
    order = np.arange(1, sweep.sizes["number"] + 1)
    spectrum = sweep.kappa.sel(rank=WHOLE).isel(draw=0).values
    left.plot(order, spectrum, color=BLACK, linestyle="--", marker="", label="K of the whole matrices")
    eigenvalues = curve(left, LORA, "K of LoRA", markersize=4)
    left.set(xscale="log", yscale="log", xlabel="eigenvalue, largest first", ylabel="κ",
             ylim=(spectrum.min() / 100, 4 * spectrum.max()))
    first, level = float(sweep.apart.sel(rank=1).mean()), float(sweep.taylor.sel(rank=WHOLE).mean())
    right.plot(RANKS, first / np.sqrt(RANKS), color=GREY, linestyle=":", marker="", label="falling like 1/√rank")
    right.axhline(level, color=ORANGE, linestyle="-.", linewidth=1.4, marker="", label="Taylor gap / move, whole")
    right.set(xscale="log", yscale="log", xlabel="rank", ylim=(0.05, 4), ylabel="‖K_LoRA − K‖/‖K‖, and gap / move",
              xticks=RANKS, xticklabels=RANKS)
    right.minorticks_off()
    differences = curve(right, LORA, markersize=6)
    bent = curve(right, BENT, "Taylor gap / move", markersize=6)
    place = here(right, 1.0)
    handles = [*left.get_lines(), bent, *right.get_lines()[:2]]
    named = [line for line in handles if not line.get_label().startswith("_")]
    fig.legend(named, [line.get_label() for line in named], loc="outside lower center", ncols=4)
    titles = moving_titles((left, right))

    def draw(rank, draw):
        part = sweep.mean("draw") if draw == AVERAGE else sweep.sel(draw=draw)
        of_rank = part.sel(rank=rank)
        eigenvalues.set_data(order, np.maximum(of_rank.kappa.values, 1e-12))
        others = part.sel(rank=list(RANKS))
        differences.set_data(RANKS, others.apart)
        bent.set_data(RANKS, others.taylor)
        place.set_xdata([rank, rank])
        numbers = {"rank": rank, "draw": draw if draw == AVERAGE else f"draw {draw + 1}"}
        for name in ("apart", "cosine", "condition", "risk", "accuracy", "taylor", "moved", "distance"):
            numbers |= {name: float(of_rank[name]), f"whole_{name}": float(part[name].sel(rank=WHOLE))}
        titles[0].set_text(said("Rank {rank}: κ(K + 1) {condition:.0f}, whole {whole_condition:.0f}", **numbers))
        titles[1].set_text(said("Kernels {apart:.2f} apart, cosine {cosine:.3f}", **numbers))
        return said("""Rank {rank}, {draw}: ‖K_LoRA − K‖/‖K‖ is {apart:.3f}, their cosine {cosine:.4f}. Condition number
                       of K + I {condition:.1f}, whole {whole_condition:.1f}. Ridge regression leaves {risk:.3g} of the
                       squared error, whole {whole_risk:.3g}, and reads {accuracy:.3f} of the test images, whole
                       {whole_accuracy:.3f}. Trained to a fifth of the error: Taylor gap {taylor:.3f} of the move, whole
                       {whole_taylor:.3f}; the matrices have moved by {moved:.3f}, whole {whole_moved:.3f}.""",
                    **numbers)

    controls = {"rank": slider("rank", list(RANKS), 4),
                "draw": choice("A", {AVERAGE: AVERAGE} | {f"draw {number + 1}": number
                                                          for number in range(lora.TRAINED)})}
    return controls, fig, draw


def reading_of_lora(sweep: xarray.Dataset) -> Page:
    """Which half of “it holds for LoRA” holds, with this sweep's numbers."""
    return reading("Does it hold for LoRA?", """
        The kernel does: ‖K_LoRA − K‖/‖K‖ falls with the power {apart_power:.2f} of the rank, from {apart_1:.2f} at rank
        1 to {apart_64:.2f} at rank 64. But a network tuned through few directions is bent more, not less: at the same
        training error, its relative Taylor gap is {taylor_1:.2f} at rank 1, {taylor_4:.2f} at rank 4, {taylor_64:.2f}
        at rank 64, and {taylor_whole:.2f} for the whole matrices. And it does not move less: ‖ΔW‖ is {moved_1:.0f}
        times that of the whole matrices at rank 1, {moved_4:.0f} times at rank 4, with this scale of A.""",
                   **lora.claims(sweep)["LFT-14"])
