"""A network and its tangent: f̄_θ(x) = f_θ0(x) + ⟨∇f_θ0(x), θ − θ_0⟩, a network in its own right that is linear in θ
(LFT, “linearized fine-tuned model”)."""
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lessons.linearization.algorithms.networks import Inputs, Net, Outputs, Trace, Weights
from toy_models.weights import State

Function = Callable[[Tensor], Tensor]


def tangent(f: Function, theta_0: Float[Tensor, " parameters"]) -> Function:
    """The tangent of f at θ_0: θ ↦ f(θ_0) + J·(θ − θ_0), for any differentiable f of a vector. No J is made.

    Args:
        f: θ ↦ the answers to some samples, of any shape.
    """
    return lambda theta: sum(torch.func.jvp(f, (theta_0,), (theta - theta_0,)))


def tangent_of_module(network: nn.Module, x: Tensor) -> Callable[[State], Tensor]:
    """The tangent of any torch module at the weights that it has now, on the inputs x: state dict ↦ answers.

    Raises:
        ValueError: the module has BatchNorm in training mode: then a sample's answer depends on the others in its
            batch, and its derivative is another one.
    """
    refuse_batch_statistics(network)
    start = {key: tensor.detach() for key, tensor in network.named_parameters()}
    buffers = dict(network.named_buffers())

    def answers(state):
        return torch.func.functional_call(network, {**buffers, **state}, (x,))

    def linear(state):
        step = {key: state[key] - tensor for key, tensor in start.items()}
        return sum(torch.func.jvp(answers, (start,), (step,)))
    return linear


def refuse_batch_statistics(network: nn.Module) -> None:
    """Refuse a network whose BatchNorm normalises with the batch.

    Raises:
        ValueError: it does; the message names the layer.
    """
    for name, module in network.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.training:
            raise ValueError(f"{name!r} is BatchNorm in training mode: the answer to one sample then depends on the "
                             "others in its batch, and so does its derivative. Call network.eval() first")


class Tangent:
    """The tangent of a small network on fixed samples: the pass through the network at θ_0 is made once, and every
    answer and every gradient after that needs no other.

    Args:
        net: the network.
        theta_0: where it is taken.
        x: the samples.
    """

    def __init__(self, net: Net, theta_0: Float[Tensor, " parameters"], x: Inputs):
        self.theta_0 = theta_0
        self.at_start: Trace = net.trace(theta_0, x)

    def __call__(self, theta: Weights) -> Outputs:
        """f̄_θ(x)."""
        return self.at_start.outputs + self.at_start.along(theta - self.theta_0)


def gap(f: Outputs, linear: Outputs) -> Tensor:
    """How far a network's answers are from a linear model's: the root mean square over samples of ‖f(x) − f̄(x)‖.

    Two gaps are told apart in this chapter. The *trained gap* compares f_θ with f̄_θ̄, the tangent trained on its own
    (LFT, Theorem 3); the *Taylor gap* compares f_θ with f̄_θ, the tangent at the network's own weights.

    Args:
        f, linear: answers.

    Returns:
        (…), in the answers' unit.
    """
    return (f - linear).square().sum(-1).mean(-1).sqrt()
