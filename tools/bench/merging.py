"""How long the merging methods take, and how much memory they need when the models stay in files."""
import functools
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch
from safetensors.torch import save_file

from lessons.merging import Needs, StateFile, merge, methods
from toy_models import ResNet18

TASKS, RUNS, STATUS = 8, 5, Path("/proc/self/status")


def merging(width: int = 64, repeats: int = 3) -> None:
    """Eight state dicts of ResNet-18 size, merged by every method that needs no inputs; beside them the plain ways to
    do the same.

    Args:
        width: of the ResNet18; 64 has 11.2 million parameters.
        repeats: the median of so many runs is printed.
    """
    generator = torch.Generator().manual_seed(0)
    base = ResNet18(width, 100).state_dict()
    finetuned = [_moved(base, generator) for _ in range(TASKS)]
    plain = {"average": lambda: {key: torch.stack([state[key].float() for state in finetuned]).mean(0) for key in base},
             "ties": lambda: [_sorted(base, state) for state in finetuned],
             "cart": lambda: merge("cart", base, finetuned, decomposition="svd")}
    said = {"average": "stack and mean", "ties": "the full sorts alone", "cart": "a thin SVD in float64"}
    millions = sum(tensor.numel() for tensor in base.values()) / 1e6
    print(f"{TASKS} state dicts of ResNet18, width {width}, {millions:.1f} million parameters, "
          f"{torch.get_num_threads()} threads:")
    for name, method in methods().items():
        if Needs.INPUTS in method.needs:
            continue
        seconds = _seconds(functools.partial(merge, name, base, finetuned[:method.models]), repeats)
        beside = f"; {said[name]}: {1000 * _seconds(plain[name], 1):.0f} ms" if name in plain else ""
        print(f"  {method.title}: {1000 * seconds:.0f} ms{beside}")
    _from_files(base, finetuned)


def _moved(base, generator):
    moved = dict(base)
    for key, tensor in base.items():
        if tensor.is_floating_point():
            moved[key] = tensor + 0.01 * torch.randn(tensor.shape, generator=generator)
    return moved


def _sorted(base, state):
    return torch.cat([(state[key] - base[key]).abs().flatten() for key in base]).argsort()


def _seconds(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _from_files(base, finetuned):
    """Merge from files, each time in a process of its own, and print the private memory that it takes beyond its
    imports.

    It differs from run to run, by what the system gives back when.
    """
    if not STATUS.exists():
        print("  memory not measured: there is no /proc here")
        return
    sizes = [tensor.numel() * tensor.element_size() for tensor in base.values()]
    goal = 2 * sum(sizes) + TASKS * max(sizes)
    with tempfile.TemporaryDirectory() as folder:
        for number, state in enumerate((base, *finetuned)):
            save_file(state, Path(folder) / f"{number}.safetensors")
        for name, method in methods().items():
            if method.gives_one_model and Needs.INPUTS not in method.needs:
                peaks = ", ".join(f"{peak / 1e6:.0f}" for peak in sorted(_peaks(name, folder)))
                print(f"  {method.title} from files: peaks of {peaks} MB; the goal, two models and {TASKS} times the "
                      f"largest tensor, is {goal / 1e6:.0f} MB")


def _peaks(name, folder):
    command = [sys.executable, "-m", "tools.bench.merging", name, folder]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(RUNS)]
    return [int(run.stdout) for run in runs]


def _peak_from_files(name, folder):
    """The largest private memory (RssAnon) during a merge, above that before it, in bytes."""
    def private():
        return 1024 * int(next(line.split()[1] for line in STATUS.open() if line.startswith("RssAnon")))

    files = [StateFile(Path(folder) / f"{number}.safetensors") for number in range(1 + TASKS)]
    before = private()
    most = 0
    done = threading.Event()

    def watch():
        nonlocal most
        while not done.wait(0.0005):
            most = max(most, private())

    watcher = threading.Thread(target=watch)
    watcher.start()
    result = merge(name, files[0], files[1:][:methods()[name].models])
    done.set()
    watcher.join()
    return max(most, private()) - before if result else 0


if __name__ == "__main__":
    print(_peak_from_files(*sys.argv[1:]))
