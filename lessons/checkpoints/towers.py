"""CLIP's two towers in plain torch, as functions of a state dict: an image or a text in, a vector out (Radford et al.
2021). Keys are those of transformers from 5.6 on; `checkpoints.naming` brings others to them.
"""
import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from toy_models.weights import State

ACTIVATIONS = {"quick_gelu": lambda x: x * torch.sigmoid(1.702 * x), "gelu": F.gelu}  # OpenAI's CLIP has the first
EPSILON = 1e-5  # of every layer norm


@dataclass(frozen=True)
class Tower:
    """A transformer's sizes.

    Attributes:
        width: numbers a token.
        layers: blocks.
        heads: of each block's attention; CLIP has one for every 64 of width, and no key or shape says so.
        mlp: units between fc1 and fc2.
        tokens: patches and the class token; of a text tower the longest text.
        patch: pixels along a patch's side; 0 of a text tower.
        vocabulary: of a text tower; 0 of a vision tower.
        activation: "quick_gelu" or "gelu", which no key or shape says either.
    """
    width: int
    layers: int
    heads: int
    mlp: int
    tokens: int
    patch: int = 0
    vocabulary: int = 0
    activation: str = "quick_gelu"

    def __post_init__(self):
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"unknown activation {self.activation!r}: choose one of {', '.join(ACTIVATIONS)}")
        if self.heads < 1 or self.width % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.width}")

    @property
    def image(self) -> int:
        """Pixels along an image's side."""
        return math.isqrt(self.tokens - 1) * self.patch

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """{key: shape} of its state dict."""
        width = self.width
        normed: dict[str, tuple[int, ...]] = {"weight": (width,), "bias": (width,)}
        shapes: dict[str, tuple[int, ...]] = {"embeddings.token_embedding.weight": (self.vocabulary, width)}
        if self.patch:
            shapes = {"embeddings.class_embedding": (width,),
                      "embeddings.patch_embedding.weight": (width, 3, self.patch, self.patch)}
        shapes["embeddings.position_embedding.weight"] = (self.tokens, width)
        for norm in ("pre_layrnorm", "post_layernorm") if self.patch else ("final_layer_norm",):
            shapes |= {f"{norm}.{part}": shape for part, shape in normed.items()}
        square, up, down = (width, width), (self.mlp, width), (width, self.mlp)
        for number in range(self.layers):
            prefix = f"encoder.layers.{number}."
            for norm in ("layer_norm1", "layer_norm2"):
                shapes |= {f"{prefix}{norm}.{part}": shape for part, shape in normed.items()}
            matrices: dict[str, tuple[int, ...]] = {f"self_attn.{name}_proj": square for name in ("q", "k", "v", "out")}
            for name, shape in (matrices | {"mlp.fc1": up, "mlp.fc2": down}).items():
                shapes |= {f"{prefix}{name}.weight": shape, f"{prefix}{name}.bias": shape[:1]}
        return shapes

    def parameters(self) -> int:
        """How many numbers its state dict holds."""
        return sum(math.prod(shape) for shape in self.shapes().values())


B32 = Tower(width=768, layers=12, heads=12, mlp=3072, tokens=50, patch=32)
B16 = Tower(width=768, layers=12, heads=12, mlp=3072, tokens=197, patch=16)
L14 = Tower(width=1024, layers=24, heads=16, mlp=4096, tokens=257, patch=14)
NAMED: Mapping[str, Tower] = {"ViT-B/32": B32, "ViT-B/16": B16, "ViT-L/14": L14}


# -- what both towers share ----------------------------------------------------------------------------------------

def linear(state: State, name: str, x: Float[Tensor, "... n"]) -> Float[Tensor, "... m"]:
    """W·x + b with the weight and bias of that name."""
    return F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def norm(state: State, name: str, x: Float[Tensor, "... width"]) -> Float[Tensor, "... width"]:
    """Layer norm with the weight and bias of that name."""
    return F.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"], EPSILON)


