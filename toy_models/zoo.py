"""The zoo keeps trained models on disk, one safetensors file a recipe, and trains those that are missing.

A file holds its recipe and a digest of everything in it; a damaged one is noticed and trained again. Writes are atomic,
and two processes that ask for one model train it once (`data.store.once`).
"""
import contextlib
import dataclasses
import hashlib
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

import data
from data import store, threads
from data.pinning import pinned
from toy_models import training
from toy_models.recipe import CONSTANT, Recipe, key_of
from toy_models.training import train

_AT_ONCE = 4  # more threads would wait for Python's lock, and each holds its training images (188 MB)
# safetensors raises its own error, but a flipped header byte can also give a KeyError or a UnicodeDecodeError
_UNREADABLE = (OSError, LookupError, TypeError, ValueError, safetensors.SafetensorError)
_trainer: ContextVar[Callable | None] = ContextVar("trainer", default=None)
CHECKPOINTS = Path(data.__file__).parent / "checkpoints"  # trained networks that the repository has


@lru_cache(maxsize=1)
def kept_in_the_repository() -> dict[str, Path]:
    """{a recipe's key: its model's file} of the trained networks that lie in `CHECKPOINTS`, each in a folder with its
    recipe beside it. A recipe that is not the one in the model's file is said in a warning."""
    paths = {}
    for path in sorted(CHECKPOINTS.glob("*/recipe.json")):
        text = path.read_bytes().decode("utf-8", "replace").strip()
        model = path.with_name("model.safetensors")
        if _recipe_in(model) in (text, None):
            paths[key_of(text)] = model
        else:
            warnings.warn(f"{path} is not the recipe of the model beside it, which is not used. "
                          f"{_brought_back(path.parent)}", store.DataWarning, stacklevel=2)
    return paths


def _recipe_in(path):
    """The recipe that a model's file names; None where it is missing or damaged, which `_shipped` says when it is
    needed."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return (file.metadata() or {}).get("recipe")
    except _UNREADABLE:
        return None


def _brought_back(folder):
    return f"`git checkout {folder.relative_to(CHECKPOINTS.parents[1]).as_posix()}` brings the files back."


def _shipped(path, recipe):
    """The recipe's weights from the repository.

    Raises:
        StoreError: the file is missing or damaged; names it and says what to do.
    """
    try:
        return _read(path, recipe)
    except (store.Damaged, FileNotFoundError) as error:
        what = f"damaged: {error}" if isinstance(error, store.Damaged) else "missing"
        raise store.StoreError(f"{path}, which comes with the course, is {what}. "
                               f"{_brought_back(path.parent)}") from None


def ship(recipe: Recipe, name: str) -> Path:
    """Put the recipe's model, trained now if it is missing, into the repository, with its recipe beside it.

    Returns:
        Its folder, `CHECKPOINTS` / name.
    """
    get(recipe)
    folder = CHECKPOINTS / name
    folder.mkdir(parents=True, exist_ok=True)
    file = store.where(path_of(recipe))
    assert file is not None, "it was trained now if it was missing"
    shutil.copyfile(file, folder / "model.safetensors")
    (folder / "recipe.json").write_text(recipe.to_json() + "\n", encoding="utf-8")
    kept_in_the_repository.cache_clear()
    return folder


def _elsewhere(recipe):
    """The recipe's file in the repository, or None."""
    return kept_in_the_repository().get(recipe.key)


def has(recipe: Recipe) -> bool:
    """Whether the recipe's model is kept, so that it has not to be trained."""
    return store.has(path_of(recipe)) or _elsewhere(recipe) is not None


def path_of(recipe: Recipe) -> Path:
    """Where the recipe's model is kept, or, below the learner's own folder, would be (`store.places`)."""
    return store.root() / "zoo" / f"{recipe.key}.safetensors"


def get(recipe: Recipe, device: str = "auto", progress: bool = True) -> nn.Module:
    """The recipe's model, from disk if it is there, else trained now (its parents first) and kept.

    Raises:
        ValueError: the data are not those of the recipe, or training diverged.
        StoreError: the data folder cannot be written, or a model in it not read.
    """
    return get_all([recipe], device, progress)[0]


