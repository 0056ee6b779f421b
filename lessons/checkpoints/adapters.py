"""LoRA adapters in PEFT's layout: a folder with `adapter_config.json` and `adapter_model.safetensors`, which hold A and
B of every matrix that was tuned. Beside its base an adapter is a finetuned model like any other.
"""
import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from data import store
from lessons.checkpoints import bases, lora, patterns
from lessons.checkpoints import conv1d as turning
from lessons.checkpoints.folders import ADAPTER, Checkpoint, Tensors, entry_of, of_home
from lessons.checkpoints.naming import name_of
from lessons.checkpoints.opening import CheckpointError, Entry
from lessons.merging.states import wide
from toy_models.weights import State

CONFIG = "adapter_config.json"
PREFIX = "base_model.model."  # PEFT wraps the model twice
_PART = re.compile(r"(?P<module>.+)\.lora_(?:(?P<letter>[AB])(?:\.[^.]+)?\.(?P<what>weight|bias)"
                   r"|embedding_(?P<embedding>[AB])(?:\.[^.]+)?)")
# adapters that stand on a base which their first step changed (PEFT, `subtract_mutated_init`)
ON_ANOTHER_BASE = ("pissa", "olora", "corda", "loftq", "lora_ga")
WHOLE_MODEL = "Let PEFT write the whole model by merge_and_unload."
# fields of PEFT's LoraConfig (0.21) and of older ones that make ΔW more than s·B·A, or put it elsewhere
REFUSED = {
    "layer_replication": "adapts a model in which layers occur several times, so its layer numbers are not the base's",
    "use_dora": "is DoRA, not LoRA: a magnitude scales what B·A has changed",
    "kasa_config": "is KaSA, not LoRA: it has a diagonal between B and A, and it changes the base too",
    "velora_config": "is VeLoRA, a kind of adapter that is not read here",
    "monteclora_config": "is MonteCLoRA, a kind of adapter that is not read here",
    "use_bdlora": "is BD-LoRA: its A or B is block-diagonal",
    "arrow_config": "chooses among several adapters for every token (Arrow), which is no matrix to be added",
    "trainable_token_indices": "changes single tokens beside its matrices",
    "enable_lora": "adapts only some of the outputs of a matrix (enable_lora, of the first versions of PEFT)",
}
# of these fields, those that PEFT (0.21) cannot merge either: it refuses, or merges layers that share weights twice
INSTEAD = {
    "layer_replication": "PEFT's merge_and_unload would be wrong too, since it changes what these layers share several "
                         "times. Use it in PEFT unmerged, or take an adapter of the base's own layers.",
    "arrow_config": "PEFT does not merge it either. Open the adapters that it chooses among, each for itself.",
}
# fields that are read here, and fields that leave s·B·A as it is
KNOWN = frozenset("""r lora_alpha fan_in_fan_out use_rslora rank_pattern alpha_pattern init_lora_weights lora_bias
    alora_invocation_tokens target_parameters base_model_name_or_path auto_mapping peft_type peft_version revision
    task_type inference_mode target_modules exclude_modules lora_dropout bias modules_to_save layers_to_transform
    layers_pattern megatron_config megatron_core loftq_config eva_config corda_config lora_ga_config use_qalora
    qalora_group_size runtime_config ensure_weight_tying""".split()) | REFUSED.keys()
