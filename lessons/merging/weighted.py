"""Averages that weigh every weight by what inputs say of it: Fisher merging and RegMean. `fisher_information` and
`input_products` measure that on a network of linear layers.
"""
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from lessons.merging.registry import Needs, Positive, Share, method
from lessons.merging.states import by_tensor, mean, wide
from toy_models.weights import State

PerModel = Any  # Sequence[Mapping[str, Tensor]], which `_checked` checks itself
NEGLIGIBLE = 1e-12  # of the largest eigenvalue: what lies below is rounding


@method("Fisher merging", short="Fisher", source="Matena and Raffel 2022", needs=[Needs.INPUTS],
        drops="nothing", combines="their mean, every weight weighed by its Fisher information")
def fisher(base: State, finetuned: Sequence[State], *, information: PerModel, floor: Positive = 1e-6) -> State:
    """Σ F_t ∘ θ_t / Σ F_t, entry by entry, where F_t is the diagonal of model t's Fisher information. The paper's
    factor λ_t of every model is 1. Of `base` only BatchNorm's counters are used.

    Args:
        information: one dict a model, {key: F_t} with the shapes of the weights, as `fisher_information` gives it. A
            key that none of them has is averaged.
        floor: what an entry of F_t is at least. Where all are below it, the result is the mean.
    """
    _checked("information", information, base, len(finetuned))

    def merged(key):
        if key not in information[0]:
            return mean(key, finetuned)
        shares = torch.stack([of_model[key].detach().double() for of_model in information]).clamp_(min=floor)
        total = shares.sum(0)
        shares = torch.where(total > 0, shares / total, 1 / len(finetuned))
        return sum(share * state[key].detach().double() for share, state in zip(shares, finetuned))
    return by_tensor(base, merged)


@method("RegMean", source="Jin et al. 2023", needs=[Needs.INPUTS],
        drops="nothing", combines="the layer that comes nearest to all models' outputs")
def regmean(base: State, finetuned: Sequence[State], *, products: PerModel, off_diagonal: Share = 0.9) -> State:
    """(Σ W_t G_t)(Σ G_t)⁻¹ for the weight (out, in) of a linear layer, where G_t = XᵀX is made of the inputs X
    (samples, in) that the layer has in model t; the mean for every other tensor. Of `base` only BatchNorm's counters
    are used.

    With α = 1 it minimises Σ ‖X_t Wᵀ − X_t W_tᵀ‖², otherwise α times that + (1 − α) Σ ‖(W − W_t) diag(G_t)^½‖². Where
    several W do, the one nearest to the mean is taken.

    Args:
        products: one dict a model, {key of a weight: G_t (in, in)}, as `input_products` gives it.
        off_diagonal: what G_t's entries beside its diagonal are multiplied by, the paper's α. 1 leaves G_t as it is.
    """
    _checked("products", products, base, len(finetuned), square=True)

    def merged(key):
        average = mean(key, finetuned)
        if key not in products[0]:
            return average
        average = average.double()
        gram = torch.zeros(average.shape[1], average.shape[1], dtype=torch.float64, device=average.device)
        pulled = torch.zeros_like(average)
        for of_model, state in zip(products, finetuned):
            product = of_model[key].detach().double()
            product = off_diagonal * product + (1 - off_diagonal) * torch.diag(product.diagonal())
            gram += product
            pulled += (wide(state[key]).double() - average) @ product
        return average + pulled @ _inverse(gram)
    return by_tensor(base, merged)


def _inverse(gram: Float64[Tensor, "n n"]) -> Float64[Tensor, "n n"]:
    """Of a symmetric matrix that is not negative, on the directions that it has."""
    values, vectors = torch.linalg.eigh(gram)
    return vectors / torch.where(values > NEGLIGIBLE * values.amax(), values, torch.inf) @ vectors.T


