"""The pictures of the theorem: where the steps go, how the gap falls with the step size, the bound, and other optimisers."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, table
from lessons.gradients.experiment import bound as bound_experiment, optimisers as optimiser_experiment, plane as plane_experiment, steps as experiment
from lessons.gradients.experiment.bound import KNOWN
from lessons.gradients.experiment.common import ANGLES
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, PURPLE, RED
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel
from lessons.kit.plotting import still


# -- panel (a): the plane --------------------------------------------------------------------------

@panel
def plane(sweep: xarray.Dataset):
    """Panel (a): θ_1, θ_2, task arithmetic and joint training in the plane of the two gradients; right, how far the two are apart after every step.

    Controls: eta, alpha, k.
    """
    fig, (left, right) = plotting.figure(2, height=4.5, width_ratios=(6, 5))
    _map(left, sweep)
    left.plot([0], [0], color=BLACK, marker="X", linestyle="", markersize=8, label="θ_base; arrow: −∇(L₁ + L₂)")
    own = [left.plot([], [], color=colour, marker=marker, markersize=4, linewidth=1.2, label=label, animated=True)[0]
           for colour, marker, label in ((GREEN, "^", "task 1 alone"), (PURPLE, "v", "task 2 alone"))]
    joint = left.plot([], [], color=BLUE, marker="o", markersize=4, linewidth=1.4, label="joint training, step αη", animated=True)[0]
    sum_ = left.plot([], [], color=ORANGE, marker="D", markersize=9, markerfacecolor="none", markeredgewidth=2, linestyle="", label="task arithmetic", animated=True)[0]
    share = (sweep.apart / sweep.far.where(sweep.far > 0)).fillna(0)
    right.set(xlabel="steps k", ylabel="‖θ_TA − θ_MT‖ over ‖θ_MT − θ_base‖", ylim=(-0.02 * float(share.max()), 1.05 * float(share.max())), xlim=(0.5, 10.5))
    curve = right.plot([], [], color=RED, marker="o", animated=True)[0]
    here = right.axvline(1, color=BLACK, linewidth=1, marker="", animated=True)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    titles = plotting.moving_titles((left, right))

    def draw(eta, alpha, k):
        now, until = sweep.sel(eta=eta, alpha=alpha), slice(0, k + 1)
        for task, line in enumerate(own):
            line.set_data(*now.own.values[task, until].T)
        joint.set_data(*now.joint.values[until].T)
        sum_.set_data(*now.arithmetic.values[[k]].T)
        apart = share.sel(eta=eta, alpha=alpha).values
        curve.set_data(np.arange(1, 11), apart[1:])
        here.set_xdata([k, k])
        losses = [float(now[f"{name}_loss"][k]) for name in ("arithmetic", "joint")]
        titles[0].set_text(f"η = {eta:g}, α = {alpha:g}: loss {losses[0]:.2f} and {losses[1]:.2f}")
        titles[1].set_text(f"After {k} step{'s' * (k > 1)} of η = {eta:g}: {apart[k]:.2g} apart")
        return (f"Step size η = {eta:g}, α = {alpha:.2f}, {k} steps. Task arithmetic and joint training are {apart[k]:.2g} of the joint path's length apart. "
                f"Sum of both losses {losses[0]:.3f} with task arithmetic, {losses[1]:.3f} with joint training. θ_TA lies at "
                f"({now.arithmetic.values[k, 0]:.2f}, {now.arithmetic.values[k, 1]:.2f}), θ_MT at ({now.joint.values[k, 0]:.2f}, {now.joint.values[k, 1]:.2f}) in the plane.")

    controls = {"eta": slider("step size η", list(plane_experiment.ETAS), 0.4), "alpha": slider("α", list(plane_experiment.ALPHAS), 0.5),
                "k": slider("steps k", list(plane_experiment.KS), 1)}
    return controls, fig, draw, caption(sweep) + " Grey: lines of equal L₁ + L₂ in the plane."


def _map(ax, sweep):
    """Lines of equal L₁ + L₂ in the plane, and the direction down."""
    levels, arrow = np.quantile(sweep["map"].values, np.linspace(0, 1, 14)), sweep.gradient.values
    ax.contour(sweep.horizontal, sweep.vertical, sweep["map"], levels=np.unique(levels), colors="#c9c9c9", linewidths=0.8)
    ax.annotate("", xy=arrow / np.hypot(*arrow) * 0.85 * float(sweep.vertical[-1]), xytext=(0, 0), arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 1.6})
    ax.set(xlabel="along −∇L₁ (weights)", ylabel="at right angles to it (weights)", aspect="equal")
    ax.grid(False)


# -- panel (b): the gap against the step size ------------------------------------------------------

LOOKS = {"gap": (BLACK, "o", "the gap θ_TA − θ_MT"), "missed_printed": (RED, "v", "gap without the printed term"), "missed": (BLUE, "s", "gap without our term"),
         "kinked": (ORANGE, "^", "of that: samples across a kink"), "smooth": (GREEN, "D", "of that: all others")}


@panel
def gap(sweep: xarray.Dataset, prediction=None):
    """Panel (b): the gap and what two terms leave of it, against η on logarithmic axes; right, as shares of the gap.

    Controls: k, network, loss, data. The prediction, the power of η with which the gap falls, is drawn as a line of that slope.
    """
    fig, (left, right) = plotting.figure(2, height=4.4, width_ratios=(6, 5))
    etas = sweep.eta.values
    wide = (etas.min() / 1.4, etas.max() * 1.4)
    left.set(xscale="log", yscale="log", xlabel="step size η", ylabel="length ‖·‖ over all weights", xlim=wide, ylim=(1e-17, 1e2))
    right.set(xscale="log", yscale="log", xlabel="step size η", ylabel="share of the gap", xlim=wide, ylim=(1e-5, 10))
    right.axhline(1, color=GREY, linestyle=":", linewidth=1.2, marker="")
    lines = {name: [ax.plot([], [], color=colour, marker=marker, markersize=5, linewidth=1.5, label=label, animated=True)[0] for ax in (left, right)]
             for name, (colour, marker, label) in LOOKS.items()}
    guess = left.plot([], [], color=PURPLE, linestyle="--", linewidth=1.5, marker="*", markersize=9, label="your slope", animated=True)[0]
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = plotting.moving_titles((left, right))

    def draw(k, network, loss, data):
        now = sweep.sel(k=k, network=network, loss=loss, data=data)
        for name, (absolute, relative) in lines.items():
            values = now[name].values if k > 1 or name == "gap" else np.full(len(etas), np.nan)
            values = np.where(values > 1e-19, values, np.nan)
            absolute.set_data(etas, values)
            relative.set_data(etas, values / now.gap.values if name != "gap" and k > 1 else np.full(len(etas), np.nan))
        committed = prediction.committed if prediction else None
        guess.set_data(etas[:3], [np.nan] * 3 if committed is None else now.gap.values[2] * (etas[:3] / etas[2]) ** committed)
        titles[0].set_text(f"{data}, {network}, k = {k}: {_slopes_said(now) if k > 1 else 'rounding alone'}")
        titles[1].set_text(_right_title(now, network, k))
        head = f"{data}, {network} network, {loss}, {k} step{'s' * (k > 1)}: "
        if k == 1:
            return head + f"task arithmetic and joint training are the same up to rounding, at most {now.gap.max().item():.1g} apart."
        kinks = f" {now.crossing.values[-1]:.1%} of the samples lie across a kink at η = {etas[-1]:.2g}, {now.crossing.values[0]:.2%} at {etas[0]:.2g}."
        kinks = kinks if network == "ReLU" and k <= experiment.KINKS else ""
        return (f"{head}{_slopes_said(now)}. The gap's cosine with our term is {now.cosine.values[0]:.4f} at the smallest step size, with the printed term {now.cosine_printed.values[0]:.4f}. "
                f"Our term misses {now.missed.values[0] / now.gap.values[0]:.2g} of the gap there.{kinks}")

    controls = {"k": slider("steps k", list(experiment.KS), 3), "network": choice("network", {name: name for name in ("tanh", "linear", "ReLU")}),
                "loss": choice("loss", {name: name for name in map(str, sweep.loss.values)}), "data": choice("tasks", {name: name for name in map(str, sweep.data.values)})}
    return controls, fig, draw, caption(sweep) + f" α = {experiment.ALPHA:g}. The kinks are told apart for k ≤ {experiment.KINKS}."


def _slopes_said(now):
    found = [experiment.slopes(now[name]).item() for name in ("gap", "missed")]
    return f"slopes {found[0]:.2f} and {found[1]:.2f}"


def _right_title(now, network, k):
    if k == 1:
        return "One step: nothing to explain"
    if network == "ReLU" and k <= experiment.KINKS:
        return f"Samples across a kink: {now.crossing.values[0]:.1%} to {now.crossing.values[-1]:.0%}"
    return f"Cosine of gap and printed term: {_signed(now.cosine_printed.values[0])}"


def _signed(value):
    return f"{value:.3f}".replace("-", "−")


def slopes_table(sweep: xarray.Dataset) -> Page:
    """With which powers of η the gap, and what is left of it, fall: smallest and largest over data, losses and k = 2, 3, 5, network by network."""
    names = {"gap": "gap", "missed": "gap without our term", "missed_printed": "gap without the printed term", "lemma_second": "Lemma 1, our term", "lemma_printed": "Lemma 1, printed term"}
    rows = []
    for network in map(str, sweep.network.values):
        part = sweep.sel(network=network, k=[2, 3, 5])
        spans = [(float(power.min()), float(power.max())) for power in (experiment.slopes(part[name]) for name in names)]
        rows.append((network, *(f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}" for low, high in spans)))
    return table(("power of η", *names.values()), rows)


def reading_of_the_kinks(sweep: xarray.Dataset) -> Page:
    """What the Hessian misses with ReLU, told apart by sample, with this sweep's numbers."""
    of = experiment.claim_3(sweep)
    text = (f"With ReLU and five steps, at step sizes between 0.001 and 0.01, our term misses {of['relu_missed_over_gap']:.0%} of the gap, mean over data and losses. The samples that no kink "
            f"separates add at most {of['relu_smooth_over_gap']:.1%} of the gap. All the rest is the {of['relu_crossing']:.1%} of (task, step, sample) for which some unit is on at θ_t and off at "
            f"θ_MT, or the other way round: by themselves they make up {of['relu_kinked_over_missed_median']:.0%} of what is missed (median). Where no sample at all crosses, our term misses at most "
            f"{of['relu_without_crossing_missed_most']:.2%}.")
    return Page(text, f"<p><b>Who is it that the Hessian misses?</b> {text}</p>")


