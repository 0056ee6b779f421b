"""LoRA adapters in PEFT's layout: a folder with `adapter_config.json` and `adapter_model.safetensors`, which hold A and
B of every matrix that was tuned. Beside its base an adapter is a finetuned model like any other.
"""
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from lessons.merging.states import wide
from lessons.vit.algorithms import adapters as lora
from lessons.vit.checkpoints.folders import ADAPTER, Checkpoint, Tensors, entry_of
from lessons.vit.checkpoints.naming import name_of
from lessons.vit.checkpoints.opening import CheckpointError, Entry, sha256
from toy_models.weights import State

CONFIG = "adapter_config.json"
PREFIX = "base_model.model."  # PEFT wraps the model twice
_PART = re.compile(r"^(?P<module>.*)\.lora_(?P<embedding>embedding_)?(?P<letter>[AB])(\.\w+)?(\.weight)?$")


@dataclass(frozen=True)
class Pair:
    """Where A and B of one matrix lie, and what B·A is multiplied by."""
    down: str
    up: str
    scale: float
    embedding: bool = False


class Adapter:
    """An adapter's matrices, read when they are asked for.

    Attributes:
        path: its folder.
        config: what `adapter_config.json` says.
        pairs: {module, as PEFT names it: Pair}.
        whole: {key: its name in the file} of tensors that are stored whole (`modules_to_save`, biases).
        turned: weights are stored as (in, out).
    """

    def __init__(self, path: str | os.PathLike, config: Mapping, tensors: Checkpoint):
        self.path = Path(path)
        self.config = dict(config)
        self.tensors = tensors
        self.turned = bool(config.get("fan_in_fan_out"))
        self.pairs: dict[str, Pair] = {}
        self.whole: dict[str, str] = {}
        self._sort()

    def delta(self, module: str) -> Tensor:
        """ΔW = s·B·A of a module.

        Raises:
            CheckpointError: A and B do not fit each other.
        """
        pair = self.pairs[module]
        down, up = self.factors(module)
        try:
            if pair.embedding:  # an embedding (tokens, width) is changed by (B·A)ᵀ with A (r, tokens), B (width, r)
                return lora.change(down, up, pair.scale, turned=True)
            return lora.change(down, up, pair.scale, self.turned)
        except ValueError as error:
            raise CheckpointError(f"{self.path}, {module!r}: {error}.") from error

    def factors(self, module: str) -> tuple[Tensor, Tensor]:
        """(A, B) of a module, as they are stored."""
        pair = self.pairs[module]
        return self.tensors[pair.down], self.tensors[pair.up]

    def rank(self, module: str) -> int:
        """r of a module."""
        return self.tensors.entries[self.pairs[module].down].shape[0]

    def digests(self) -> dict[str, str]:
        """{file name: SHA-256}."""
        return {name: sha256(self.path / name) for name in (CONFIG, ADAPTER)}

    def _sort(self):
        """Which tensor is an A, a B, or stored whole."""
        parts: dict[str, dict[str, str]] = {}
        for key in self.tensors:
            found = _PART.match(key)
            if not found:
                self.whole[key.removeprefix(PREFIX).replace(".modules_to_save.default", "")] = key
                continue
            module = found["module"].removeprefix(PREFIX)
            parts.setdefault(module, {})[found["letter"]] = key
            parts[module]["embedding"] = found["embedding"] or ""
        if magnitudes := [key for key in self.whole if "lora_magnitude" in key]:
            raise CheckpointError(f"{self.path} is DoRA, not LoRA: {magnitudes[0]!r} scales what B·A has changed. Let "
                                  "PEFT write the whole model by merge_and_unload.")
        for module, ours in parts.items():
            if lacking := [letter for letter in "AB" if letter not in ours]:
                raise CheckpointError(f"{self.path} has no lora_{lacking[0]} for {module!r}: half an adapter changes "
                                      "nothing. Download it again.")
            rank = self.tensors.entries[ours["A"]].shape[0]
            scale = lora.scaling(self._alpha(module), rank, bool(self.config.get("use_rslora")))
            self.pairs[module] = Pair(ours["A"], ours["B"], scale, bool(ours["embedding"]))
            self._check_rank(module, rank)
        if not self.pairs:
            raise CheckpointError(f"{self.path} holds no LoRA: no key ends in lora_A.weight.")

    def _alpha(self, module):
        return _pattern(self.config.get("alpha_pattern"), module, self.config["lora_alpha"])

    def _check_rank(self, module, rank):
        said = _pattern(self.config.get("rank_pattern"), module, self.config["r"])
        if rank != said:
            raise CheckpointError(f"{self.path}: {CONFIG} says rank {said} for {module!r}, its A has {rank} rows. The "
                                  "two files are not of one adapter.")