def _checked(name, per_model, base, models, square=False):
    """Refuse what is not one dict of finite tensors a model, all with the same keys, with the shapes that they need."""
    listed = isinstance(per_model, Sequence) and all(isinstance(of_model, Mapping) for of_model in per_model)
    if not listed or len(per_model) != models:
        raise ValueError(f"{name} must be {models} dicts of tensors, one a model")
    for number, of_model in enumerate(per_model, 1):
        if of_model.keys() != per_model[0].keys():
            raise ValueError(f"{name} of model {number} has other keys than that of model 1")
        for key, tensor in of_model.items():
            if key not in base:
                raise ValueError(f"{name} of model {number} has {key!r}, which is no weight of the models")
            shape = tuple(base[key].shape)
            wanted = (shape[-1], shape[-1]) if square and len(shape) == 2 else None if square else shape
            if tuple(tensor.shape) != wanted:
                needed = f"must have the shape {wanted}" if wanted else "is of no matrix"
                raise ValueError(f"{name} of model {number}, {key!r}: it {needed}, and it has {tuple(tensor.shape)}")
            if not tensor.isfinite().all() or (not square and (tensor < 0).any()):
                raise ValueError(f"{name} of model {number}, {key!r}: it must be finite"
                                 f"{'' if square else ' and at least 0'}")


# -- what the inputs say -------------------------------------------------------------------------------

def fisher_information(network: nn.Module, x: Float[Tensor, "samples ..."]) -> dict[str, Tensor]:
    """{key: the diagonal of the Fisher information}, the mean over samples of Σ_c p(c|x) · (∂ log p(c|x) / ∂θ)², with
    all classes counted, so that no label is needed (Matena and Raffel 2022).

    Args:
        network: inputs -> logits (samples, classes); all of its weights belong to linear layers, each used once.
        x: inputs of the task that the network was finetuned on.
    """
    layers = _linear_layers(network)
    with torch.enable_grad():
        seen, made, logits = _recorded(network, layers, x, ask=True)
        scores = logits.log_softmax(1)
        information = {}
        for column in range(scores.shape[1]):
            grads = torch.autograd.grad(scores[:, column].sum(), list(made.values()), retain_graph=True)
            chance = scores[:, column].detach().exp()[:, None]
            for (name, layer), grad in zip(layers.items(), grads):
                squares = chance * grad.square()
                # a sample's gradient is an outer product, so its squares are one too
                of_layer = {"weight": squares.T @ seen[name].square()}
                if layer.bias is not None:
                    of_layer["bias"] = squares.sum(0)
                for part, total in of_layer.items():
                    key = f"{name}.{part}" if name else part
                    information[key] = information.get(key, 0) + total.detach() / len(x)
    return information


def input_products(network: nn.Module, x: Float[Tensor, "samples ..."]) -> dict[str, Tensor]:
    """{key of a weight: XᵀX / samples (in, in)}, X the inputs of its linear layer.

    Args:
        network: as for `fisher_information`.
        x: inputs of the task that the network was finetuned on.
    """
    layers = _linear_layers(network)
    with torch.no_grad():
        seen, _, _ = _recorded(network, layers, x, ask=False)
    return {f"{name}.weight" if name else "weight": inputs.T @ inputs / len(x) for name, inputs in seen.items()}


def _linear_layers(network):
    layers = {name: module for name, module in network.named_modules() if isinstance(module, nn.Linear)}
    known = {id(parameter) for layer in layers.values() for parameter in layer.parameters()}
    if others := [name for name, parameter in network.named_parameters() if id(parameter) not in known]:
        raise ValueError(f"every weight must belong to a linear layer, and {others[0]!r} does not")
    return layers


def _recorded(network, layers, x, ask):
    """({layer: its inputs (samples, in)}, {layer: its outputs}, logits); outputs have gradients where `ask` says so."""
    seen, made = {}, {}

    def hook(name):
        def record(module, inputs, output):
            if name in seen or inputs[0].ndim != 2:
                raise ValueError(f"layer {name!r} must be used once, on inputs (samples, entries)")
            seen[name] = inputs[0].detach()
            made[name] = output.requires_grad_() if ask and not output.requires_grad else output
            return made[name]
        return record

    hooks = [layer.register_forward_hook(hook(name)) for name, layer in layers.items()]
    try:
        return seen, made, network(x)
    finally:
        for handle in hooks:
            handle.remove()