# -- panel (c): the bound --------------------------------------------------------------------------

@panel
def bound(sweep: xarray.Dataset):
    """Panel (c): the length of C and both versions of Theorem 2's bound against α; right, how many times the bound is the truth. Controls: alpha, network, known."""
    fig, (left, right) = plotting.figure(2, height=4.2)
    alphas, floor = sweep.alpha.values, 0.3 * float(sweep.C.min())
    high = 2 * float(sweep.corrected.max())
    left.set(yscale="log", xlabel="α", ylabel="length over η²", ylim=(floor, high), xlim=(0, alphas.max() * 1.03))
    right.set(yscale="log", xlabel="α", ylabel="bound over measured length", xlim=(0, alphas.max() * 1.03), ylim=(0.1, 2 * float((sweep.corrected / sweep.C).max())))
    right.axhspan(0.1, 1, color=RED, alpha=0.12, linewidth=0)
    right.text(alphas.max(), 0.45, "no bound here", ha="right", fontsize=9, color=RED)
    for ax in (left, right):
        ax.axvline(1 / len(ANGLES), color=GREY, linestyle=":", linewidth=1.2, marker="")
    looks = {"C": (BLACK, "o", "measured, ‖C‖"), "printed": (RED, "v", "printed bound, |αT − 1|"), "corrected": (BLUE, "s", "corrected bound, α(T − 1) + |1 − α|")}
    curves = {name: left.plot([], [], color=colour, marker=marker, markersize=5, linewidth=1.5, label=label, animated=True)[0] for name, (colour, marker, label) in looks.items()}
    ratios = {name: right.plot([], [], color=colour, marker=marker, markersize=5, linewidth=1.5, animated=True)[0] for name, (colour, marker, _) in looks.items() if name != "C"}
    lines = [ax.axvline(0, color=BLACK, linewidth=1, marker="", animated=True) for ax in (left, right)]
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = plotting.moving_titles((left, right))

    def draw(alpha, network, known):
        now, step = sweep.sel(network=network, known=known), position(alphas, alpha)
        for name, curve in curves.items():
            curve.set_data(alphas, np.maximum(now[name].values, floor))
        for name, curve in ratios.items():
            curve.set_data(alphas, np.maximum(now[name].values / now.C.values, 0.1))
        for line in lines:
            line.set_xdata([alpha, alpha])
        C, printed, corrected = (float(now[name][step]) for name in ("C", "printed", "corrected"))
        titles[0].set_text(f"{network}, α = {alpha:.2f}: ‖C‖ = {C:.3g}")
        titles[1].set_text(f"{_times(printed, C)} printed, {_times(corrected, C)} corrected")
        return (f"{network} network, α = {alpha:.2f}, {known}: measured ‖C‖ {C:.3g}, printed bound {printed:.3g}, {_times(printed, C)}, corrected bound {corrected:.3g}, "
                f"{_times(corrected, C)}. H is {float(now.hessian[step]):.3g} and G {float(now.gradient[step]):.3g}.")

    controls = {"alpha": slider("α", [float(alpha) for alpha in alphas], 0.25), "network": choice("network", {name: name for name in ("tanh", "linear", "ReLU")}),
                "known": choice("H and G", {"measured": KNOWN[0], "from the norms, as printed": KNOWN[1], "from the norms, corrected": KNOWN[2]})}
    return controls, fig, draw, caption(sweep) + f" T = {len(ANGLES)}, k = {bound_experiment.STEPS}, η = {bound_experiment.ETA:g}. Dotted: α = 1/T. At the lower edge: 0."


