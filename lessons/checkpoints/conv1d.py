"""Which matrices are stored turned, as (in, out)? GPT-2's Conv1D does so, where torch's Linear stores (out, in).

An adapter's config has one `fan_in_fan_out` for all its modules. PEFT overwrites it at every module that it wraps, so
the file keeps what was true of the last one, and PEFT asks the module itself when it loads the adapter. A file has no
modules to ask. So we ask the shape, then the architecture that config.json names, then the matrices of the same name.
"""
from collections.abc import Iterable, Mapping

from lessons.checkpoints.folders import config_of, entry_of
from toy_models.weights import State

# the architectures of transformers that use Conv1D, and what these modules are called in all of them
ARCHITECTURES = frozenset(("gpt2", "openai-gpt", "imagegpt", "decision_transformer", "clvp", "clvp_decoder"))
MODULES = ("c_attn", "q_attn", "c_proj", "c_fc")


def last(key: str) -> str:
    """A module's own name, from a key or from its full name: c_proj of h.0.attn.c_proj.weight, but mlp.0 of
    h.0.mlp.0.weight, since a number alone says nothing.
    """
    parts = key.removesuffix(".weight").split(".")
    return ".".join(parts[-2:] if parts[-1].isdigit() else parts[-1:])


def is_among(module: str, names: Iterable[str]) -> bool:
    """Whether a module is one of those that names mean: the same, or the end of it from a dot on."""
    return any(f".{module}".endswith(f".{name}") for name in names)


def by_architecture(base: State, key: str) -> bool | None:
    """Whether the base's config.json says that a matrix is stored as (in, out); None where it does not say."""
    types = _types(config_of(base))
    return last(key) in MODULES if types & ARCHITECTURES else None


def _types(config):
    """What config.json calls the architecture and its parts, such as an encoder and a decoder."""
    parts = [config, *(part for part in config.values() if isinstance(part, Mapping))]
    return {part["model_type"] for part in parts if isinstance(part.get("model_type"), str)}


def in_base(base: State) -> dict[str, set[bool]]:
    """{a module's own name: {stored as (in, out)}} of all matrices whose bias tells: it is as long as the output."""
    kinds = {}
    for key in base:
        bias = f"{key.removesuffix('.weight')}.bias"
        if not key.endswith(".weight") or bias not in base:
            continue
        shape, out = entry_of(base, key).shape, entry_of(base, bias).shape
        if len(shape) == 2 and shape[0] != shape[1] and out in ((shape[0],), (shape[1],)):
            kinds.setdefault(last(key), set()).add(out == (shape[1],))
    return kinds


def of_square(base: State, key: str, seen: Mapping[str, set[bool]], fan_in_fan_out: bool | None = None,
              alone: bool = False) -> bool | None:
    """Whether a square matrix is stored as (in, out); None where nothing decides.

    Args:
        base: the model.
        key: the matrix in it.
        seen: what is known of matrices that are not square, as `in_base` gives it.
        fan_in_fan_out: what the adapter's config says of it; None without an adapter.
        alone: the adapter's modules all have the same own name, so what is true of the last one is true of all.
    """
    if (known := by_architecture(base, key)) is not None:
        return known
    if len(ours := seen.get(last(key), ())) == 1:
        return next(iter(ours))
    kinds = set().union(*seen.values())
    config = config_of(base)
    if not ours and True not in kinds and _types(config) and not config.get("auto_map"):
        return False  # an architecture of transformers that is not among those with Conv1D
    kinds |= {fan_in_fan_out} if fan_in_fan_out is not None else set()
    if ours or len(kinds) > 1 or (True in kinds and not alone):
        return None
    return True in kinds


def is_turned(base: State, key: str) -> bool:
    """Whether a base stores a matrix as (in, out), as far as its config.json, the matrix's bias and others of its name
    tell; False where nothing does.
    """
    shape, bias = entry_of(base, key).shape, f"{key.removesuffix('.weight')}.bias"
    if shape[0] != shape[1] and bias in base:
        return entry_of(base, bias).shape == (shape[1],)
    return bool(of_square(base, key, in_base(base)))
