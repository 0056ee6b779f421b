"""`make bench`: the numbers that the course promises, measured in one run. Times are of this machine and this minute;
ratios travel better."""
import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

import data
from lessons.averaging.experiment import speed_of_sharing
from lessons.kit import chapters as course
from lessons.kit.notebooks import CHAPTERS, budget, execute
from lessons.pretraining.algorithms import matching as permutations
from lessons.task_arithmetic import panels as arithmetic_panels
from lessons.task_arithmetic.experiment import mlp as arithmetic
from tools import lab
from tools.bench.checkpoints import checkpoints
from tools.bench.epoch import BATCH, OPERATIONS, WIDTHS, epoch_seconds, mlp_epoch_seconds, own_product_rate
from tools.bench.goals import Figure, table
from tools.bench.merging import merging
from tools.bench.promised import goals
from tools.bench.views import READY, TOLD, compressed, keys, views
from toy_models import MLP, ResNet18
from toy_models import training as training_rules

LONG = 900  # MLP epochs: ten minutes on two AVX2 cores
MAIN_LINE = [chapter.notebook for chapter in course.CHAPTERS if not chapter.deeper]
KINDS = {"chapter 1's MLP": WIDTHS, "400 wide": (784, 400, 10), "spirals": (2, 32, 32, 2)}


@training_rules.one_thread()
def training() -> None:
    """An epoch against its arithmetic, against autograd, and against float32."""
    other = MLP(WIDTHS).double()
    own = own_product_rate(torch.float64)
    by_hand = mlp_epoch_seconds()
    optimiser = torch.optim.SGD(other.parameters(), lr=0.1)

    def autograd(x, y):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(other(x.double()), y).backward()
        optimiser.step()

    by_autograd = epoch_seconds(autograd)
    print(f"MLP epoch, batch 64, float64: {by_hand:.2f} s. Arithmetic ({OPERATIONS / 1e9:.0f} GFLOP): "
          f"{OPERATIONS / own:.2f} s at the rate of its own batch product ({own / 1e9:.0f} GFLOP/s), "
          f"ratio {by_hand * own / OPERATIONS:.2f}")
    print(f"the same with autograd and torch.optim.SGD: {by_autograd:.2f} s, {by_autograd / by_hand:.1f} times as long")
    for name, widths in KINDS.items():
        single, double = (_steps_of(MLP(widths).to(dtype)) for dtype in (torch.float32, torch.float64))
        print(f"{name}: float64, whose weights travel, takes {double / single:.2f} times as long as float32")


def _steps_of(network):
    widths = [network.layers[0].in_features, network.layers[-1].out_features]
    return epoch_seconds(lambda x, y: network.sgd_step(x, y, 0.1), *widths, samples=10_000)


@training_rules.one_thread()
def turning() -> None:
    """Turning digits with the same bits everywhere, beside torchvision's way."""
    from torchvision.transforms.v2 import functional

    from data.vision import torchvision
    x = torch.rand(10_000, 28, 28)
    bilinear = torchvision.transforms.InterpolationMode.BILINEAR

    def theirs():
        for part in x.split(2000):
            functional.rotate(part[:, None], 33.0, interpolation=bilinear)

    ours = min(_times(lambda: data.rotated_mnist.rotate(x, 33.0), 3))
    print(f"10,000 digits turned: {ours:.2f} s, {ours / min(_times(theirs, 3)):.1f} times torchvision's")


def _times(function, repeats):
    """Seconds of so many calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return times


def resnets() -> None:
    """A training step of ResNet18 at two widths, in the format and precision that training chooses, beside contiguous
    float32."""
    fast = training_rules.trains_in_bfloat16()
    for width in (16, 64):
        network = ResNet18(width, 5)
        chosen = _resnet_step(network, training_rules.fastest_format(network), fast)
        plain = _resnet_step(network, torch.contiguous_format, False)
        print(f"ResNet18, width {width}, step of {BATCH}: {1000 * chosen:.0f} ms as training does it "
              f"(bfloat16: {fast}), {plain / chosen:.2f} times as long contiguous in float32")


def _resnet_step(network, images, fast):
    """Seconds of a training step, images in this memory format, in bfloat16 where `fast`."""
    network.to(memory_format=images)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05)
    x = torch.randn(BATCH, 3, 32, 32).contiguous(memory_format=images)
    y = torch.arange(BATCH) % 5

    def step():
        optimiser.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=fast):
            logits = network(x)
        torch.nn.functional.cross_entropy(logits.float(), y).backward()
        optimiser.step()

    return statistics.median(_times(step, 6)[1:])


def averaging() -> None:
    """One triple of chapter 3, computed plainly and with the work shared between triples."""
    of = speed_of_sharing()
    print(f"a triple of MLPs on 2,000 images: {1000 * of['plain']:.1f} ms plainly, "
          f"{1000 * of['shared']:.1f} ms with shared work, ratio {of['ratio']:.1f}")


def task_arithmetic() -> None:
    """Another mix on chapter 4's mixing desk: accuracy on nine tasks at every λ, in weights and in outputs."""
    sweep, networks = arithmetic.run("quick"), arithmetic.models()
    desk, times = arithmetic_panels.mixing_desk(sweep, networks), []
    choices = [desk.controls[name].values for name in ("added", "subtracted")]
    for added, subtracted in itertools.product(*choices):  # each once: what was shown is not computed again
        start = time.perf_counter()
        desk.draw(lam=0.5, added=added, subtracted=subtracted)
        times.append(1000 * (time.perf_counter() - start))
    print(f"mixing desk, another choice in the kernel: {_spread(times)}")