def _times(value, of):
    ratio = value / of
    return f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.1f}×" if ratio >= 0.05 else "0×"


def reading_of_the_bound(sweep: xarray.Dataset) -> Page:
    """How loose both versions are, with this sweep's numbers."""
    of = bound_experiment.claims(sweep)["TVG-5"]
    text = (f"At α = 1/T the printed bound is {of['printed_at_average']:.2g} and the smooth networks' ‖C‖ at least {of['C_at_average']:.2g}. Over all α measured it is below the truth in "
            f"{of['printed_violated_share']:.0%} of the cases. The corrected bound always holds; with H and G measured it is {of['corrected_over_C_least']:.1f} times the truth at least and "
            f"{of['corrected_over_C_median']:.1f} times in the median. From α = 1 on the two are the same. With H and G from the layers' norms it grows to about "
            f"{10 ** of['network_over_C_log_median']:,.0f} times. As printed, the norms' bound of H is {of['printed_network_linear']:.2g} for a linear network, whose Hessian has the "
            f"norm {of['hessian_linear']:.2g}.")
    return Page(text, f"<p><b>How loose?</b> {text}</p>")


# -- other optimisers ------------------------------------------------------------------------------

@still
def optimisers(sweep: xarray.Dataset):
    """The gap, as a share of the joint path, against η: in the middle of an epoch, and at its end; for five optimisers."""
    fig, axes = plotting.figure(2, height=3.9, sharey=True)
    batches, last = optimiser_experiment.BATCHES, int(sweep.step[-1])
    share, said = sweep.gap / sweep.far, []
    for ax, step in zip(axes, (last - batches // 2, last)):
        for name, colour, marker in zip(map(str, sweep.optimiser.values), (BLACK, *COLOURS), ("X", *MARKERS)):
            here = share.sel(optimiser=name, step=step)
            ax.plot(here.eta, here, color=colour, marker=marker, markersize=5, linewidth=1.5, label=name)
            said.append(f"{name} after {step} steps {here.values[0]:.2g} to {here.values[-1]:.2g}")
        ax.set(xscale="log", yscale="log", xlabel="step size η", title=f"after {step} steps, {'in the middle' if step < last else 'at the end'} of an epoch")
    axes[0].set_ylabel("‖θ_TA − θ_MT‖ over ‖θ_MT − θ_base‖")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return plotting.show(fig, f"The gap as a share of the joint path, smallest and largest step size: {'; '.join(said)}.", caption(sweep) + f" α = {optimiser_experiment.ALPHA:g}.")


def reading_of_the_optimisers(sweep: xarray.Dataset) -> Page:
    """Which optimisers keep the theorem, with this sweep's numbers."""
    of = optimiser_experiment.numbers(sweep)
    text = (f"The gap falls with the power {of['full_batch_power']:.2f} of η with full batches, {of['momentum_power']:.2f} with momentum, and {of['same_power']:.2f} with SGD when joint training draws the "
            f"same batches. With other batches it is {of['other_power_middle']:.2f} in the middle of an epoch and {of['other_power_end']:.2f} at its end. With Adam it is {of['adam_power']:.2f}: however small "
            f"the steps, the sum of the task vectors and the joint path have a cosine of only {1 - of['adam_turn']:.2f}. No α mends a direction.")
    return Page(text, f"<p><b>Which optimisers keep the theorem?</b> {text}</p>")
