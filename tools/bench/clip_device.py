"""CLIP's path with random weights of real shapes on a device: seconds and memory of every step. Where there is a GPU:
python -m tools.bench.clip_device [--device cuda] [--tower ViT-B/32] [--images 1000].
"""
import argparse
import contextlib
import time

import torch

from lessons.checkpoints import clip
from lessons.checkpoints.towers import NAMED, Tower
from lessons.merging import Needs, merge, methods
from lessons.vit.experiment import clip as measuring
from toy_models import training
from toy_models.weights import State

TASKS, CLASSES, SPACE = 8, 10, 512


def suite(tower: Tower) -> clip.Suite:
    """θ₀ and TASKS finetuned towers, random, with random heads."""
    generator = torch.Generator().manual_seed(0)
    base = {key: 0.02 * torch.randn(shape, generator=generator) for key, shape in tower.shapes().items()}
    tuned = {f"task {number}": _moved(base, generator) for number in range(TASKS)}
    heads = {task: torch.nn.functional.normalize(torch.randn(CLASSES, SPACE, generator=generator)) for task in tuned}
    return clip.Suite(tower, base, tuned, torch.randn(SPACE, tower.width, generator=generator), 4.6, heads)


def _moved(base: State, generator) -> State:
    return {key: tensor + 0.0005 * torch.randn(tensor.shape, generator=generator) for key, tensor in base.items()}


@contextlib.contextmanager
def timed(what: str, device: torch.device):
    """Print how long the block took, and the device's memory at most."""
    cuda = device.type == "cuda"
    if cuda:
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
    start = time.perf_counter()
    yield
    if cuda:
        torch.cuda.synchronize(device)
    memory = f", at most {torch.cuda.max_memory_allocated(device) / 1e9:.2f} GB on the device" if cuda else ""
    print(f"  {what}: {time.perf_counter() - start:.2f} s{memory}", flush=True)


def clip_on_device(device: str = "auto", tower: Tower = NAMED["ViT-B/32"], images: int = 64, steps: int = 5) -> None:
    """Looks, merges, linearity and AdaMerging of CLIP with random weights.

    Args:
        images: a task.
        steps: of AdaMerging; published figures took 500.
    """
    where = torch.device(training.resolve(device))
    name = torch.cuda.get_device_name(where) if where.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    ours = suite(tower)
    x = torch.randint(0, 256, (images, 3, 32, 32), dtype=torch.uint8)
    y = torch.randint(0, CLASSES, (images,))
    data = dict.fromkeys(ours.finetuned, (x, y))
    print(f"{TASKS} towers of {tower.parameters() / 1e6:.1f} million parameters, {images} images a task, {name}:")
    for mixed in (False, True):
        with timed(f"one model on all tasks, {'bfloat16' if mixed else 'float32'}", where):
            clip.table(ours, {"θ₀": ours.base}, data, where, mixed)
    base, *tuned = (clip.in_memory(state, where) for state in (ours.base, *ours.finetuned.values()))
    for method in methods().values():
        if method.gives_one_model and Needs.INPUTS not in method.needs:
            with timed(f"{method.title}, on the device", where):
                try:
                    merge(method.name, base, tuned[:method.models])
                except Exception as error:  # whatever one method cannot do there, the others are still measured
                    print(f"  {method.title} fails on {where}: {type(error).__name__}: {error}")
    del base, tuned
    with timed("linearity, one pair, five α", where):
        measuring.linearity(ours, *list(ours.finetuned)[:2], x, measuring.ALPHAS, where)
    with timed(f"AdaMerging, {steps} steps of {measuring.ADAPT_BATCH} images a task", where):
        measuring.adapted(ours, data, where, steps=steps)


def main(arguments=None) -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.clip_device", description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--tower", default="ViT-B/32", choices=list(NAMED))
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--steps", type=int, default=5)
    asked = parser.parse_args(arguments)
    clip_on_device(asked.device, NAMED[asked.tower], asked.images, asked.steps)


if __name__ == "__main__":
    main()