def get_all(recipes: Sequence[Recipe], device: str = "auto", progress: bool = True) -> list[nn.Module]:
    """The models of several recipes, in their order, with one progress bar over all epochs that have to be trained.

    Networks without convolutions train on one core each, side by side.
    """
    missing = _missing(recipes)
    epochs = sum(group[-1].epochs for group in _grouped(missing))
    with pinned(), tqdm(total=epochs, unit="epoch", disable=not (progress and missing)) as bar:
        training.resolve(device)  # an unknown one is an error also where nothing has to be trained on it
        if trainer := _trainer.get():
            _train_elsewhere(trainer, missing, device, bar)
        else:
            _train_side_by_side([recipe for recipe in missing if not training.convolves(_blank(recipe))], bar)
        return [_get(recipe, device, bar) for recipe in recipes]


@contextlib.contextmanager
def trained_by(trainer: Callable | None):
    """Inside, in this thread, `get_all` hands what is missing to another one instead of training it here.

    Args:
        trainer: (groups, device, on_done) -> None. A group is a list of recipes that differ in their epochs alone, and
            the parents of all groups are in the zoo. Afterwards the groups' models are, too (`receive`). It calls
            on_done(group) after each. None to train here after all.
    """
    token = _trainer.set(trainer)
    try:
        yield
    finally:
        _trainer.reset(token)


def _train_elsewhere(trainer, recipes, device, bar):
    """Let these be trained by another one, parents before children."""
    for groups in _generations(recipes):
        bar.set_description(f"{len(groups)} network{'' if len(groups) == 1 else 's'} elsewhere")
        trainer(groups, device, lambda group: bar.update(group[-1].epochs))


def _train_side_by_side(recipes, bar):
    """Train these, parents before children, in threads: torch's arithmetic does not hold Python's lock."""
    silent = tqdm(disable=True)  # a bar is for the main thread
    for groups in _generations(recipes):
        if len(groups) == 1:  # with every epoch on the bar
            _make(groups[0], bar)
            continue
        bar.set_description(f"{len(groups)} networks side by side")
        with training.one_thread():
            threads.side_by_side(lambda group: _make(group, silent), groups, min(_AT_ONCE, threads.cores()),
                                 lambda number, groups=groups: bar.update(groups[number][-1].epochs))


def _generations(recipes):
    """What can be trained at once, group by group, then what can be trained after that, and so on."""
    while recipes:
        ready = [recipe for recipe in recipes if recipe.parent not in recipes]
        recipes = [recipe for recipe in recipes if recipe not in ready]
        yield _grouped(ready)


def _grouped(recipes):
    """Lists of recipes that differ in their epochs alone, each with the longest last: one training goes through them
    all.
    """
    groups = {}
    for recipe in recipes:
        constant = recipe.schedule == CONSTANT  # else other epochs are another training
        groups.setdefault(dataclasses.replace(recipe, epochs=0) if constant else recipe, []).append(recipe)
    return [sorted(group, key=lambda recipe: recipe.epochs) for group in groups.values()]


def _make(group, bar):
    """Train through a group of recipes on the CPU and keep every network; what another process made meanwhile is not
    made again.
    """
    *others, longest = group
    if not others:
        _get(longest, "cpu", bar)
        return

    def make():
        bar.set_description(str(longest))
        networks = training.train_through(group, _start(longest, "cpu", bar), "cpu", on_epoch=bar.update)
        # before the longest's lock opens: who waits for it finds them all
        for recipe, network in zip(others, networks):
            _stored(recipe, network.state_dict)
        return networks[-1].state_dict()

    _stored(longest, make)


def _get(recipe, device, bar):
    def make():
        if path := _elsewhere(recipe):
            return _shipped(path, recipe)
        start = _start(recipe, device, bar)
        bar.set_description(str(recipe))
        return train(recipe, start, device, on_epoch=bar.update).state_dict()

    network = _blank(recipe)
    network.load_state_dict(_stored(recipe, make), assign=True)
    return network.eval().requires_grad_(False)