LARGEST_SCALE = 1e6  # of B·A; beyond it no adapter was ever trained, and float16 would overflow
STARTS = ("gaussian", "eva", "orthogonal", "mica")  # of init_lora_weights: they leave the base as it is


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
        turned: what the config says of `fan_in_fan_out`, which holds for the last module alone.
        notes: sentences on what the config says that is not known here.
    """

    def __init__(self, path: str | os.PathLike, config: Mapping, tensors: Checkpoint, config_digest: str):
        self.path = Path(path)
        self.config = dict(config)
        self._config_digest = config_digest
        self.tensors = tensors
        self.turned = bool(config.get("fan_in_fan_out"))
        self.pairs: dict[str, Pair] = {}
        self.whole: dict[str, str] = {}
        self.notes = _unknown(self.path, self.config)
        self._sort()

    def delta(self, module: str, turned: bool | None = None) -> Tensor:
        """ΔW = s·B·A of a module.

        Args:
            module: as PEFT names it.
            turned: its weight is stored as (in, out); None takes what the config says.

        Raises:
            CheckpointError: A and B do not fit each other.
        """
        pair = self.pairs[module]
        down, up = self.factors(module)
        try:
            if pair.embedding:  # an embedding (tokens, width) is changed by (B·A)ᵀ with A (r, tokens), B (width, r)
                return lora.change(down, up, pair.scale, turned=True)
            return lora.change(down, up, pair.scale, self.turned if turned is None else turned)
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
        """{file name: SHA-256} of both files, as they were when they were opened.

        Raises:
            CheckpointError: the file of the matrices has changed since. Names it.
        """
        return {CONFIG: self._config_digest, **self.tensors.digests()}

    def _sort(self):
        """Which tensor is an A, a B, or stored whole."""
        parts: dict[str, dict[str, str]] = {}
        for key in self.tensors:
            if not (match := _PART.fullmatch(key)):
                name = key.removeprefix(PREFIX).replace(".modules_to_save.default", "").replace(".base_layer.", ".")
                self.whole[name] = key
                continue
            ours = parts.setdefault(match["module"].removeprefix(PREFIX), {})
            part = "bias" if match["what"] == "bias" else match["letter"] or match["embedding"]
            if match["what"] == "bias" and match["letter"] == "A":
                raise CheckpointError(self._not_read(key))
            if part in ours:
                raise CheckpointError(f"{self.path} holds two of one kind, {ours[part]!r} and {key!r}. Are these two "
                                      "adapters in one file? Write each to a folder of its own.")
            ours[part] = key
            ours["embedding"] = match["embedding"] or ""
        self._check_whole()
        for module, ours in parts.items():
            if lacking := [letter for letter in "AB" if letter not in ours]:
                raise CheckpointError(f"{self.path} has no lora_{lacking[0]} for {module!r}: half an adapter changes "
                                      "nothing. Download it again.")
        ranks, alphas = self._said("rank_pattern", "r", parts), self._said("alpha_pattern", "lora_alpha", parts)
        for module, ours in parts.items():
            scale = lora.scaling(alphas[module], self._rank(module, ours, ranks[module]),
                                 bool(self.config.get("use_rslora")))
            if abs(scale) > LARGEST_SCALE:
                raise CheckpointError(f"{self.path / CONFIG}: B·A of {module!r} would be multiplied by {scale:.3g}, "
                                      "which is lora_alpha divided by r. Usual are 0.1 to 100. Is lora_alpha right?")
            self.pairs[module] = Pair(ours["A"], ours["B"], scale, bool(ours["embedding"]), ours.get("bias", ""))
        if not self.pairs:
            raise CheckpointError(f"{self.path} holds no LoRA: no key ends in lora_A.weight.")

    def _said(self, name, default, modules):
        """{module: what the config says of it}, by its patterns and else by the number for all modules."""
        values = list((self.config.get(name) or {}).values())
        try:
            matches = patterns.first_matches(list(self.config.get(name) or {}), list(modules)) if values else []
        except ValueError as error:
            raise CheckpointError(f"{self.path / CONFIG}: {name} cannot be used, since {error}.") from error
        numbers = dict.fromkeys(modules, self.config[default])
        return numbers | {module: values[place] for module, place in zip(modules, matches) if place is not None}

    def _not_read(self, key):
        return (f"{self.path} is no plain LoRA, because it holds {key!r}, which is neither A nor B nor the bias of B. "
                f"A and B without such a part may give a wrong change, so it has to be merged by the library that made "
                f"it. {WHOLE_MODEL}")

    def _check_whole(self):
        """Nothing among what is stored whole that is more than a tensor in the base's place."""
        for key in self.whole.values():
            if "lora_magnitude" in key:
                raise CheckpointError(f"{self.path} is DoRA, not LoRA: {key!r} scales what B·A has changed. "
                                      f"{WHOLE_MODEL}")
            if "trainable_tokens" in key:
                raise CheckpointError(f"{self.path} changes single tokens: {key!r}. {WHOLE_MODEL}")
            if "lora_" in key:
                raise CheckpointError(self._not_read(key))

    def _rank(self, module, ours, expected):
        """The rank of a module, which its A, its B and the config agree on."""
        shapes = {letter: self.tensors.entries[ours[letter]].shape for letter in "AB"}
        if flat := [letter for letter, shape in shapes.items() if len(shape) < 2 or not shape[0]]:
            raise CheckpointError(f"{self.path}: {ours[flat[0]]!r} has shape {shapes[flat[0]]}, which is no matrix. "
                                  "Download it again.")
        for key, dtype in ((ours[letter], self.tensors.entries[ours[letter]].dtype) for letter in "AB"):
            if not dtype.startswith(("F", "BF")):
                raise CheckpointError(f"{self.path}: {key!r} is {dtype}, and such numbers are no weights. A quantised "
                                      "adapter? Take the one that it was made from.")
        rank = shapes["A"][0]
        if rank != expected:
            raise CheckpointError(f"{self.path}: {CONFIG} says rank {expected} for {module!r}, its A has {rank} rows. "
                                  "The two files are not of one adapter.")
        return rank


