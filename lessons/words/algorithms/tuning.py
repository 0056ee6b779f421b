"""A text encoder under a head as a function of one vector θ, so that chapter 11's code finetunes it and takes its
tangent: of all its weights, or of LoRA's A and B beside its queries and values (Hu et al. 2022).
"""
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from data.threads import stop_if_asked
from lessons.linearization.algorithms import lora
from lessons.linearization.algorithms.finetuning import checked_labels
from lessons.linearization.algorithms.networks import Inputs, Net, Outputs
from lessons.linearization.algorithms.tangent import tangent
from lessons.words.algorithms import bert
from toy_models import TextEncoder
from toy_models.weights import State

WHOLE = 0  # in the place of a rank: all weights
DRAWN = 0.02  # standard deviation of a new head's weights, as BERT's are drawn
DECAY = 1e-3  # of a probe: so much of the sum of its squared weights is added to its loss
_ROUNDS = 200  # of L-BFGS, at most
Theta = Float[Tensor, " parameters"]
Head = tuple[Float[Tensor, "classes width"], Float[Tensor, " classes"]]  # W, b


@dataclass(frozen=True)
class Encoder:
    """A pretrained encoder.

    Attributes:
        weights: θ₀ without a head.
        features: (weights, x) -> (samples, width): the vectors of sentences x, rows of numbers.
        tuned: the keys of what is tuned where all is.
        matrices: the keys of the queries' and values' matrices, beside which LoRA's are.
    """
    weights: State
    features: Callable[[State, Inputs], Tensor]
    tuned: tuple[str, ...]
    matrices: tuple[str, ...]


def of_network(network: TextEncoder) -> Encoder:
    """The course's own encoder, in float64: the mean over the words of the last stream. All is tuned but the bias of
    guessed words, which no sentence's vector depends on."""
    headless = deepcopy(network).double()
    headless.head = nn.Identity()
    weights = {key: tensor for key, tensor in headless.state_dict().items() if key != "guess"}

    def features(state, x):
        return torch.func.functional_call(headless, state, (x,))

    matrices = [key for key in weights if key.endswith(("attention.q.weight", "attention.v.weight"))]
    return Encoder(weights, features, tuple(weights), tuple(matrices))


def of_bert(state: State, heads: int, pad: int = 0) -> Encoder:
    """A BERT: the mean over the pieces of the last stream. Its embeddings are not tuned.

    Args:
        heads, pad: see `bert.stream`.

    Raises:
        ValueError: these are not the weights of a BERT (`bert.checked`).
    """
    weights = bert.checked(state, heads)

    def features(state, x):
        ids = x.long()
        return bert.pooled(state, ids[:, :int((ids != pad).sum(1).max())], heads, pad)

    layers = tuple(key for key in weights if key.startswith("encoder."))
    return Encoder(weights, features, layers, tuple(
        key for key in layers if key.endswith(("self.query.weight", "self.value.weight"))))


@dataclass(frozen=True)
class Answered:
    """Answers to some sentences.

    Attributes:
        outputs: logits.
        back: r -> Jᵀ·r: (samples, classes) -> (parameters,).
    """
    outputs: Outputs
    back: Callable[[Tensor], Tensor]