def _start(recipe, device, bar):
    """The parent's weights; None where there is no parent."""
    return _get(recipe.parent, device, bar).state_dict() if recipe.parent else None


def _stored(recipe, make):
    """The recipe's weights: from disk, or made now and kept."""
    return store.once(path_of(recipe), make, read=lambda path: _read(path, recipe),
                      write=lambda state, path: _write(state, path, recipe))


def _blank(recipe):
    """The recipe's network before it has weights."""
    with torch.device("meta"):
        return recipe.architecture.build()


def _missing(recipes):
    """What has to be trained: those that are not on disk and the parents that these need, once each, parents before
    children.
    """
    chain = {}
    for recipe in recipes:
        if not has(recipe):  # in a folder that may not be looked into too: reading will say so
            chain.update(dict.fromkeys(_missing([recipe.parent] if recipe.parent else [])))
            chain[recipe] = None
    return list(chain)


def _digest(state: dict[str, Tensor], recipe_text: str) -> str:
    hasher = hashlib.sha256(recipe_text.encode())
    for name, tensor in sorted(state.items()):
        hasher.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        hasher.update(tensor.contiguous().numpy().tobytes())
    return hasher.hexdigest()


def _check(state, recipe):
    """ValueError, naming the key, unless these are the recipe's network's tensors, floating ones in finite float32."""
    expected = _blank(recipe).state_dict()
    if wrong := sorted(state.keys() ^ expected.keys()):
        raise ValueError(f"{wrong[0]!r} is {'not in the network' if wrong[0] in state else 'missing'}")
    for name, tensor in state.items():
        dtype = torch.float32 if expected[name].is_floating_point() else expected[name].dtype
        if tensor.dtype != dtype or tensor.shape != expected[name].shape:
            shape = tuple(expected[name].shape)
            raise ValueError(f"{name!r} is {tensor.dtype} {tuple(tensor.shape)}, not {dtype} {shape}")
        if not tensor.isfinite().all():
            raise ValueError(f"{name!r} has values that are not finite")


def _write(state, path, recipe):
    try:
        _check(state, recipe)
    except ValueError as error:
        raise ValueError(f"the model of {recipe} is not stored: {error}") from None
    text = recipe.to_json()
    safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in state.items()}, path,
                                metadata={"recipe": text, "digest": _digest(state, text)})


def contents(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file of the store, and its metadata. It is read whole: where a file is mapped into
    memory and its network disk goes away, the kernel ends.

    Raises:
        FileNotFoundError: there is none. store.Damaged: it is no such file. store.StoreError: it is no file at all.
    """
    content = store.regular(path).read_bytes()
    try:
        state = safetensors.torch.load(content)
        header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
        return state, header.get("__metadata__") or {}
    except _UNREADABLE as error:
        raise store.Damaged(f"not readable: {error}") from None


def _read(path, recipe):
    state, metadata = contents(path)
    if metadata.get("recipe") != recipe.to_json():
        raise store.Damaged("it holds another recipe's model")
    try:
        _check(state, recipe)  # before the digest: numpy has no bfloat16
    except ValueError as error:
        raise store.Damaged(str(error)) from None
    if metadata.get("digest") != _digest(state, recipe.to_json()):
        raise store.Damaged("its digest does not match its contents")
    return state


def packed(recipe: Recipe) -> bytes:
    """The file of the recipe's model, trained now if it is missing: what another machine can `receive`.

    Raises:
        As `get`.
    """
    state = get(recipe, progress=False).state_dict()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        _write(state, path, recipe)
        return path.read_bytes()


def receive(recipe: Recipe, content: bytes) -> None:
    """Keep a model that another machine trained; one that is there already stays.

    Args:
        content: what `packed` gave there.

    Raises:
        Damaged: it is not this recipe's model, or not what was packed.
        StoreError: the data folder cannot be written.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(content)
        state = _read(path, recipe)
    _stored(recipe, lambda: state)
