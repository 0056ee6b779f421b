"""CART-Indexing: a model a task, from the average and factors of low rank, beside EMR and TALL masks; accuracy, and
bytes in real files (CART, app. C.2)."""
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import safetensors.torch
import xarray

from lessons.cart.experiment import bell
from lessons.merging import cart_indexing, emr, tall_masks
from lessons.merging.storage import PerTask
from toy_models import training
from toy_models.weights import State

RANKS = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
PEERS = {"EMR": (emr, {}), "TALL masks": (tall_masks, {"mask_strength": 0.4})}


def bytes_on_disk(tensors: State) -> int:
    """The size of a safetensors file that holds these tensors."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        safetensors.torch.save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, path)
        return path.stat().st_size


def sizes(kept: PerTask) -> tuple[int, float]:
    """Bytes on disk of what is shared, and of what a task needs besides, mean over tasks."""
    return sum(bytes_on_disk(state) for state in kept.shared.values()), float(np.mean([bytes_on_disk(extra) for extra in kept.extras]))


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The tasks with all pixels permuted; `measured`, kept."""
    settings, suite = bell.PROFILES[profile], bell.permuted(profile, seed)
    return bell.kept("cart-storage", {"": suite}, asdict(settings), lambda: measured(suite.load(device, settings.test_images)).assign_attrs(bell.attributes(profile, seed, suite)))


@training.one_thread()
def measured(loaded) -> xarray.Dataset:
    """Returns a Dataset with accuracy (rank, task), shared_bytes (rank) and task_bytes (rank) of CART-Indexing, the
    same with peer_… over `peer`, own (task), average (task), and model_bytes: one whole network on disk. Test
    images."""
    kept = [cart_indexing(loaded.base, loaded.finetuned, rank_ratio=rank) for rank in RANKS]
    peers = [function(loaded.base, loaded.finetuned, **parameters) for function, parameters in PEERS.values()]
    sets = {}
    for prefix, dimension, those in (("", "rank", kept), ("peer_", "peer", peers)):
        shared, task = zip(*(sizes(one) for one in those))
        sets |= {f"{prefix}accuracy": ((dimension, "task"), np.array([loaded.accuracy(one) for one in those])), f"{prefix}shared_bytes": (dimension, list(shared)),
                 f"{prefix}task_bytes": (dimension, list(task))}
    return xarray.Dataset(sets | {"own": ("task", loaded.own()), "average": ("task", loaded.accuracy(kept[0].shared["average"])), "model_bytes": bytes_on_disk(loaded.base)},
                          {"rank": list(RANKS), "peer": list(PEERS), "task": list(range(len(loaded.finetuned)))})
