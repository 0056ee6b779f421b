"""CLIP's six tasks, measured where the checkpoints are at hand: θ₀, single models on every task, merges, CART at every
rank and λ, and linearity along the line between two towers."""
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import xarray as xr

import data
from data import cifar100, store
from data.pinning import pinned
from lessons.checkpoints import clip, fetching, folders, known, totals, towers
from lessons.kit.page import Page, paragraph, said
from lessons.kit.sweep import cached
from lessons.linearity.algorithms import along, means
from lessons.merging import merge
from toy_models import training

EXPECT = "ViT-B/32"
# as the published figures were measured: FusionBench's TIES adds where the paper averages
SETTINGS: Mapping[str, Mapping] = {"average": {}, "task_arithmetic": {"scale": 0.3},
                                   "ties": {"scale": 0.3, "density": 0.2, "agree": "elected sum"}, "tsv": {}}
RATIOS, LAMBDAS = (0.02, 0.04, 0.08, 0.12, 0.16, 0.32), (0.5, 1.0, 1.5, 2.0, 2.5)
PAIRS = (("mnist", "svhn"), ("cifar10", "cifar100"), ("mnist", "cifar10"))
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
ADAPT = {"per": "layer", "start": 0.3, "lr": 0.001, "steps": 500}  # as published
ADAPT_BATCH = 16
READING = 300  # seconds: of reading, merging and decomposing once, on one thread


def paths() -> dict[str, Path]:
    """{task: folder} of the finetuned towers of the six tasks, whether they are here or not."""
    return {task: fetching.folder(known.FINETUNED[task]) for task in known.SIX}


def missing() -> list[str]:
    """What is not here of what the six tasks need, as "folder/file"."""
    return [f"{remote.name}/{remote.file}" for remote in fetching.missing("b32")]


def announce() -> Page:
    """Whether CLIP's checkpoints are here; if not, where they go and how to fetch them."""
    lacking = missing()
    folder = store.root() / "checkpoints"
    if lacking:
        text = said("""No CLIP checkpoints here: {count} of {all} files are missing in {folder}, {first} for one. What
                       follows shows published figures, marked as such. `python -m lessons.checkpoints fetch b32`
                       fetches them, about 2.7 GB; or copy them there.""",
                    count=len(lacking), all=len(known.SETS["b32"]), folder=folder, first=lacking[0])
    else:
        unpinned = sum(not remote.pinned for remote in known.SETS["b32"])
        text = said("""CLIP's checkpoints are in {folder}. {unpinned} of {all} files are not pinned: nobody published
                       their digests.""", folder=folder, unpinned=unpinned, all=len(known.SETS["b32"]))
    return Page(text, paragraph(text))


def images(count: int) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """{task: (images in 0 … 1, labels)} of `count` test images a task, spread over the set."""
    of_tasks = {}
    for task in known.SIX:
        part = data.load(task, "test").spread(count)
        of_tasks[task] = (cifar100.unnormalise(part.x) if task == "cifar100" else part.x, part.y)
    return of_tasks


def suite(expect: str | None = EXPECT, check: bool = True) -> clip.Suite:
    """The six towers from their folders; their digests are checked, which takes a second for each.

    Raises:
        CheckpointError: a file is missing or is not the published one.
    """
    for remote in known.SETS["b32"] if check else ():
        fetching.checked(remote)
    names = {"cifar100": cifar100.class_names()}
    return clip.opened(fetching.folder(known.BASE), paths(), names, expect)


def seconds(count: int, an_image: float, settings: int = len(RATIOS) * len(LAMBDAS)) -> float:
    """How long `run` will take, roughly.

    Args:
        count: images a task.
        an_image: seconds that one takes.
        settings: of rank and λ.
    """
    looks = (1 + len(known.SIX) + len(SETTINGS) + settings) * len(known.SIX)
    lines = len(PAIRS) * (2 + len(ALPHAS))
    return count * (looks + lines) * an_image + READING


def timed(ours: clip.Suite, x: torch.Tensor, device: str | torch.device, mixed: bool) -> float:
    """Seconds that one image takes in a batch of eight, after a first batch that warms up."""
    state = clip.in_memory(ours.base, device)
    for _ in range(2):
        start = time.perf_counter()
        task = next(iter(ours.heads))
        clip.accuracy(ours, state, task, x[:8], torch.zeros(len(x[:8]), dtype=torch.int64), device, mixed)
    return (time.perf_counter() - start) / len(x[:8])