def _pattern(patterns, module, default):
    """What a pattern of PEFT's config says of a module."""
    for pattern, value in (patterns or {}).items():
        if re.fullmatch(rf"(.*\.)?({pattern})", module):
            return value
    return default


def opened(path: str | os.PathLike) -> Adapter:
    """Open an adapter's folder.

    Raises:
        CheckpointError: a file is missing or cannot be read, it is another kind of adapter than LoRA, or A and B do not
            pair up. Names file and module.
    """
    path = Path(path).expanduser()
    if not (path / CONFIG).exists():
        raise CheckpointError(f"{path} holds no adapter: {CONFIG} is missing.")
    if not (path / ADAPTER).exists():
        pickled = " adapter_model.bin is a pickle and is not opened." if (path / "adapter_model.bin").exists() else ""
        raise CheckpointError(f"{path / ADAPTER} is missing.{pickled}")
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        kind, rank, alpha = config.get("peft_type", "LORA"), config["r"], config["lora_alpha"]
    except (ValueError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{path / CONFIG} cannot be used: it must say r and lora_alpha ({error!r}).") from error
    if kind != "LORA":
        raise CheckpointError(f"{path} is an adapter of another kind than LoRA, {kind}: it is no matrix to be added.")
    if not isinstance(rank, int) or rank < 1 or not isinstance(alpha, (int, float)):
        raise CheckpointError(f"{path / CONFIG} says r = {rank!r} and lora_alpha = {alpha!r}: r must be a whole number "
                              "above 0, lora_alpha a number.")
    return Adapter(path, config, Checkpoint(path, [path / ADAPTER]))


class Adapted(Tensors):
    """A base with an adapter's changes: W + s·B·A, matrix by matrix when it is asked for. It can stand wherever a
    state dict can.

    Attributes:
        base: the state dict or checkpoint of the base.
        adapter: the adapter.
        modules: {key of the base: the adapter's module that changes it}.
    """

    def __init__(self, base: State, adapter: Adapter):
        self.base = base
        self.adapter = adapter
        self.shown = dict.fromkeys(base)
        self.modules = {_key_in(base, f"{module}.weight", adapter): module for module in adapter.pairs}
        self._whole = {_key_in(base, key, adapter): name for key, name in adapter.whole.items()}
        for key in self.modules:
            self._check(key)

    def __getitem__(self, key: str) -> Tensor:
        if key in self._whole:
            return self.adapter.tensors[self._whole[key]]
        if key not in self.modules:
            return self.base[key]
        weight = self.base[key]
        return (wide(weight) + self.adapter.delta(self.modules[key])).to(weight.dtype)

    def entry(self, key: str) -> Entry:
        """Dtype and shape of a tensor, without reading it from a checkpoint."""
        return self.adapter.tensors.entry(self._whole[key]) if key in self._whole else entry_of(self.base, key)

    @property
    def name(self) -> str:
        """The adapter's folder."""
        return str(self.adapter.path)

    def _check(self, key):
        pair = self.adapter.pairs[self.modules[key]]
        shapes = self.adapter.tensors.entries
        outputs, inputs = shapes[pair.up].shape[0], shapes[pair.down].shape[1:]
        made = (*inputs, outputs) if self.adapter.turned or pair.embedding else (outputs, *inputs)
        if made != entry_of(self.base, key).shape:
            turned = " Is the base a Conv1D, and fan_in_fan_out not set?" if made[::-1] == entry_of(
                self.base, key).shape else ""
            raise CheckpointError(f"{self.adapter.path} changes {key!r} by a matrix of shape {made}, which has shape "
                                  f"{entry_of(self.base, key).shape} in {name_of(self.base)}.{turned}")


def _key_in(base, key, adapter):
    """The base's key that an adapter's means: the same, or the same but for what stands before it."""
    if key in base:
        return key
    found = [ours for ours in base if ours.endswith(f".{key}") or key.endswith(f".{ours}")]
    if len(found) != 1:
        several = f" {len(found)} keys end so." if found else ""
        raise CheckpointError(f"{adapter.path} changes {key!r}, which {name_of(base)} does not have.{several} Is it "
                              "the base that the adapter was tuned on?")
    return found[0]
