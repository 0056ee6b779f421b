"""The zoo keeps trained models on disk, one safetensors file a recipe, and trains those that are missing.

A file holds its recipe and a digest of everything in it; a damaged one is noticed and trained again. Writes are atomic, and two processes
that ask for one model train it once (`data.store.once`).
"""
import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from data import store
from toy_models.recipe import Recipe
from toy_models.training import train


def path_of(recipe: Recipe) -> Path:
    """Where the recipe's model is kept."""
    return store.root() / "zoo" / f"{recipe.key}.safetensors"


def get(recipe: Recipe, device: str = "auto", progress: bool = True) -> nn.Module:
    """The recipe's model, from disk if it is there, else trained now (its parents first) and kept.

    Raises:
        ValueError: the data are not those of the recipe, or training diverged.
        StoreError: the data folder cannot be written.
    """
    return get_all([recipe], device, progress)[0]


def get_all(recipes: Sequence[Recipe], device: str = "auto", progress: bool = True) -> list[nn.Module]:
    """The models of several recipes, in their order, with one progress bar over all epochs that have to be trained."""
    missing = [recipe for recipe in _with_parents(recipes) if not path_of(recipe).exists()]
    with tqdm(total=sum(recipe.epochs for recipe in missing), unit="epoch", disable=not (progress and missing)) as bar:
        return [_get(recipe, device, bar) for recipe in recipes]


def train_meanwhile(recipes: Sequence[Recipe]) -> subprocess.Popen | None:
    """Have a second process train what is missing of these, on one core of the CPU, and return at once.

    Nothing depends on it: `get` waits for a model that is being trained there, and trains it itself where the process did not come to it or failed.

    Returns:
        The process; None where nothing is missing, there is no second core, or the machine has been busy for the last minute.
    """
    missing = [recipe for recipe in recipes if not path_of(recipe).exists()]
    cores, busy = os.cpu_count() or 1, os.getloadavg()[0] if hasattr(os, "getloadavg") else 0  # Windows does not say
    if not missing or cores < 2 or busy > cores - 0.5:
        return None
    process = subprocess.Popen([sys.executable, "-m", "toy_models.zoo"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=os.environ | {"OMP_NUM_THREADS": "1", "WEIGHTSPACE_DATA": str(store.root().absolute())})
    with process.stdin as pipe:
        pipe.write(pickle.dumps(missing))
    return process


def _get(recipe, device, bar):
    def make():
        start = _get(recipe.parent, device, bar).state_dict() if recipe.parent else None
        bar.set_description(str(recipe))
        network = train(recipe, start, device, on_epoch=bar.update)
        return network.state_dict()

    state = store.once(path_of(recipe), make, read=lambda path: _read(path, recipe), write=lambda state, path: _write(state, path, recipe))
    network = recipe.architecture.build()
    network.load_state_dict(state, assign=True)
    return network.eval().requires_grad_(False)


def _with_parents(recipes):
    """Every recipe that the given ones need, once each, parents before children."""
    chain = {}
    for recipe in recipes:
        if recipe.parent:
            chain.update(dict.fromkeys(_with_parents([recipe.parent])))
        chain[recipe] = None
    return list(chain)


def _digest(state: dict[str, Tensor], recipe_text: str) -> str:
    hasher = hashlib.sha256(recipe_text.encode())
    for name, tensor in sorted(state.items()):
        hasher.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        hasher.update(tensor.contiguous().numpy().tobytes())
    return hasher.hexdigest()


def _write(state, path, recipe):
    text = recipe.to_json()
    safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in state.items()}, path,
                                metadata={"recipe": text, "digest": _digest(state, text)})


def _read(path, recipe):
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}
    except Exception as error:  # safetensors raises its own error, but a flipped header byte can also give a KeyError or a UnicodeDecodeError
        raise store.Damaged(f"not readable: {error}") from None
    if metadata.get("recipe") != recipe.to_json() or metadata.get("digest") != _digest(state, recipe.to_json()):
        raise store.Damaged("its digest does not match its contents")
    return state


if __name__ == "__main__":  # what `train_meanwhile` starts
    get_all(pickle.load(sys.stdin.buffer), "cpu", progress=False)