def run(count: int = 50, device: str = "auto", expect: str | None = EXPECT, check: bool = True,
        ratios: Sequence[float] = RATIOS, lambdas: Sequence[float] = LAMBDAS) -> xr.Dataset | None:
    """Everything about the six tasks; None where checkpoints are missing. Kept on disk under the files' digests.

    Args:
        count: test images a task.
        device: "auto", "cpu", "cuda".
        expect, check: see `suite`.

    Returns:
        accuracy (model, task), bell (ratio, lam, task), gap_mean, coef_mean (pair, alpha, layer), own_mean
        (pair, layer).
    """
    if missing():
        return None
    files = {task: folders.opened(path).digests() for task, path in {"base": fetching.folder(known.BASE),
                                                                     **paths()}.items()}
    sources = {task: data.source(task) for task in known.SIX}
    ingredients = {"files": files, "count": count, "ratios": list(ratios), "lambdas": list(lambdas),
                   "data": {task: source.digest for task, source in sources.items()}}
    return cached("vit_clip", ingredients, lambda: _measure(count, device, expect, check, ratios, lambdas), __name__)


def _measure(count, device, expect, check, ratios, lambdas):
    ours, where = suite(expect, check), training.resolve(device)
    mixed = torch.device(where).type == "cuda" or training.trains_in_bfloat16()
    tests, tuned = images(count), list(ours.finetuned.values())
    estimate = seconds(count, timed(ours, tests["mnist"][0], where, mixed), len(ratios) * len(lambdas))
    print(f"Measuring CLIP on {len(tests)} × {count} images, on {where}: about {1 + estimate // 60:.0f} min, once.")
    models = {"θ₀": ours.base, **{f"single: {task}": state for task, state in ours.finetuned.items()}}
    for name, parameters in SETTINGS.items():
        models[name] = lambda name=name, parameters=parameters: merge(name, ours.base, tuned, **parameters)
    if torch.device(where).type == "cuda":  # on a CPU it would take hours
        models["adamerging"] = lambda: adapted(ours, tests, where)
    accuracy = clip.table(ours, models, tests, where, mixed)
    bell = np.empty((len(ratios), len(lambdas), len(tests)))
    with tempfile.TemporaryDirectory(dir=store.workplace("checkpoints"), prefix=".totals-") as name:
        folder = Path(name)  # for what is only needed now: 350 MB a rank
        totals.write(folder, ours.base, tuned, ratios)
        for place, ratio in enumerate(ratios):
            grid = {str(lam): lambda ratio=ratio, lam=lam: totals.Cart(folder, ratio, lam) for lam in lambdas}
            bell[place] = clip.table(ours, grid, tests, where, mixed).values
    lines = [linearity(ours, a, b, tests[a][0], ALPHAS, where) for a, b in PAIRS]
    of_pairs = xr.concat(lines, "pair").assign_coords(pair=[f"{a}, {b}" for a, b in PAIRS])
    named = {"model": list(models), "task": list(tests), "ratio": list(ratios), "lam": list(lambdas)}
    sweep = xr.Dataset({"accuracy": (("model", "task"), accuracy.values),
                        "bell": (("ratio", "lam", "task"), bell)}, named).merge(of_pairs)
    sources = [data.source(task) for task in known.SIX]
    return sweep.assign_attrs(
        images=f"{count} test images a task", profile="files", seed=0, network=f"CLIP {expect or 'of another size'}",
        device=str(where), dataset="the six tasks", source="; ".join(source.text for source in sources),
        source_kind="stand-in" if any(source.is_stand_in for source in sources) else "official")


def adapted(ours: clip.Suite, tests: Mapping[str, tuple[torch.Tensor, torch.Tensor]], device: str | torch.device,
            **parameters) -> dict[str, torch.Tensor]:
    """AdaMerging on the test images themselves, without their labels, as published.

    Args:
        parameters: of `adamerging`, in place of `ADAPT`.
    """
    batches = [list(clip.batches(x, ours.tower, device, ADAPT_BATCH)) for x, _ in tests.values()]
    base, *tuned = (clip.in_memory(state, device) for state in (ours.base, *ours.finetuned.values()))
    return merge("adamerging", base, tuned, forward=clip.forward(ours), batches=batches, **{**ADAPT, **parameters})


# -- cross-task linearity --------------------------------------------------------------------------------------------

@pinned()
def linearity(ours: clip.Suite, a: str, b: str, x: torch.Tensor, alphas: Sequence[float],
              device: str | torch.device = "cpu") -> xr.Dataset:
    """CTL's measurement on a pair of finetuned towers: after every block, the class token of α·θ_a + (1 − α)·θ_b
    beside the mixture of both towers' (CTL, Eq. 2, Fig. 4 to 10).

    Returns:
        gap_mean, coef_mean (alpha, layer): means over images; own_mean (layer): 1 − cos between the two ends.
    """
    def class_tokens(state, x):
        parts = []
        with torch.no_grad():
            for part in clip.batches(x, ours.tower, device):
                features = towers.features(state, part, ours.tower)
                parts.append({layer: (h[:, 0] if h.ndim == 3 else h).cpu() for layer, h in features.items()})
        return {layer: torch.cat([part[layer] for part in parts]) for layer in parts[0]}

    ends = [clip.in_memory(ours.finetuned[task], device) for task in (a, b)]
    line = along(class_tokens, *ends, [float(alpha) for alpha in alphas], parts=(x,), summary=means)
    return line.drop_vars("distance")
