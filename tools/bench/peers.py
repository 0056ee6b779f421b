"""The same merges as other libraries make them, where they are installed beside this Python; the course asks for none.

`python -m tools.bench.peers WHO METHOD FOLDER` merges from files in a process of its own and prints its seconds: of the
processor and on the clock, without imports.
"""
import functools
import importlib.metadata
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

import data.vision  # noqa: F401  mergekit imports torchvision, which may need help
from lessons.checkpoints import folders, naming, writing
from tools.bench.checkpoints import MERGEKIT, TASKS
from tools.bench.goals import PEERS, Times, timed

State = Mapping[str, Tensor]
ARITHMETIC = "fusion_bench.utils.state_dict_arithmetic"


@functools.cache
def installed() -> list[str]:
    """Those of `PEERS` that this Python has."""
    names = {one.metadata["Name"].replace("-", "_") for one in importlib.metadata.distributions()}
    return [name for name in PEERS if name in names]


def in_memory(method: str, base: State, tuned: Sequence[State]) -> dict[str, Callable[[], Times]]:
    """{peer: what merges once and tells its seconds} of those that are installed and have the method, with as like
    parameters as they have.

    Args:
        base, tuned: floating-point tensors alone.
    """
    known = {"mergekit": {name: _mergekit for name in MERGEKIT}, "fusion_bench": _FUSION_BENCH}
    return {peer: _once(known[peer][method], method, base, tuned) for peer in installed() if method in known[peer]}


def _once(merged, method, base, tuned):
    @torch.no_grad()
    def run():
        merged(method, base, tuned)

    return lambda: timed(run)


def _mergekit(method, base, tuned):
    api = importlib.import_module("mergekit.merge_methods.api")
    name, parameters, of_model = MERGEKIT[method]
    models = list(tuned) if name == "linear" else [base, *tuned]
    return api.merge_state_dicts(models, name, parameters=parameters | of_model, base=None if name == "linear" else 0)


def _fusion_average(method, base, tuned):
    return importlib.import_module(ARITHMETIC).state_dict_avg(list(tuned))


def _fusion_task_arithmetic(method, base, tuned):
    of = importlib.import_module(ARITHMETIC)
    total = of.state_dict_sub(tuned[0], base)
    for state in tuned[1:]:
        total = of.state_dict_add(total, of.state_dict_sub(state, base))
    return of.state_dict_add(base, of.state_dict_mul(total, 0.3))


def _fusion_ties(method, base, tuned):
    of = importlib.import_module("fusion_bench.method.ties_merging.ties_merging_utils")
    vectors = torch.vstack([of.state_dict_to_vector(dict(state)) for state in tuned])
    start = of.state_dict_to_vector(dict(base))
    merged = of.ties_merging(vectors - start, reset_thresh=20, merge_func="dis-mean")
    return of.vector_to_state_dict(start + merged, dict(base))


def _fusion_dare(method, base, tuned):
    drop = importlib.import_module("fusion_bench.method.dare.utils").module_random_drop_
    of = importlib.import_module(ARITHMETIC)
    vectors = [of.state_dict_sub(state, base) for state in tuned]
    for vector in vectors:
        drop(vector, 0.9, rescale=True)
    return of.state_dict_add(base, of.state_dict_mul(of.state_dict_sum(vectors), 0.3))


_FUSION_BENCH = {"average": _fusion_average, "task_arithmetic": _fusion_task_arithmetic, "ties": _fusion_ties,
                 "dare": _fusion_dare}


# -- from files ----------------------------------------------------------------------------------------------------

def from_files(who: str, method: str, folder: Path) -> Times:
    """Seconds of the processor and on the clock of one merge from `tools.bench.checkpoints.write`'s files to a file, in
    a process of its own, imports left out.

    Args:
        who: "ours" or "mergekit".

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    said = subprocess.run([sys.executable, "-m", "tools.bench.peers", who, method, str(folder)], capture_output=True,
                          text=True, check=True).stdout
    processor, clock = json.loads(said.splitlines()[-1])
    return processor, clock


def _ours_from_files(method, folder, out):
    base, *tuned = (naming.vision_tower(folders.opened(folder / str(number))) for number in range(1 + TASKS))
    return lambda: writing.merge(out, method, base, tuned, progress=False)


def _mergekit_from_files(method, folder, out):
    raw = importlib.import_module("mergekit.scripts.merge_raw_pytorch")
    name, parameters, of_model = MERGEKIT[method]
    files = [str(folder / str(number) / "model.safetensors") for number in range(1 + TASKS)]
    said = {"merge_method": name, "parameters": parameters, "dtype": "float32",
            "models": [{"model": file, "parameters": of_model} for file in files[1:]]}
    config = raw.RawPyTorchMergeConfig.model_validate(said | ({} if name == "linear" else {"base_model": files[0]}))

    def run():
        tasks = raw.plan_flat_merge(config, str(out), False, False, raw.MergeOptions(quiet=True))
        for _ in raw.Executor(tasks, math_device="cpu", storage_device="cpu").run(quiet=True):
            pass

    return run


def main(who: str, method: str, folder: str) -> None:
    """Merge once and print the seconds."""
    torch.set_num_threads(1)
    out = Path(folder) / f"by {who}"
    prepared = {"ours": _ours_from_files, "mergekit": _mergekit_from_files}[who](method, Path(folder), out)
    times = timed(prepared)
    shutil.rmtree(out)
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