def _unknown(path, config):
    """Sentences on fields of the config that say something which is not known here."""
    strange = {name: value for name, value in config.items() if name not in KNOWN and value}
    start = config.get("init_lora_weights")
    if isinstance(start, str) and not start.lower().startswith(STARTS):
        strange["init_lora_weights"] = start
    return [f"{path}: {CONFIG} says {name!r} = {str(value)[:60]!r}, which is not known here. If it makes the adapter "
            f"more than W + s·B·A, what is read here is wrong. {WHOLE_MODEL}" for name, value in strange.items()]


def opened(path: str | os.PathLike) -> Adapter:
    """Open an adapter's folder.

    Raises:
        CheckpointError: a file is missing or cannot be read, it is another kind of adapter than LoRA or one that stands
            on a changed base, or A and B do not pair up. Names file and module.
    """
    path = of_home(path)
    if not os.path.lexists(path / CONFIG):
        raise CheckpointError(f"{path} holds no adapter: {CONFIG} is missing.")
    if not (path / ADAPTER).exists():
        pickled = " adapter_model.bin is a pickle and is not opened." if (path / "adapter_model.bin").exists() else ""
        raise CheckpointError(f"{path / ADAPTER} is missing.{pickled}")
    try:
        written = store.regular(path / CONFIG).read_bytes()
        config = json.loads(written.decode("utf-8"))
        kind, rank, alpha = config.get("peft_type", "LORA"), config["r"], config["lora_alpha"]
    except store.StoreError as error:
        raise CheckpointError(str(error)) from error
    except OSError as error:
        raise CheckpointError(f"{path / CONFIG} cannot be read: {error.strerror or error}.") from error
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{path / CONFIG} cannot be used: it must say r and lora_alpha ({error!r}).") from error
    if kind != "LORA":
        raise CheckpointError(f"{path} is an adapter of another kind than LoRA, {kind}: it is no matrix to be added.")
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 1 or not _is_number(alpha):
        raise CheckpointError(f"{path / CONFIG} says r = {str(rank)[:60]} and lora_alpha = {str(alpha)[:60]}: r must "
                              "be a whole number above 0, lora_alpha a finite number.")
    _check_config(path, config)
    return Adapter(path, config, Checkpoint(path, [path / ADAPTER]), hashlib.sha256(written).hexdigest())