class Tuned(Net):
    """What is tuned, as `finetuning.finetuned` takes a network: θ holds the encoder's weights, or LoRA's A and then its
    B, and behind them the head's W and b.

    Args:
        encoder: θ₀.
        head: W and b before the first step.
        rank: of LoRA; `WHOLE` for all of the encoder's weights.
        seed: of LoRA's A.

    Attributes:
        start: θ₀ as one vector, the head behind it; in the encoder's precision.

    Raises:
        ValueError: the rank is no whole number of at least 0.
    """

    def __init__(self, encoder: Encoder, head: Head, rank: int = WHOLE, seed: int = 0):
        super().__init__((head[0].shape[1], len(head[1])))
        self.encoder, self.rank = encoder, rank
        if rank == WHOLE:
            parts = [encoder.weights[key] for key in encoder.tuned]
        else:
            matrices = [encoder.weights[key] for key in encoder.matrices]
            inputs = tuple(matrix.shape[1] for matrix in matrices)
            parts = [*lora.drawn(Net((*inputs, len(head[1]))), rank, seed),
                     *(matrix.new_zeros(len(matrix), rank) for matrix in matrices)]
        parts += head
        self._shapes = [part.shape for part in parts]
        like = next(iter(encoder.weights.values()))
        self.start: Theta = torch.cat([part.detach().to(like.dtype).flatten() for part in parts])

    def parts(self, theta: Theta) -> list[Tensor]:
        """θ cut up: what is tuned of the encoder, and at last W and b."""
        pieces = theta.split([shape.numel() for shape in self._shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self._shapes)]

    def changed(self, theta: Theta) -> State:
        """The encoder's weights that are others than θ₀'s."""
        *parts, _, _ = self.parts(theta)
        if self.rank == WHOLE:
            return dict(zip(self.encoder.tuned, parts))
        count = len(self.encoder.matrices)
        return {key: self.encoder.weights[key] + up @ down
                for key, down, up in zip(self.encoder.matrices, parts[:count], parts[count:])}

    def features(self, theta: Theta, x: Inputs) -> Float[Tensor, "samples width"]:
        """The vectors of sentences, before the head."""
        return self.encoder.features(self.encoder.weights | self.changed(theta), x)

    def trace(self, theta: Theta, x: Inputs) -> Answered:
        """The answers, and what is needed to differentiate them at θ."""
        stop_if_asked()
        theta = theta.detach().requires_grad_()
        with torch.enable_grad():
            outputs = under(self.head(theta), self.features(theta, x))
        return Answered(outputs.detach(), lambda r: torch.autograd.grad(outputs, theta, r)[0])

    def head(self, theta: Theta) -> Head:
        """W and b."""
        return tuple(self.parts(theta)[-2:])

    @torch.no_grad()
    def linear_features(self, theta: Theta, x: Inputs) -> Float[Tensor, "samples width"]:
        """The features' tangent at θ₀, at θ: h₀ + J_h·(θ − θ₀)."""
        with sdpa_kernel(SDPBackend.MATH):  # attention's other ways have no derivative forwards
            return tangent(lambda there: self.features(there, x), self.start)(theta)


def under(head: Head, h: Float[Tensor, "samples width"]) -> Outputs:
    """W·h + b."""
    return F.linear(h, *head)


def linear_answers(before: Head, after: Head, h_0: Float[Tensor, "samples width"],
                   dh: Float[Tensor, "samples width"]) -> Outputs:
    """f̄, the tangent of the whole in the encoder's weights and the head's: W₀h₀ + b₀ + W₀·dh + dW·h₀ + db, where dh is
    what the encoder's change of weights does to the features, to first order. The product dW·dh is of second order."""
    return under(after, h_0) + dh @ before[0].mT


# -- heads -------------------------------------------------------------------------------------------------------------

def new_head(classes: int, width: int, seed: int = 0) -> Head:
    """A head that knows nothing: W of standard deviation `DRAWN`, b = 0; float64."""
    generator = torch.Generator().manual_seed(seed)
    return (DRAWN * torch.randn(classes, width, generator=generator, dtype=torch.float64),
            torch.zeros(classes, dtype=torch.float64))


def probe(h: Float[Tensor, "samples width"], y: Int64[Tensor, " samples"], classes: int) -> Head:
    """The head of a linear probe: the one with the least cross-entropy on features that stay as they are, and a little
    weight decay; float64.

    Raises:
        ValueError: the labels are not numbers of classes.
    """
    checked_labels(y, classes)
    h = h.detach().double()
    weight, bias = (h.new_zeros(*shape, requires_grad=True) for shape in ((classes, h.shape[1]), (classes,)))
    search = torch.optim.LBFGS([weight, bias], max_iter=_ROUNDS, line_search_fn="strong_wolfe")

    @torch.enable_grad()
    def loss():
        search.zero_grad()
        value = F.cross_entropy(under((weight, bias), h), y) + DECAY * weight.square().sum()
        value.backward()
        return value

    search.step(loss)
    return weight.detach(), bias.detach()


def lengthened(head: Head, like: Head) -> Head:
    """A head as long as another: W keeps its directions and gets the other's length; b stays."""
    return head[0] * (like[0].norm() / head[0].norm()), head[1]