def matching() -> None:
    """Weight matching of two unrelated 3×512 MLPs (784–512–512–512–10), beside one product of their arithmetic."""
    plan = permutations.mlp_plan(4)
    a, stranger = (MLP((784, 512, 512, 512, 10)).state_dict() for _ in range(2))
    permuted = permutations.permute(a, plan, permutations.random_permutations(a, plan))
    said = []
    for b, what in ((stranger, "strangers"), (permuted, "a planted permutation")):
        start = time.perf_counter()
        found = permutations.weight_matching(a, b, plan, restarts=1)
        said.append(f"{time.perf_counter() - start:.2f} s and {found.sweeps} sweeps for {what}")
    print(f"weight matching, 3×512 MLP, one run: {', '.join(said)}")


def chapters() -> dict[str, Figure]:
    """Every chapter from nothing and again, quick and full, on the data that are here; those whose full takes more than
    ten minutes in quick alone.

    Beside the seconds stands how many epochs of chapter 1's MLP would have fitted in: that number travels from machine
    to machine.
    """
    again, nothing = [], 0.0
    official = [data.store.root() / name for name in ("MNIST", "FashionMNIST", "cifar-100-binary")]
    for profile in ("quick", "full"):
        told = 0
        for chapter in CHAPTERS:
            if budget(chapter.stem, profile) > LONG:
                continue
            with tempfile.TemporaryDirectory() as folder:
                for files in official:
                    if files.exists():
                        (Path(folder) / files.name).symlink_to(files.resolve())
                os.environ["WEIGHTSPACE_DATA"] = folder
                size, epochs, seconds = _open_twice(chapter, profile, Path(folder))
            told += size
            if profile == "quick" and chapter in MAIN_LINE:
                nothing += epochs
                again.append(seconds)
        print(f"{profile}, all of these: the page is told {told / 1e6:.1f} MB, compressed (goal: {TOLD:g} MB)")
    return {"second": Figure([max(again)], said=f"{len(again)} lessons, {min(again):.1f} to {max(again):.1f} s"),
            "nothing": Figure([nothing], said=f"{len(again)} lessons together")}


def _open_twice(chapter, profile, folder):
    """(bytes that the page is told, epochs of the first opening, seconds of the second)."""
    epoch, took = mlp_epoch_seconds(), []
    for turn in ("nothing kept", "second opening"):
        start = time.perf_counter()
        notebook = execute(chapter, folder / chapter.name, profile=profile)
        took.append(seconds := time.perf_counter() - start)
        ran = [cell for cell in notebook.cells if cell.cell_type == "code" and "papermill" in cell.metadata]
        cells = sum(cell.metadata.papermill.duration or 0 for cell in ran)
        print(f"{chapter.stem}, {profile}, {turn}: {seconds:.1f} s in all, {cells:.1f} s in its cells, "
              f"{seconds / epoch:.0f} epochs of {epoch:.2f} s", flush=True)
    sizes = _sizes(notebook)
    print(f"{chapter.stem}, {profile}: the page is told {sum(sizes) / 1024:.0f} kB, compressed, of {len(sizes)} views")
    return sum(sizes), took[0] / epoch, took[1]


def _sizes(notebook):
    """Bytes that the page is told of every view when it opens, compressed: its marks, and the numbers along its
    slider."""
    states = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    shown = [one["state"] for one in states if {"spec", "frames"} <= one["state"].keys()]
    return [compressed(one["spec"], one["frames"]) for one in shown]


def sliders() -> None:
    """Milliseconds from a key to the painted picture in Chromium, 40 keys on every panel."""
    if reason := lab.missing():
        print(f"sliders not measured: {reason}")
        return
    with lab.server(CHAPTERS[0].parent) as address:
        for chapter in CHAPTERS:
            with lab.chromium() as page:
                lab.run_all(page, address, chapter.relative_to(CHAPTERS[0].parent).as_posix())
                start = time.perf_counter()
                found = lab.views(page)
                seconds = time.perf_counter() - start
                print(f"{chapter.stem}: {len(found)} views are ready {seconds:.1f} s after the last cell, each "
                      f"scrolled to (goal: {READY:g} s)")
                for number, view in enumerate(found, 1):
                    if view.locator(lab.HANDLE).count():  # else it has chips alone
                        print(f"{chapter.stem}, view {number}: {keys(page, view)}")


def _spread(times):
    return f"{statistics.median(times):.0f} ms (90th percentile {lab.percentile_90(times):.0f} ms)"


_IN_ORDER = (goals, training, turning, resnets, averaging, task_arithmetic, matching, merging, checkpoints, views,
             chapters, sliders)
PARTS = {part.__name__: part for part in _IN_ORDER}


def main(arguments=None) -> int:
    """Run the parts that are named, in their order here; all where none is."""
    described = "\n".join(f"  {name:16} {(part.__doc__ or '').splitlines()[0]}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__, epilog=f"parts:\n{described}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help="what to measure; everything where none is named")
    wanted = parser.parse_args(arguments).parts
    if unknown := [name for name in wanted if name not in PARTS]:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    root = str(data.store.root())
    figures: dict[str, Figure] = {}
    for name, part in PARTS.items():
        if name in wanted or not wanted:
            figures |= part() or {}
            os.environ["WEIGHTSPACE_DATA"] = root
    if figures:
        print(f"\n{table(figures)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
