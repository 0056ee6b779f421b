"""LoRA adapters in PEFT's layout: a folder with `adapter_config.json` and `adapter_model.safetensors`, which hold A and
B of every matrix that was tuned. Beside its base an adapter is a finetuned model like any other.
"""
import json
import os
import re
from collections.abc import Iterable, Mapping
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
_BIAS = re.compile(r"^(?P<module>.*)\.lora_B(\.\w+)?\.bias$")
# adapters that stand on a base which their first step changed (PEFT, `subtract_mutated_init`)
ON_ANOTHER_BASE = ("pissa", "olora", "corda", "loftq", "lora_ga")
WHOLE_MODEL = "Let PEFT write the whole model by merge_and_unload."


@dataclass(frozen=True)
class Pair:
    """Where A and B of one matrix lie, what B·A is multiplied by, and where B's bias lies, if it has one."""
    down: str
    up: str
    scale: float
    embedding: bool = False
    bias: str = ""


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

    def bias(self, module: str) -> Tensor:
        """What is added to a module's bias where B has one (`lora_bias`): s times that."""
        pair = self.pairs[module]
        return pair.scale * wide(self.tensors[pair.bias])

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
            if found := _BIAS.match(key):
                parts.setdefault(found["module"].removeprefix(PREFIX), {})["bias"] = key
            elif found := _PART.match(key):
                module = found["module"].removeprefix(PREFIX)
                parts.setdefault(module, {})[found["letter"]] = key
                parts[module]["embedding"] = found["embedding"] or ""
            else:
                name = key.removeprefix(PREFIX).replace(".modules_to_save.default", "").replace(".base_layer.", ".")
                self.whole[name] = key
        self._check_whole()
        for module, ours in parts.items():
            if lacking := [letter for letter in "AB" if letter not in ours]:
                raise CheckpointError(f"{self.path} has no lora_{lacking[0]} for {module!r}: half an adapter changes "
                                      "nothing. Download it again.")
            rank = self._rank(module, ours)
            scale = lora.scaling(self._alpha(module), rank, bool(self.config.get("use_rslora")))
            self.pairs[module] = Pair(ours["A"], ours["B"], scale, bool(ours["embedding"]), ours.get("bias", ""))
        if not self.pairs:
            raise CheckpointError(f"{self.path} holds no LoRA: no key ends in lora_A.weight.")

    def _alpha(self, module):
        return _pattern(self.config.get("alpha_pattern"), module, self.config["lora_alpha"])

    def _check_whole(self):
        """Nothing among what is stored whole that is more than a tensor in the base's place."""
        for key in self.whole:
            if "lora_magnitude" in key:
                raise CheckpointError(f"{self.path} is DoRA, not LoRA: {key!r} scales what B·A has changed. "
                                      f"{WHOLE_MODEL}")
            if "trainable_tokens" in key:
                raise CheckpointError(f"{self.path} changes single tokens: {key!r}. {WHOLE_MODEL}")

    def _rank(self, module, ours):
        """The rank of a module, which its A, its B and the config agree on."""
        shapes = {letter: self.tensors.entries[ours[letter]].shape for letter in "AB"}
        if flat := [letter for letter, shape in shapes.items() if len(shape) < 2 or not shape[0]]:
            raise CheckpointError(f"{self.path}: {ours[flat[0]]!r} has shape {shapes[flat[0]]}, which is no matrix. "
                                  "Download it again.")
        rank = shapes["A"][0]
        said = _pattern(self.config.get("rank_pattern"), module, self.config["r"])
        if rank != said:
            raise CheckpointError(f"{self.path}: {CONFIG} says rank {said} for {module!r}, its A has {rank} rows. The "
                                  "two files are not of one adapter.")
        return rank


def _pattern(patterns, module, default):
    """What a pattern of PEFT's config says of a module."""
    for pattern, value in (patterns or {}).items():
        if re.fullmatch(rf"(.*\.)?({pattern})", module):
            return value
    return default


