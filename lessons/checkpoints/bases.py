"""Which base does an adapter mean? Its config names one, and its modules' names and shapes have to fit.

Transformers 5 renamed the modules of its ViTs, and its files kept the older names. So an adapter of today and the base
that it was tuned on call one matrix by two names.
"""
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from lessons.checkpoints.folders import config_of, entry_of
from lessons.checkpoints.naming import name_of
from toy_models.weights import State

OUTPUTS = ("lm_head", "decoder", "embed_out", "output_projection")  # what a language model's last matrix is called
# older name, newer name; in this order, since a later row is a part of an earlier one
ROWS = (
    ("encoder.layer.", "layers."),
    ("attention.attention.query.", "attention.q_proj."),
    ("attention.attention.key.", "attention.k_proj."),
    ("attention.attention.value.", "attention.v_proj."),
    ("attention.output.dense.", "attention.o_proj."),
    ("intermediate.dense.", "mlp.fc1."),
    ("output.dense.", "mlp.fc2."),
)
OLDER = ".attention.attention.query."  # only ViTs of this family have this name (ViT, DeiT, BEiT, DINOv2, AST, …)
ELSEWHERE = "encoder.layers."  # CLIP's blocks: another family, whose other names are partly the same


def newer(key: str) -> str:
    """A key of a ViT's file under the names of transformers 5; one that has these names already stays as it is."""
    for older, name in ROWS:
        key = f".{key}".replace(f".{older}", f".{name}").removeprefix(".")
    return key


def older(base: State, key: str) -> str | None:
    """The key of a ViT's file with the older names that a newer name means; None where the file is not such a ViT, or
    none or several of its keys fit.
    """
    if ELSEWHERE in key or not any(OLDER in ours for ours in base):
        return None
    wanted = newer(key)
    candidates = [ours for ours in base if (name := newer(ours)) == wanted or name.endswith(f".{wanted}")
                  or wanted.endswith(f".{name}")]
    return candidates[0] if len(candidates) == 1 else None


def why_missing(base: State, key: str, outputs: Sequence[int], inputs: Sequence[int]) -> str:
    """What may be behind a matrix of an adapter that the base does not have, and what to do: sentences for a message.

    Args:
        base: the model.
        key: the matrix, as the adapter names it.
        outputs, inputs: the sizes of both its sides.
    """
    shapes = {(*outputs, *inputs), (*inputs, *outputs)}
    alike = [ours for ours in base if entry_of(base, ours).shape in shapes]
    if key.removesuffix(".weight").rpartition(".")[2] in OUTPUTS and len(alike) == 1:
        return (f"The model's output probably shares {alike[0]!r} (tie_word_embeddings), which is stored once. An "
                "adapter that changes one of two tied matrices makes two of them. Let PEFT write the whole model by "
                "merge_and_unload.")
    if alike:
        return (f"But {len(alike)} of its tensors have the shape of that matrix, {alike[0]!r} for one. So it may be "
                "the right base under other names, since libraries, and versions of transformers, name one model "
                "differently. Take the file that has the adapter's names, or show the base under these names by "
                "`naming.Renamed`.")
    return "No tensor of it has the shape of that matrix. Is it the base that the adapter was tuned on?"


def another(base: State, path: Path, adapter_config: Mapping) -> list[str]:
    """Sentences where an adapter's config names another base than this one; [] where it is the same, or not known.

    Args:
        base: the model.
        path: the adapter's folder, for the sentences.
        adapter_config: what the adapter's config says.
    """
    config, name, doubts = config_of(base), adapter_config.get("base_model_name_or_path"), []
    ours = _names(name_of(base)) - {"the state dict"} | _names(config.get("_name_or_path"))
    if isinstance(name, str) and ours and _names(name) and not ours & _names(name):
        doubts.append(f"{path} was tuned on {_public(name)!r}, as its config says, and the base here is "
                      f"{name_of(base)}. If that is another model of the same shapes, the result is wrong.")
    mapping = adapter_config.get("auto_mapping")
    kind = mapping.get("base_model_class") if isinstance(mapping, Mapping) else None
    model, classes = config.get("model_type"), config.get("architectures") or ()
    if (isinstance(kind, str) and isinstance(model, str) and kind not in classes
            and not kind.casefold().startswith(re.sub(r"[-_]", "", model).casefold())):
        doubts.append(f"{path} was tuned on a {kind[:100]}, as its config says, and the base's config.json says "
                      f"{model[:100]!r}. If that is another model of the same shapes, the result is wrong.")
    return doubts


def _public(name):
    """A repository's name, or of a path its last part: where it lay on somebody's machine is nobody's business."""
    parts = [part for part in re.split(r"[/\\]", name) if part]
    return (name if "/".join(parts) == name and len(parts) < 3 else parts[-1])[:200]


def _names(path):
    """What a model may be called by a repository's name or a path, in small letters: its last part, and the
    repository's name where the path leads into the hub's cache.
    """
    parts = [part for part in re.split(r"[/\\]", path) if part] if isinstance(path, str) else []
    if len(parts) > 1 and parts[-1] == "model.safetensors":
        parts.pop()
    cached = [part.rpartition("--")[2] for part in parts if part.startswith("models--")]
    return {part.removesuffix(".safetensors").casefold() for part in (*parts[-1:], *cached)}
