"""How long the merging methods take, and how much memory they need when the models stay in files."""
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
    finetuned = [{key: tensor + 0.01 * torch.randn(tensor.shape, generator=generator) if tensor.is_floating_point() else tensor for key, tensor in base.items()}
                 for _ in range(TASKS)]
    plain = {"average": lambda: {key: torch.stack([state[key].float() for state in finetuned]).mean(0) for key in base},
             "ties": lambda: [torch.cat([(state[key] - base[key]).abs().flatten() for key in base]).argsort() for state in finetuned],
             "cart": lambda: merge("cart", base, finetuned, decomposition="svd")}
    said = {"average": "stack and mean", "ties": "the full sorts alone", "cart": "a thin SVD in float64"}
    millions = sum(tensor.numel() for tensor in base.values()) / 1e6
    print(f"{TASKS} state dicts of ResNet18, width {width}, {millions:.1f} million parameters, {torch.get_num_threads()} threads:")
    for name, method in methods().items():
        if Needs.INPUTS in method.needs:
            continue
        seconds = _seconds(lambda: merge(name, base, finetuned), repeats)
        beside = f"; {said[name]}: {1000 * _seconds(plain[name], 1):.0f} ms" if name in plain else ""
        print(f"  {method.title}: {1000 * seconds:.0f} ms{beside}")
    _from_files(base, finetuned)


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
    model, largest = (of(tensor.numel() * tensor.element_size() for tensor in base.values()) for of in (sum, max))
    with tempfile.TemporaryDirectory() as folder:
        for number, state in enumerate((base, *finetuned)):
            save_file(state, Path(folder) / f"{number}.safetensors")
        for name, method in methods().items():
            if method.gives_one_model and Needs.INPUTS not in method.needs:
                runs = [int(subprocess.run([sys.executable, "-m", "tools.bench.merging", name, folder], capture_output=True, text=True, check=True).stdout) for _ in range(RUNS)]
                print(f"  {method.title} from files: peaks of {', '.join(f'{above / 1e6:.0f}' for above in sorted(runs))} MB; the goal, two models and {TASKS} times the largest tensor, "
                      f"is {(2 * model + TASKS * largest) / 1e6:.0f} MB")


def _peak_from_files(name, folder):
    """The largest private memory (RssAnon) during a merge, above that before it, in bytes."""
    def private():
        return 1024 * int(next(line.split()[1] for line in STATUS.open() if line.startswith("RssAnon")))

    files = [StateFile(Path(folder) / f"{number}.safetensors") for number in range(1 + TASKS)]
    before, most, done = private(), 0, threading.Event()

    def watch():
        nonlocal most
        while not done.wait(0.0005):
            most = max(most, private())

    watcher = threading.Thread(target=watch)
    watcher.start()
    result = merge(name, files[0], files[1:])
    done.set()
    watcher.join()
    return max(most, private()) - before if result else 0


if __name__ == "__main__":
    print(_peak_from_files(*sys.argv[1:]))