def opened(path: str | os.PathLike) -> Adapter:
    """Open an adapter's folder.

    Raises:
        CheckpointError: a file is missing or cannot be read, it is another kind of adapter than LoRA or one that stands
            on a changed base, or A and B do not pair up. Names file and module.
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
    except OSError as error:
        raise CheckpointError(f"{path / CONFIG} cannot be read: {error.strerror or error}.") from error
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{path / CONFIG} cannot be used: it must say r and lora_alpha ({error!r}).") from error
    if kind != "LORA":
        raise CheckpointError(f"{path} is an adapter of another kind than LoRA, {kind}: it is no matrix to be added.")
    if not isinstance(rank, int) or rank < 1 or not isinstance(alpha, (int, float)):
        raise CheckpointError(f"{path / CONFIG} says r = {rank!r} and lora_alpha = {alpha!r}: r must be a whole number "
                              "above 0, lora_alpha a number.")
    _check_config(path, config)
    return Adapter(path, config, Checkpoint(path, [path / ADAPTER]))


def _check_config(path, config):
    """What the config says beside r and lora_alpha: patterns that can be read, and a base that is the base."""
    start = config.get("init_lora_weights")
    if isinstance(start, str) and start.lower().startswith(ON_ANOTHER_BASE):
        raise CheckpointError(f"{path} began with {start} and stands on a base that this changed: added to the base "
                              f"itself, its B·A is wrong. {WHOLE_MODEL}")
    if config.get("alora_invocation_tokens"):
        raise CheckpointError(f"{path} acts behind certain tokens alone (alora_invocation_tokens): it is no matrix to "
                              "be added.")
    for name in ("rank_pattern", "alpha_pattern"):
        patterns = config.get(name) or {}
        try:
            for pattern, value in patterns.items():
                re.compile(pattern)
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    raise ValueError(f"{value!r} is no number")
        except (AttributeError, TypeError, ValueError, re.error) as error:
            raise CheckpointError(f"{path / CONFIG}: {name} must give a number for each pattern of module names "
                                  f"({error}).") from error


class Adapted(Tensors):
    """A base with an adapter's changes: W + s·B·A, matrix by matrix when it is asked for. It can stand wherever a
    state dict can.

    Args:
        base: the state dict or checkpoint of the base.
        adapter: the adapter.
        without: what keys begin with that the adapter stores whole and that are left out, a head of its own for one.

    Attributes:
        modules: {key of the base: the adapter's module that changes it}.

    Raises:
        CheckpointError: the base lacks a key, a shape does not fit, or two modules mean one key. Names adapter and key.
    """

    def __init__(self, base: State, adapter: Adapter, without: Iterable[str] = ()):
        if not isinstance(base, Mapping) or not isinstance(adapter, Adapter):
            raise CheckpointError("Adapted takes a base, folders.opened(path), and an adapter, "
                                  f"adapters.opened(folder), not {type(base).__name__} and {type(adapter).__name__}.")
        self.base = base
        self.adapter = adapter
        self.shown = dict.fromkeys(base)
        kept = {key: name for key, name in adapter.whole.items() if not key.startswith(tuple(without))}
        biases = [module for module, pair in adapter.pairs.items() if pair.bias]
        self.modules = self._places({f"{module}.weight": module for module in adapter.pairs})
        self._biases = self._places({f"{module}.bias": module for module in biases})
        self._whole = self._places(kept, "It is stored whole; if it is a head of the adapter's own, leave it out: "
                                         "Adapted(base, adapter, without=[{key!r}]).")
        for key in self.modules:
            self._check(key)

    def __getitem__(self, key: str) -> Tensor:
        weight = self.adapter.tensors[self._whole[key]] if key in self._whole else self.base[key]
        if key in self.modules:
            return (wide(weight) + self.adapter.delta(self.modules[key])).to(weight.dtype)
        if key in self._biases:
            return (wide(weight) + self.adapter.bias(self._biases[key])).to(weight.dtype)
        return weight

    def entry(self, key: str) -> Entry:
        """Dtype and shape of a tensor, without reading it from a checkpoint."""
        return self.adapter.tensors.entry(self._whole[key]) if key in self._whole else entry_of(self.base, key)

    @property
    def name(self) -> str:
        """The adapter's folder."""
        return str(self.adapter.path)

    def _places(self, names, advice=""):
        """{key of the base: what changes it} of {key as the adapter has it: that}."""
        found, asked = {}, {}
        for key, what in names.items():
            place = _key_in(self.base, key, self.adapter, advice.format(key=key))
            if place in found:
                raise CheckpointError(f"{self.adapter.path} changes {place!r} of {name_of(self.base)} twice, by "
                                      f"{asked[place]!r} and {key!r}. Is that base a part of the model that the "
                                      "adapter was tuned on?")
            found[place], asked[place] = what, key
        return found

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


def _key_in(base, key, adapter, advice=""):
    """The base's key that an adapter's means: the same, or the same but for what stands before it."""
    if key in base:
        return key
    found = [ours for ours in base if ours.endswith(f".{key}") or key.endswith(f".{ours}")]
    if len(found) != 1:
        several = f" {len(found)} keys end so." if found else ""
        raise CheckpointError(f"{adapter.path} changes {key!r}, which {name_of(base)} does not have.{several} "
                              f"{advice or 'Is it the base that the adapter was tuned on?'}")
    return found[0]
