"""CART-Indexing: a model a task, from the average and factors of low rank, beside EMR and TALL masks; accuracy, and
bytes in real files (CART, app. C.2)."""
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import safetensors.torch
import xarray

from lessons.cart.experiment import bell
from lessons.kit.experiment import Experiment
from lessons.merging import cart_indexing, emr, tall_masks
from lessons.merging.storage import PerTask
from lessons.suites import Loaded
from toy_models.weights import State

RANKS = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
PEERS = {"EMR": (emr, {}), "TALL masks": (tall_masks, {"mask_strength": 0.4})}


def bytes_on_disk(tensors: State) -> int:
    """The size of a safetensors file that holds these tensors."""
    contiguous = {key: tensor.contiguous() for key, tensor in tensors.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        safetensors.torch.save_file(contiguous, path)
        return path.stat().st_size


def shared_bytes(kept: PerTask) -> int:
    """Bytes on disk of what all tasks share."""
    return sum(bytes_on_disk(state) for state in kept.shared.values())


def task_bytes(kept: PerTask) -> float:
    """Bytes on disk of what a task needs besides, mean over tasks."""
    return float(np.mean([bytes_on_disk(extra) for extra in kept.extras]))


def measure(settings: bell.Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The tasks with all pixels permuted; returns what `measured` does."""
    suite = bell.permuted(settings, seed)
    sweep = measured(suite.load(device, settings.test_images))
    return sweep.assign_attrs(bell.about(suite, settings.size, settings.test_images))


def measured(loaded: Loaded) -> xarray.Dataset:
    """Returns a Dataset with accuracy (rank, task), shared_bytes (rank) and task_bytes (rank) of CART-Indexing, the
    same with peer_… over `peer`, own (task), average (task), and model_bytes: one whole network on disk. Test
    images."""
    kept = [cart_indexing(loaded.base, loaded.finetuned, rank_ratio=rank) for rank in RANKS]
    peers = [function(loaded.base, loaded.finetuned, **parameters) for function, parameters in PEERS.values()]
    sets = _judged(loaded, "", "rank", kept) | _judged(loaded, "peer_", "peer", peers)
    sets["own"] = ("task", loaded.own())
    sets["average"] = ("task", loaded.accuracy(kept[0].shared["average"]))
    sets["model_bytes"] = bytes_on_disk(loaded.base)
    return xarray.Dataset(sets, {"rank": list(RANKS), "peer": list(PEERS), "task": list(range(len(loaded.finetuned)))})


def _judged(loaded: Loaded, prefix: str, dimension: str, those: Sequence[PerTask]) -> dict[str, tuple]:
    """Accuracy and bytes of some ways to keep a model a task."""
    return {f"{prefix}accuracy": ((dimension, "task"), np.array([loaded.accuracy(kept) for kept in those])),
            f"{prefix}shared_bytes": (dimension, [shared_bytes(kept) for kept in those]),
            f"{prefix}task_bytes": (dimension, [task_bytes(kept) for kept in those])}


STORAGE = Experiment("cart-storage", measure, bell.PROFILES, bell.source, "MNIST", recipes=bell.permuted_recipes)
run = STORAGE.run
