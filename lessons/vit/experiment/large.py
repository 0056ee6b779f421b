"""A larger ViT for those who have a GPU: width 384, depth 6, Split CIFAR-100 in 20 groups, trained, merged and looked
at on the device. No other chapter and no test in CI needs it.

`python -m lessons.vit.experiment.large [--device auto] [--seeds 0 1 2] [--known 20] [--tuning-lr 1e-4]` says what there
is to do and how long that takes here, by a few timed steps, then begins.
"""
import argparse
from dataclasses import replace

import numpy as np
import torch
import xarray

import data
from lessons.cart.algorithms.spectra import decomposed_once
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearity.algorithms import along, means
from lessons.merging.search import Grid, best, searched, tuned
from lessons.vit.experiment.bench import DATASET, PROFILES, Bench, Settings
from toy_models.weights import norm, subtract

PAIRS = 8  # of groups, between whose networks features are compared
SEARCHES = {grid.method: grid for grid in (
    Grid("average"), Grid("task_arithmetic", (0.03, 0.05, 0.1, 0.2)),
    Grid("ties", (0.5, 1.0, 2.0), "density", (0.1, 0.4)), Grid("tsv", (0.25, 0.5, 0.75, 1.0)))}


def grids_of(settings: Settings) -> dict[str, Grid]:
    """What is tried of every method."""
    return SEARCHES | {"cart": Grid("cart", settings.lams, "rank_ratio", settings.ranks)}


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train, merge and look.

    Returns:
        A Dataset with test (reported, group): accuracy of θ₀, of the single networks and of every method with what
        held-out images chose; chosen (searched, which: λ and other); cart (rank, lam): held-out accuracy; gap, own
        (layer): half-way, mean over pairs and test images; length (group): ‖τ‖/‖θ₀‖; seconds (stage).
    """
    bench, groups, grids = Bench(settings, seed, device), range(settings.groups), grids_of(settings)
    times = [bench.time()]
    base = bench.trained(bench.state, groups[:settings.known], settings.epochs, settings.lr, frozen=False)
    times.append(bench.time())
    finetuned = [bench.trained(base, [group], settings.tuning_epochs, settings.tuning_lr, True) for group in groups]
    times.append(bench.time())
    merges = decomposed_once(base, finetuned)
    tried = searched(lambda state: bench.accuracies(state, "held-out"), merges, grids,
                     [f"group {group}" for group in groups], settings.groups * settings.images)
    test = {"θ₀": bench.accuracies(base),
            "single": [bench.accuracy(state, group) for group, state in enumerate(finetuned)]}
    test |= {method: bench.accuracies(state) for method, state in tuned(tried, grids, merges).items()}
    times.append(bench.time())
    lines = []
    for pair in zip(range(PAIRS), range(1, settings.groups)):
        x = torch.cat([bench.images(group, "test")[0] for group in pair])
        lines.append(along(bench.features, *(finetuned[group] for group in pair), (0.5,), parts=(x,), summary=means))
    line = xarray.concat(lines, "pair").sel(alpha=0.5, drop=True).mean("pair")
    times.append(bench.time())
    held = tried.held.mean("task", skipna=False)
    there = best(held, "place", "scale")
    chosen = np.stack([there["scale"], tried.value.sel(place=there["place"]).fillna(0.0)], 1)
    cart = held.sel(searched="cart", scale=list(settings.lams)).isel(place=range(len(settings.ranks))).values
    return xarray.Dataset({"test": (("reported", "group"), list(test.values())), "cart": (("rank", "lam"), cart),
                           "chosen": (("searched", "which"), chosen), "gap": line.gap_mean, "own": line.own_mean,
                           "length": ("group", [norm(subtract(state, base)) / norm(base) for state in finetuned]),
                           "seconds": ("stage", np.diff(times))},
                          {"reported": list(test), "group": list(groups), "searched": list(grids),
                           "which": ["λ", "other"], "rank": list(settings.ranks), "lam": list(settings.lams),
                           "stage": ["pretraining", "finetuning", "merging and looking", "linearity"]},
                          {"images": f"{settings.images} held-out and {settings.images} test images a group",
                           "test_images": settings.groups * settings.images, "device": str(bench),
                           "known": settings.known, **tried.attrs})


def estimate(settings: Settings, device: str = "auto", steps: int = 5) -> float:
    """Time a few steps on random images, and say how long a seed takes here; its seconds."""
    bench, times = Bench(settings, 0, device), []
    optimiser = torch.optim.AdamW(bench.network.parameters(), lr=1e-9)
    x, y = torch.randn(settings.batch_size, 3, 32, 32), torch.arange(settings.batch_size) % 100
    batch = [tensor.to(bench.device) for tensor in (x, y, torch.arange(100))]
    for _ in range(steps + 1):  # the first one also loads kernels
        bench.step(*batch, optimiser)
        times.append(bench.time())
    an_image = (times[-1] - times[0]) / steps / settings.batch_size
    passes = settings.known * settings.epochs + settings.groups * settings.tuning_epochs
    trained = (settings.size or 5 * 500) * passes
    states = 10 + sum(len(grid.scales) * len(grid.tried) for grid in grids_of(settings).values())
    seconds = an_image * (trained + states * settings.groups * settings.images / 3)  # a look has no backward pass
    millions = sum(parameter.numel() for parameter in bench.network.parameters()) / 1e6
    print(f"A ViT of {millions:.1f} million parameters on {bench}: {trained:,} training images a seed, "
          f"{1000 * an_image:.2f} ms each. A seed takes about {seconds / 60:.0f} minutes, with nothing kept between.")
    return seconds


EXPERIMENT = Experiment("vit-large", measure, PROFILES, lambda: data.source(DATASET, splits=tuple(range(20))),
                        "Split CIFAR-100", network="ViT of width 384 and depth 6", one_thread=False)
run = EXPERIMENT.run


def report(sweep: xarray.Dataset) -> str:
    """A sweep in a few lines."""
    def listed(values, form="{} {:.3f}"):
        return ", ".join(form.format(name, value) for name, value in values.to_series().items())

    length, known = float(sweep.length.mean()), sweep.attrs["known"]
    parts = {"groups that pretraining saw": sweep.test.isel(group=slice(known)),
             "groups that it did not see": sweep.test.isel(group=slice(known, None))}
    accuracies = "; ".join(f"{part}: {listed(test.mean('group'))}; points over θ₀ {listed(_gains(test), '{} {}')}"
                           for part, test in parts.items() if test.sizes["group"])
    return (f"{sweep.attrs['device']}: {accuracies}; task vectors {length:.3f} of θ₀; "
            f"gap over own distance half-way: {listed(sweep.gap / sweep.own)}; {listed(sweep.seconds, '{} {:.0f} s')}")


def _gains(test):
    """How many points every merge is ahead of θ₀, mean ± standard error over the groups."""
    gains = 100 * (test.drop_sel(reported=["θ₀", "single"]) - test.sel(reported="θ₀"))
    errors = gains.std("group", ddof=1) / gains.sizes["group"] ** 0.5
    return xarray.apply_ufunc(lambda mean, error: f"{mean:.1f} ± {error:.1f}", gains.mean("group"), errors,
                              vectorize=True)


def main(arguments=None) -> None:
    """Say how long it takes; then measure every seed and print it."""
    parser = argparse.ArgumentParser(prog="python -m lessons.vit.experiment.large", description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    usual = PROFILES["full"]
    parser.add_argument("--known", type=int, default=usual.known, help="pretraining sees the first so many groups")
    parser.add_argument("--tuning-lr", type=float, default=usual.tuning_lr, help="learning rate of finetuning")
    options = parser.parse_args(arguments)
    settings = replace(usual, known=options.known, tuning_lr=options.tuning_lr)
    experiment = replace(EXPERIMENT, profiles=Profiles(full=settings))
    estimate(settings, options.device)
    for seed in options.seeds:
        print(f"seed {seed}: {report(experiment.run('full', seed, options.device))}", flush=True)


if __name__ == "__main__":
    main()
