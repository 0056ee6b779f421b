"""Which tensors of a transformer are truncated as matrices: by their names, by their dimensions, q, k and v apart or as
one."""
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lessons.cart.algorithms.spectra import Spectra, kept_rank
from lessons.merging.states import by_tensor, wide
from toy_models.weights import State

Q_K_V = ("q", "k", "v")
NAMES = ("attention", "mlp")  # what a name must hold for the released CART to truncate it; there "attn" and "mlp"
Chosen = Callable[[str, Tensor], bool]


def by_dimension(key: str, tensor: Tensor) -> bool:
    """Every tensor of two dimensions or more is a matrix; so are the embeddings of patches and positions."""
    return tensor.ndim >= 2


def by_name(key: str, tensor: Tensor) -> bool:
    """Only what its name says to be attention's or the MLP's; all else is averaged. The released code of CART asks for
    the name alone, and leaves biases and norms out by theirs."""
    return tensor.ndim >= 2 and any(name in key for name in NAMES)


def of_attention(key: str, tensor: Tensor) -> bool:
    """Attention's four matrices alone."""
    return tensor.ndim >= 2 and "attention" in key


def of_mlp(key: str, tensor: Tensor) -> bool:
    """The two matrices of every MLP alone."""
    return tensor.ndim >= 2 and "mlp" in key


def kept_by_name(key: str, shape: Sequence[int], rank_ratio: float) -> int:
    """How many directions of a tensor CART keeps a task, chosen by name: ⌈γ·min(m, n)⌉ of attention's and the MLPs'
    matrices, none of anything else, which is averaged. The paper rounds up; the released code rounds down, to at least
    one.

    Args:
        key: its name; `NAMES` are looked for in it.
        shape: its shape; a tensor of one dimension is not a matrix.
        rank_ratio: γ.
    """
    if len(shape) < 2 or not any(name in key for name in NAMES):
        return 0
    return kept_rank(rank_ratio, shape)


def fused(state: State) -> State:
    """The same weights with every attention's q, k and v as one tensor, as open_clip and timm keep them:
    `….qkv.weight` (3·width, width) and `….qkv.bias` (3·width). A copy.

    Raises:
        ValueError: there is a q, but its k or v is missing.
    """
    joined = {}
    for key, tensor in state.items():
        name = _of_three(key)
        if name is None:
            joined[key] = tensor.clone()
        elif name == "q":
            parts = [_renamed(key, letter) for letter in Q_K_V]
            for part in parts:
                if part not in state:
                    raise ValueError(f"q, k and v belong together, and {part!r} is missing")
            joined[_renamed(key, "qkv")] = torch.cat([state[part] for part in parts])
    return joined


def apart(state: State) -> State:
    """What `fused` has put together, as it was before; the keys in their old order. A copy."""
    separate = {}
    for key, tensor in state.items():
        if ".qkv." in key:
            for name, part in zip(Q_K_V, tensor.chunk(len(Q_K_V))):
                separate[key.replace(".qkv.", f".{name}.")] = part.clone()
        else:
            separate[key] = tensor.clone()
    return _in_order(separate)


def _of_three(key):
    """"q", "k" or "v" where the key is that of one of these, else None."""
    parts = key.split(".")
    return parts[-2] if len(parts) > 2 and parts[-2] in Q_K_V else None


def _renamed(key, name):
    *before, _, last = key.split(".")
    return ".".join([*before, name, last])


def _in_order(state):
    """q.weight, q.bias, k.weight, k.bias, …: as modules list them."""
    def place(item):
        number, key = item
        name = _of_three(key)
        if name is None:
            return number, 0
        first = min(keys.index(_renamed(key, letter)) for letter in Q_K_V)
        return first, 1 + 2 * Q_K_V.index(name) + key.endswith("bias")
    keys = list(state)
    return {key: state[key] for _, key in sorted(enumerate(keys), key=place)}


def truncated_sum(spectra: Spectra, rank_ratio: float, chosen: Chosen) -> State:
    """Σ_t SVD_k(τ̄_t) of the chosen matrices, zeros of all else, which CART leaves at the average.

    Args:
        spectra: of centred task vectors.
        rank_ratio: the share of min(m, n) that is kept.
        chosen: (key, tensor) -> whether this one is truncated.
    """
    total = {}
    for key, tensor in spectra.origin.items():
        if tensor.is_floating_point():
            total[key] = spectra.total(key, rank_ratio) if chosen(key, tensor) else torch.zeros_like(tensor)
    return total


def moved(origin: State, totals: Sequence[State] | State, scale: float) -> State:
    """origin + λ · total, tensor by tensor, in the dtype of the weights."""
    return by_tensor(origin, lambda key: wide(origin[key]) + scale * totals[key])
