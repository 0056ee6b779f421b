"""Networks of the course written as checkpoints, so that there are files to open where nobody brought any: sound ones,
spoilt ones, and a task vector cut down to a LoRA adapter.
"""
import functools
import io
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file

from data import store
from data.types import digest
from lessons.checkpoints import adapters, conv1d, folders, looking, opening
from lessons.checkpoints.opening import CheckpointError
from lessons.merging.lowrank import factors
from lessons.merging.states import wide
from toy_models.weights import State

WEIGHTS = "model.safetensors"
OURS = {"format": "pt", "written_by": "weightspace"}  # metadata of an adapter that `as_adapter` made


def written(base: State, finetuned: Mapping[str, State], config: Mapping | None = None) -> tuple[Path, dict[str, Path]]:
    """A base and finetuned models as folders in Hugging Face's layout; the second finetuned one in two shards.

    Returns:
        (the base's folder, {name: folder}), below `checkpoints/example-…` of the store: the learner's own or a shared
        one (`data/places.py`).

    Raises:
        StoreError: the folder cannot be written, or the disk is full. Nothing half-written is left.
    """
    parts = [digest(*(tensor.detach().cpu().double().numpy().tobytes() for tensor in state.values()))
             for state in (base, *finetuned.values())]
    usual = store.root() / "checkpoints" / f"example-{digest(*parts, *finetuned, json.dumps(dict(config or {})))}"
    folder = store.where(usual)
    if folder is None:
        folder = store.workplace("checkpoints") / usual.name
        _write(folder, {"base": base, **finetuned}, config)
    return folder / "base", {name: folder / name for name in finetuned}


def _write(folder, states, config):
    with store.lock(folder):
        if not folder.exists():  # nor has another process written it while we waited
            store.clear_leftovers(folder)
            part = store.part_of(folder)
            try:
                with store.told_if_full(folder):
                    for place, (name, state) in enumerate(states.items()):
                        _save(part / name, state, config, shards=2 if place == 2 else 1)
                    os.replace(part, folder)
            finally:
                shutil.rmtree(part, ignore_errors=True)


def _save(folder, state, config, shards):
    folder.mkdir(parents=True)
    if config:
        (folder / "config.json").write_text(json.dumps(dict(config), indent=2), encoding="utf-8")
    tensors = {key: tensor.detach().cpu().contiguous() for key, tensor in state.items()}
    if shards == 1:
        save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
        return
    names = {}
    for number in range(shards):
        name = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
        ours = {key: tensors[key] for key in list(tensors)[number::shards]}
        save_file(ours, folder / name, metadata={"format": "pt"})
        names |= dict.fromkeys(ours, name)
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps({"weight_map": names}, indent=2), encoding="utf-8")


def spoilt(folder: str | os.PathLike) -> dict[str, Path]:
    """{what was done: a folder whose model.safetensors it was done to}, from the sound one in `folder`.

    The pickle among them is harmless, and is never loaded.
    """
    sound = (Path(folder) / WEIGHTS).read_bytes()
    buffer = io.BytesIO()
    torch.save({"weight": torch.ones(2)}, buffer)
    flipped = bytearray(sound)
    flipped[-1] ^= 0x40
    contents = {"a pickle under this name": buffer.getvalue(),
                "a Git-LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:2f31\nsize 349848328\n",
                "a page to log in": b"<!DOCTYPE html><html><title>Log in</title></html>",
                "half a download": sound[:len(sound) // 2],
                "a header of absurd size": (2 ** 40).to_bytes(8, "little") + sound[8:],
                "one flipped bit": bytes(flipped)}
    spoilt_folders, there = {}, store.workplace("checkpoints")
    for number, (what, content) in enumerate(contents.items()):
        spoilt_folders[what] = there / "spoilt" / str(number)
        spoilt_folders[what].mkdir(parents=True, exist_ok=True)
        with store.lock(spoilt_folders[what] / WEIGHTS), store.atomic(spoilt_folders[what] / WEIGHTS) as part:
            part.write_bytes(content)
    return spoilt_folders


def said_of(folder: str | os.PathLike) -> str:
    """What opening a folder says: its error, or how many tensors it has."""
    try:
        return f"opened: {len(folders.opened(folder))} tensors"
    except CheckpointError as error:
        return shortened(error)


def shortened(error: Exception) -> str:
    """What an error says, without the long way to the data folder or to the learner's own."""
    stores = [folder for folder in (store.root(), store.own(), store.shared()) if folder]
    return functools.reduce(lambda text, folder: text.replace(str(folder), "…"), stores, str(error))


def as_adapter(folder: str | os.PathLike, base: State, finetuned: State, rank: int, alpha: float = 16.0,
               rslora: bool = False) -> Path:
    """A task vector's matrices cut down to an adapter of that rank, SVD_r(τ) = s·B·A, in PEFT's layout.

    Left out are tensors that are not matrices, and matrices whose shorter side is no longer than the rank. Only an
    adapter that was made here is written anew.

    Raises:
        ValueError: no matrix is large enough for the rank.
        CheckpointError: the folder holds another adapter.
        StoreError: the folder cannot be written, or the disk is full. An adapter that was there stays as it was.
    """
    folder = store.writable(Path(folder).expanduser())
    _check_ours(folder)
    scale = alpha / (rank ** 0.5 if rslora else rank)
    state = {}
    for key in base:
        shape = base[key].shape
        if len(shape) == 2 and looking.is_matrix(shape) and min(shape) > rank and key.endswith(".weight"):
            change = wide(finetuned[key]) - wide(base[key])
            left, right = factors(change.T if conv1d.is_turned(base, key) else change, rank)
            name = adapters.PREFIX + key.removesuffix(".weight")
            state[f"{name}.lora_B.weight"] = (left / scale).float().contiguous()
            state[f"{name}.lora_A.weight"] = right.float().contiguous()
    if not state:
        raise ValueError(f"no matrix has both sides longer than {rank}: choose a smaller rank")
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "use_rslora": rslora, "fan_in_fan_out": False}
    weights, said = folder / folders.ADAPTER, folder / adapters.CONFIG
    with store.lock(weights), store.lock(said), store.atomic(weights) as part, store.atomic(said) as text:
        text.write_text(json.dumps(config, indent=2))
        save_file(state, part, metadata=OURS)
    return folder


def _check_ours(folder):
    """No adapter in the folder, or one that `as_adapter` made."""
    weights = folder / folders.ADAPTER
    if not weights.exists() and not (folder / adapters.CONFIG).exists():
        return
    try:
        ours = OURS.items() <= opening.header(weights).metadata.items()
    except CheckpointError:
        ours = False
    if not ours:
        raise CheckpointError(f"{folder} holds an adapter that was not made here, and nothing is overwritten. Choose "
                              "another folder.")