def _is_number(value):
    """A finite number, and not True or False."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def _check_config(path, config):
    """What the config says beside r and lora_alpha: patterns that can be read, plain LoRA, and a base that is the base.
    """
    start = config.get("init_lora_weights")
    if isinstance(start, str) and start.lower().startswith(ON_ANOTHER_BASE):
        raise CheckpointError(f"{path} began with {start} and stands on a base that this changed: added to the base "
                              f"itself, its B·A is wrong. {WHOLE_MODEL}")
    if config.get("alora_invocation_tokens"):
        raise CheckpointError(f"{path} acts behind certain tokens alone (alora_invocation_tokens): it is no matrix to "
                              "be added.")
    for name, why in REFUSED.items():
        if config.get(name) not in (None, False, []):
            raise CheckpointError(f"{path} {why} ({name} in {CONFIG}). {INSTEAD.get(name, WHOLE_MODEL)}")
    for name in ("use_rslora", "fan_in_fan_out"):
        if not isinstance(said := config.get(name) or False, bool):  # the text "false" would count as true
            raise CheckpointError(f"{path / CONFIG} says {name} = {str(said)[:60]!r}: it must be true or false.")
    for name in ("rank_pattern", "alpha_pattern"):
        by_pattern = config.get(name) or {}
        if not isinstance(by_pattern, dict) or not all(map(_is_number, by_pattern.values())):
            values = by_pattern.values() if isinstance(by_pattern, dict) else [by_pattern]
            strange = [value for value in values if not _is_number(value)] or [by_pattern]
            raise CheckpointError(f"{path / CONFIG}: {name} must give a number for each pattern of module names "
                                  f"({str(strange[0])[:60]!r} is no number).")


class Adapted(Tensors):
    """A base with an adapter's changes: W + s·B·A, matrix by matrix when it is asked for. It can stand wherever a
    state dict can.

    Args:
        base: the state dict or checkpoint of the base.
        adapter: the adapter.
        without: what keys begin with that the adapter stores whole and that are left out, a head of its own for one.
        conv1d: names, or ends of names, of all modules whose weights are stored as (in, out), as GPT-2's Conv1D does.
            It is asked for where a matrix is square and nothing else tells; None decides module by module.

    Attributes:
        modules: {key of the base: the adapter's module that changes it}.
        turned: {key of the base: its weight is stored as (in, out)}.
        notes: sentences on what may be wrong: another base than the adapter's own, names that had to be translated.

    Raises:
        CheckpointError: the base lacks a key, a shape does not fit, nothing tells how a square matrix is stored, or
            two modules mean one key. Names adapter and key.
    """

    def __init__(self, base: State, adapter: Adapter, without: Iterable[str] = (),
                 conv1d: Iterable[str] | None = None):
        if not isinstance(base, Mapping) or not isinstance(adapter, Adapter):
            raise CheckpointError("Adapted takes a base, folders.opened(path), and an adapter, "
                                  f"adapters.opened(folder), not {type(base).__name__} and {type(adapter).__name__}.")
        self.base = base
        self.adapter = adapter
        self.shown = dict.fromkeys(base)
        self.notes = [*adapter.notes, *bases.another(base, adapter.path, adapter.config)]
        self._translated: list[tuple[str, str]] = []
        stored = {key: name for key, name in adapter.whole.items() if not key.startswith(tuple(without))}
        biases = [module for module, pair in adapter.pairs.items() if pair.bias]
        self.modules = self._places({f"{module}.weight": module for module in adapter.pairs})
        self._biases = self._places({f"{module}.bias": module for module in biases})
        self._whole = self._places(stored, "It is stored whole; if it is a head of the adapter's own, leave it out: "
                                         "Adapted(base, adapter, without=[{key!r}]).")
        self.turned = self._turned(None if conv1d is None else self._checked(conv1d))
        if self._translated:
            new, old = self._translated[0]
            self.notes.append(f"{adapter.path} has the names of transformers 5, such as {new!r}, and {name_of(base)} "
                              f"has older ones, such as {old!r}. They were matched.")

    def __getitem__(self, key: str) -> Tensor:
        weight = self.adapter.tensors[self._whole[key]] if key in self._whole else self.base[key]
        if key in self.modules:
            return (wide(weight) + self.adapter.delta(self.modules[key], self.turned[key])).to(weight.dtype)
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
        changes, keys = {}, {}
        for key, what in names.items():
            place = self._place(key, advice.format(key=key))
            if place in changes:
                raise CheckpointError(f"{self.adapter.path} changes {place!r} of {name_of(self.base)} twice, by "
                                      f"{keys[place]!r} and {key!r}. Is that base a part of the model that the "
                                      "adapter was tuned on?")
            changes[place], keys[place] = what, key
        return changes

    def _place(self, key, advice):
        """The base's key that an adapter's means: the same, the same but for what stands before it, or an older name.
        """
        if key in self.base:
            return key
        candidates = [ours for ours in self.base if ours.endswith(f".{key}") or key.endswith(f".{ours}")]
        if len(candidates) == 1:
            return candidates[0]
        if not candidates and (older := bases.older(self.base, key)):
            self._translated.append((key, older))
            return older
        several = f" {len(candidates)} keys end so." if candidates else ""
        raise CheckpointError(f"{self.adapter.path} changes {key!r}, which {name_of(self.base)} does not have."
                              f"{several} {advice or self._why_missing(key)}")

    def _why_missing(self, key):
        """What may be behind a module that the base does not have, and what to do."""
        targets = [str(name) for name in self.adapter.config.get("target_parameters") or ()]
        if others := [name for name in targets if name.split(".")[-1] != "weight"]:
            return f"It changes parameters that are no module's weight ({others[0][:60]!r}). {WHOLE_MODEL}"
        if (pair := self.adapter.pairs.get(key.removesuffix(".weight"))) is None:
            if key.removesuffix(".bias") in self.adapter.pairs:
                return f"The adapter's B has a bias (lora_bias), and the base has none to add it to. {WHOLE_MODEL}"
            return "Is it the base that the adapter was tuned on?"
        entries = self.adapter.tensors.entries
        return bases.why_missing(self.base, key, entries[pair.up].shape[:1], entries[pair.down].shape[1:])

    def _checked(self, names):
        """The names that `conv1d` gives, each of which must mean a module of the adapter."""
        names = [names] if isinstance(names, str) else list(names)
        for name in names:
            if not any(turning.is_among(module, [name]) for module in self.adapter.pairs):
                raise CheckpointError(f"conv1d names {name!r}, but no module of {self.adapter.path} ends so. It has "
                                      f"{next(iter(self.adapter.pairs))!r}, for one.")
        return names

    def _turned(self, names):
        """{key: whether its weight is stored as (in, out)}, after a check of all shapes."""
        turned = {key: self._by_shape(key) for key in self.modules}
        if not (squares := [key for key in turned if turned[key] is None]):
            return turned
        seen = turning.in_base(self.base)
        for key, kind in turned.items():
            if kind is not None and len(entry_of(self.base, key).shape) == 2 and not self._pair(key).embedding:
                seen.setdefault(turning.last(key), set()).add(kind)
        names_of_all = {turning.last(key) for key in self.modules}
        likely = sorted(names_of_all.intersection(turning.MODULES))
        for key in squares:
            if names is not None:
                turned[key] = turning.is_among(self.modules[key], names)
            elif turning.is_among(f"{self.modules[key]}.weight", self.adapter.config.get("target_parameters") or ()):
                turned[key] = False  # PEFT reads a parameter of its own accord as (out, in)
            else:
                turned[key] = turning.of_square(self.base, key, seen, self.adapter.turned, len(names_of_all) == 1)
            if turned[key] is None:
                raise CheckpointError(f"{self.adapter.path} changes {key!r}, which is square. So its shape does not "
                                      "tell whether it is stored as (out, in), as torch's Linear does, or as (in, "
                                      f"out), as GPT-2's Conv1D does; fan_in_fan_out in {CONFIG} holds for the last "
                                      "module alone. Say which modules are Conv1D: Adapted(base, adapter, "
                                      f"conv1d={likely or [turning.last(key)]}), or conv1d=[] if none is.")
        return turned

    def _pair(self, key):
        return self.adapter.pairs[self.modules[key]]

    def _by_shape(self, key):
        """Whether a weight is stored as (in, out), by its shape; None where it is square."""
        pair, shapes = self._pair(key), self.adapter.tensors.entries
        outputs, inputs = shapes[pair.up].shape[0], shapes[pair.down].shape[1:]
        there = entry_of(self.base, key).shape
        plain, turned = (outputs, *inputs), (*inputs, outputs)
        if pair.embedding or len(inputs) != 1:
            made = turned if pair.embedding else plain
            if made == there:
                return False
        elif plain == turned == there:
            return None
        else:
            bias = f"{key.removesuffix('.weight')}.bias"
            as_long = bias not in self.base or entry_of(self.base, bias).shape == (outputs,)
            if there == plain or (there == turned and as_long):
                return there != plain
            made = plain
        raise CheckpointError(f"{self.adapter.path} changes {key!r} by a matrix of shape {made}, which has shape "
                              f"{there} in {name_of(self.base)}. Is it the base that the adapter was tuned on?")
