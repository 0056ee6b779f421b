"""Panels about your own checkpoints: every layer's task vectors, and one layer's merge under four sliders."""
import textwrap

import numpy as np
import xarray

from lessons.checkpoints.looking import overall
from lessons.kit import plotting
from lessons.kit.page import Markup, Page, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Bars, Look, cloud, curve, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from lessons.kit.sweep import names

KINDS = {"attention": (("attn", "attention", "q_proj", "k_proj", "v_proj"), Look(BLUE, "o")),
         "MLP": (("mlp", "fc", "dense", "ffn"), Look(ORANGE, "s")), "others": ((), Look(GREEN, "^"))}
ALPHAS = [round(0.1 * step, 1) for step in range(11)]
LAMBDAS = [round(0.25 * step, 2) for step in range(13)]
ALL = "mean of all tasks"


def kind_of(key: str) -> str:
    """What a tensor belongs to, by its name: "attention", "MLP" or "others"."""
    for kind, (words, _) in KINDS.items():
        if any(word in key for word in words):
            return kind
    return "others"


@panel
def by_layer(sweep: xarray.Dataset):
    """Every layer's task vectors, matrices alone. Left: how long they are; middle: the angles between them, and how
    much of them points against the elected sign, beside chance; right: how much of their squared length the leading
    directions hold, and how far their row spaces overlap. Controls: rank, task."""
    if not sweep.matrix.any():
        raise ValueError("these models have no matrix, and this picture is of matrices")
    matrices = sweep.isel(layer=_in_order(sweep))
    places = np.arange(matrices.sizes["layer"])
    kinds = np.array([kind_of(key) for key in matrices.layer.values])
    fig, axes = plotting.figure(3, height=4.9)
    relative = matrices.norm / matrices.base_norm
    lengths = {kind: cloud(axes[0], look, kind, markersize=5) for kind, (_, look) in KINDS.items()}
    axes[0].fill_between(places, relative.min("task"), relative.max("task"), color=GREY, alpha=0.25, linewidth=0,
                         label="smallest to largest task")
    axes[1].plot(places, _mean_cosine(matrices), color=SKY, marker="v", markersize=4, linewidth=1,
                 label="cosine, mean over pairs")
    axes[1].plot(places, matrices.against, color=PURPLE, marker="D", markersize=4, linewidth=1,
                 label="against the elected sign")
    axes[1].plot(places, matrices.against_by_chance, color=BLACK, linestyle="--", linewidth=1.4, marker="",
                 label="the same, were signs random")
    energy = curve(axes[2], Look(RED, "P"), "‖SVD_k(τ)‖²/‖τ‖²", markersize=4, linewidth=1)
    overlap = curve(axes[2], Look(BLACK, "X"), "overlap of row spaces", markersize=4, linewidth=1)
    titles = moving_titles(axes, parse_math=False)  # a name may have dollars
    titles[1].set_text("Angles and signs")
    moved = relative.values[relative.values > 0] if (relative > 0).any() else np.array([1e-6, 1.0])
    axes[0].set(yscale="log", ylabel="‖τ‖/‖θ₀‖ of the layer", ylim=(0.8 * moved.min(), 1.25 * moved.max()))
    axes[1].set(ylim=(-0.25, 1.05), ylabel="cosine; share of Σ|τ|")
    axes[2].set(ylim=(0, 1.05), ylabel="share")
    for ax in axes:
        ax.set(xlabel="number of the matrix", xlim=(-0.5, len(places) - 0.5))
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))

    def draw(ratio, task):
        sizes = relative.mean("task") if task == ALL else relative.sel(task=task)
        energies = matrices.energy.sel(ratio=ratio)
        energies = energies.mean("task") if task == ALL else energies.sel(task=task)
        for kind, line in lengths.items():
            of_kind = kinds == kind
            line.set_data(places[of_kind], sizes.values[of_kind])
        energy.set_data(places, energies.values)
        overlap.set_data(places, matrices.overlap.sel(ratio=ratio).values)
        titles[0].set_text(f"Length, {task}")
        titles[2].set_text(f"Rank {100 * ratio:g} %")
        return _described(matrices, sizes, energies, ratio, task)

    controls = {"ratio": slider("rank", {f"{100 * ratio:g} %": float(ratio) for ratio in sweep.ratio.values},
                                float(sweep.ratio.values[len(sweep.ratio) // 2])),
                "task": choice("task", [ALL, *names(sweep.task)])}
    words = f"{sweep.sizes['layer']} tensors, {int(sweep['size'].sum()):,} numbers; {', '.join(names(sweep.task))}"
    return controls, fig, draw, f"{_whose(sweep)}: {words}."


def _mean_cosine(matrices):
    """The mean cosine of two tasks' vectors, a layer; NaN where fewer than two tasks moved it."""
    pairs = np.tril_indices(matrices.sizes["task"], -1)
    each = matrices.cosine.values[:, pairs[0], pairs[1]]
    return np.array([_mean_of_known(row) for row in each])


def _mean_of_known(values):
    """The mean without what was not moved and has no angle; NaN where none is known."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _in_order(sweep):
    """Where the matrices are, block 2 before block 10."""
    parts = [[(int(part), "") if part.isdigit() else (-1, part) for part in key.split(".")]
             for key in sweep.layer.values]
    return [place for place in sorted(range(len(parts)), key=parts.__getitem__) if sweep.matrix.values[place]]


def _described(matrices, lengths, energies, ratio, task):
    text = """{matrices} matrices, {task}. ‖τ‖/‖θ₀‖ from {low:.2g} to {high:.2g}, largest in {longest}. Their mean
              cosine is {cosine:.3f}. Against the elected sign: {against:.3f} of all magnitudes on average, {chance:.3f}
              were signs random. At rank {ratio:g} % the leading directions hold {energy:.2f} of the squared length,
              and row spaces overlap by {overlap:.3f}."""
    return said(text, matrices=matrices.sizes["layer"], task=task, ratio=100 * ratio,
                chance=float(matrices.against_by_chance.mean()),
                longest=str(matrices.layer.values[int(np.argmax(lengths.values))]), low=float(lengths.min()),
                high=float(lengths.max()), cosine=_mean_of_known(_mean_cosine(matrices)),
                against=float(matrices.against.mean()), energy=float(energies.mean()),
                overlap=float(matrices.overlap.sel(ratio=ratio).mean()))


def _whose(sweep):
    """How a caption begins: whose checkpoints these are."""
    trained_on = sweep.attrs["trained_on"]
    return f"The course's networks as files, trained on {trained_on}" if trained_on else "Your own checkpoints"


@panel
def one_layer(sweep: xarray.Dataset):
    """A layer's merge, λ·(α·v_a + (1 − α)·v_b) with v = SVD_k(trim_d(τ)): left, its first rows and columns; right, how
    much of every task's own vector is in it. Controls: α, λ, density, rank."""
    (a, b), tasks = names(sweep.end), names(sweep.task)
    fig, (left, right) = plotting.figure(2, height=4.4, width_ratios=(4, 5))
    largest = float(np.quantile(np.abs(sweep.piece.sel(density=1.0, ratio=1.0)), 0.99)) or 1.0
    blank = np.zeros(sweep.piece.shape[-2:])
    picture = left.imshow(blank, cmap="RdBu_r", vmin=-largest, vmax=largest, animated=True, interpolation="nearest")
    fig.colorbar(picture, ax=left, label="change of the weight", shrink=0.8)
    left.set(xlabel="column", ylabel="row")
    left.grid(False)
    bars = Bars(right, range(len(tasks)), BLUE, "{:.2f}".format)
    right.axhline(1, color=BLACK, linestyle="--", linewidth=1.2, marker="", label="all of it")
    right.legend(loc="upper right")
    right.axhline(0, color=GREY, linewidth=0.8, marker="")
    right.set(xticks=range(len(tasks)), ylim=(-0.6, 3.2), xlim=(-0.6, len(tasks) - 0.4),
              ylabel="share of the task's own vector")
    turned = {"rotation": 30, "ha": "right"} if len(tasks) > 4 else {"rotation": 0, "ha": "center"}
    right.set_xticklabels([textwrap.fill(task, 16) for task in tasks], parse_math=False, **turned)
    titles = moving_titles((left, right), parse_math=False)
    pieces, inner, gram = sweep.piece.values, sweep.inner.values, sweep.gram.values
    densities, ratios = list(map(float, sweep.density.values)), list(map(float, sweep.ratio.values))
    colours = [ORANGE if task in (a, b) else GREY for task in tasks]

    def draw(alpha, lam, density, ratio):
        place = densities.index(density), ratios.index(ratio)
        weights = lam * np.array([alpha, 1 - alpha])
        picture.set_data(np.einsum("e,emn->mn", weights, pieces[(slice(None), *place)]))
        shares = weights @ inner[(slice(None), *place)]
        bars.set_values(shares, colours)
        length = float(np.sqrt(max(0.0, weights @ gram[place] @ weights))) / float(sweep.base_norm)
        titles[0].set_text(f"{sweep.attrs['key']}"[-40:])
        titles[1].set_text(f"‖change‖/‖θ₀‖ = {length:.2g}")
        told = ", ".join(f"{task} {share:.2f}" for task, share in zip(tasks, shares))
        return said("""{key}: λ·(α·{a} + (1 − α)·{b}) at α = {alpha:.2f}, λ = {lam:g}, density {density:g}, rank
                       {rank:g} %. Share of every task's own vector: {told}. The change is {length:.3g} of the layer's
                       length.""",
                    key=sweep.attrs["key"], a=a, b=b, alpha=alpha, lam=lam, density=density, rank=100 * ratio,
                    told=told, length=length)

    controls = {"alpha": slider(f"α: 1 is {a}", ALPHAS, 0.5), "lam": slider("λ", LAMBDAS, 2.0),
                "density": slider("density", densities, 1.0),
                "ratio": slider("rank", {f"{100 * ratio:g} %": ratio for ratio in ratios}, ratios[-1])}
    return controls, fig, draw, f"{_whose(sweep)}: {sweep.attrs['key']} of {a} and {b}."


def summary(sweep: xarray.Dataset) -> Page:
    """A line a task: length, cosine with the others, cosine of θ_t with θ₀; and below, what was found strange."""
    tasks = overall(sweep)
    rows = []
    for place, name in enumerate(sweep.task.values):
        others = np.delete(tasks.cosine.values[place], place)
        known = others[np.isfinite(others)]  # a copy of the base has no angles
        mean, largest = (f"{known.mean():.3f}", f"{known.max():.3f}") if len(known) else ("–", "–")
        rows.append([name, f"{float(tasks.norm[place]):.3g}", f"{float(tasks.relative[place]):.4f}", mean, largest,
                     f"{float(sweep.parent[place]):.4f}"])
    head = ["task", "‖τ‖", "‖τ‖/‖θ₀‖", "mean cosine with others", "largest", "cosine of θ and θ₀, matrices"]
    notes = Markup("").join(Markup("<p><b>Mind:</b> {}</p>").format(note) for note in sweep.attrs["notes"])
    return table(head, rows, after=notes)


def reading_of_regime(sweep: xarray.Dataset) -> Page:
    """Whether these task vectors are as short and as upright to each other as CLIP's."""
    together = overall(sweep)
    pairs = together.cosine.values[np.tril_indices(together.sizes["task"], -1)]
    pairs = pairs[np.isfinite(pairs)]
    between = said("between {least:.2f} and {most:.2f}", least=pairs.min(), most=pairs.max()) if len(pairs) else ""
    cosines = f", and their cosines with each other lie {between}" if between else ""
    return reading("What kind of task vectors are these?", """
        Their length is {low:.3f} to {high:.3f} of θ₀'s{cosines}. Short vectors nearly at right angles, as the course's
        own are, do not cancel each other. Whether their sum is any good is another question: the course's merge badly.
        Where cosines are far above 0 they share a direction, and the average already has it.""",
                   low=float(together.relative.min()), high=float(together.relative.max()), cosines=cosines)
