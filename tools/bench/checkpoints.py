"""Merging eight ViT-B/32 from files to a file: seconds and memory of every method, each in a process of its own; beside
them mergekit's, where that is installed beside this Python.
"""
import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch
import yaml
from safetensors.torch import save_file

from lessons.checkpoints import folders, looking, naming, writing
from lessons.checkpoints.towers import B32, Tower
from lessons.merging import Needs, methods

TASKS, STATUS = 8, Path("/proc/self/status")
# our method: (mergekit's name, its parameters of the whole merge, of every model)
MERGEKIT = {"average": ("linear", {}, {"weight": 1.0}),
            "task_arithmetic": ("task_arithmetic", {"lambda": 0.3}, {"weight": 1.0}),
            "ties": ("ties", {"normalize": True}, {"weight": 1.0, "density": 0.2}),
            "dare": ("dare_linear", {"lambda": 0.3}, {"weight": 1.0, "density": 0.1}),
            "breadcrumbs": ("breadcrumbs", {"lambda": 0.3}, {"weight": 1.0, "density": 0.1, "gamma": 0.01})}
_RUN = "import data.vision; from mergekit.scripts.merge_raw_pytorch import main; main()"


def checkpoints(tower: Tower = B32) -> None:
    """Random weights of ViT-B/32's shapes, eight finetuned copies: every method from files to a file."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), tower)
        print(f"{TASKS} towers of {tower.parameters() / 1e6:.1f} million parameters from files to a file, one thread; "
              f"the goal for memory, two models and {TASKS} times the largest tensor, is {goal(tower) / 1e6:.0f} MB:")
        for name in (*methods(), "look"):
            if name != "look" and (not methods()[name].gives_one_model or Needs.INPUTS in methods()[name].needs):
                continue
            command = [sys.executable, "-m", "tools.bench.checkpoints", name, folder]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            seconds, peak = json.loads(said.splitlines()[-1])
            print(f"  {name}: {seconds:.1f} s, peak of {peak / 1e6:.0f} MB private memory beyond what was there before",
                  flush=True)
        _beside(Path(folder))


def goal(tower: Tower) -> int:
    """Bytes of two models and TASKS times the largest tensor."""
    sizes = [4 * torch.Size(shape).numel() for shape in tower.shapes().values()]
    return 2 * sum(sizes) + TASKS * max(sizes)


def _beside(folder):
    """mergekit on the same files, with as like parameters as it has: seconds of the whole command, imports included."""
    if importlib.util.find_spec("mergekit") is None:
        print("  mergekit: not measured, it is not installed (and no dependency of the course)")
        return
    for ours, (name, parameters, of_model) in MERGEKIT.items():
        models = [{"model": str(folder / str(number) / "model.safetensors"), "parameters": of_model}
                  for number in range(1, 1 + TASKS)]
        said = {"merge_method": name, "models": models, "parameters": parameters, "dtype": "float32"}
        if name != "linear":
            said["base_model"] = str(folder / "0" / "model.safetensors")
        (folder / "merge.yaml").write_text(yaml.safe_dump(said))
        command = [sys.executable, "-c", _RUN, str(folder / "merge.yaml"), str(folder / "mergekit"), "--quiet"]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        result = f"{seconds:.1f} s" if not done.returncode else f"failed: {(done.stderr.splitlines() or ['?'])[-1]}"
        print(f"  mergekit's {name}, beside {ours}: {result}", flush=True)


def write(folder: Path, tower: Tower) -> None:
    """A base and TASKS finetuned copies, random, as folders in Hugging Face's layout."""
    generator = torch.Generator().manual_seed(0)
    base = {key: 0.02 * torch.randn(shape, generator=generator) for key, shape in tower.shapes().items()}
    for number in range(1 + TASKS):
        state = base if not number else {
            key: tensor + 0.0005 * torch.randn(tensor.shape, generator=generator) for key, tensor in base.items()}
        (folder / str(number)).mkdir(parents=True, exist_ok=True)
        save_file({f"vision_model.{key}": tensor for key, tensor in state.items()},
                  folder / str(number) / "model.safetensors")


def measured(name: str, folder: Path, shard: str | None = None) -> tuple[float, int]:
    """(seconds, bytes of private memory at most beyond those at the start) of a merge to a file, to shards where their
    size is given, or of a look."""
    def private():
        if not STATUS.exists():  # not on Linux: memory is not measured
            return 0
        return 1024 * int(next(line.split()[1] for line in STATUS.open() if line.startswith("RssAnon")))

    torch.set_num_threads(1)
    base, *tuned = (naming.vision_tower(folders.opened(folder / str(number))) for number in range(1 + TASKS))
    before, most, done = private(), 0, threading.Event()

    def watch():
        nonlocal most
        while not done.wait(0.001):
            most = max(most, private())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    if name == "look":
        looking.look(base, tuned, progress=False)
    else:
        writing.merge(folder / f"merged by {name}", name, base, tuned[:methods()[name].models], shard_size=shard)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    return seconds, most - before


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])))