def attention(state: State, name: str, x: Float[Tensor, "samples tokens width"], heads: int,
              causal: bool) -> Float[Tensor, "samples tokens width"]:
    """softmax(QKᵀ/√d)·V in every head of d = width/heads, and the output matrix.

    Args:
        causal: a token sees those before it alone, as in the text tower.
    """
    queries, keys, values = (linear(state, f"{name}.{letter}_proj", x).unflatten(2, (heads, -1)).transpose(1, 2)
                             for letter in "qkv")
    mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=causal)
    return linear(state, f"{name}.out_proj", mixed.transpose(1, 2).flatten(2))


def block(state: State, number: int, x: Float[Tensor, "samples tokens width"], tower: Tower,
          causal: bool = False) -> Float[Tensor, "samples tokens width"]:
    """A pre-norm block: x + attention(norm(x)), then x + MLP(norm(x))."""
    prefix = f"encoder.layers.{number}."
    x = x + attention(state, f"{prefix}self_attn", norm(state, f"{prefix}layer_norm1", x), tower.heads, causal)
    inner = linear(state, f"{prefix}mlp.fc1", norm(state, f"{prefix}layer_norm2", x))
    return x + linear(state, f"{prefix}mlp.fc2", ACTIVATIONS[tower.activation](inner))


# -- images --------------------------------------------------------------------------------------------------------

def embedded(state: State, images: Float[Tensor, "samples 3 size size"],
             tower: Tower) -> Float[Tensor, "samples tokens width"]:
    """Patches as tokens, the class token before them, positions added, and a layer norm: what the first block is given.

    Raises:
        ValueError: the images are not of the tower's size.
    """
    if images.shape[-1] != tower.image:
        raise ValueError(f"images must be {tower.image}×{tower.image} pixels for this tower, not "
                         f"{images.shape[-2]}×{images.shape[-1]}: `images.prepared` makes them so")
    patches = F.conv2d(images, state["embeddings.patch_embedding.weight"], stride=tower.patch).flatten(2).mT
    first = state["embeddings.class_embedding"].to(patches.dtype).expand(len(images), 1, -1)
    tokens = torch.cat([first, patches], 1) + state["embeddings.position_embedding.weight"]
    return norm(state, "pre_layrnorm", tokens)


def features(state: State, images: Float[Tensor, "samples 3 size size"], tower: Tower) -> dict[str, Tensor]:
    """What every block answers, in depth order: {"block 0": (samples, tokens, width), …, "pooled": (samples, width)}.

    "pooled" is the class token after the last norm, the vision tower's answer.
    """
    x = embedded(state, images, tower)
    outputs = {}
    for number in range(tower.layers):
        x = block(state, number, x, tower)
        outputs[f"block {number}"] = x
    outputs["pooled"] = norm(state, "post_layernorm", x[:, 0])
    return outputs


def pooled(state: State, images: Float[Tensor, "samples 3 size size"],
           tower: Tower) -> Float[Tensor, "samples width"]:
    """The vision tower's answer alone."""
    x = embedded(state, images, tower)
    for number in range(tower.layers):
        x = block(state, number, x, tower)
    return norm(state, "post_layernorm", x[:, 0])


# -- texts ---------------------------------------------------------------------------------------------------------

def text_pooled(state: State, tokens: Int[Tensor, "texts length"], tower: Tower) -> Float[Tensor, "texts width"]:
    """The text tower's answer: its last token's, after the last norm.

    Args:
        tokens: each text ends with the token of the largest number, which is where the answer is read (`tokens.Words`
            writes them so).
    """
    positions = state["embeddings.position_embedding.weight"][:tokens.shape[1]]
    x = F.embedding(tokens, state["embeddings.token_embedding.weight"]) + positions
    for number in range(tower.layers):
        x = block(state, number, x, tower, causal=True)
    x = norm(state, "final_layer_norm", x)
    return x[torch.arange(len(x)), tokens.argmax(1)]
