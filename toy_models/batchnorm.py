"""What a network with BatchNorm is evaluated with: the running statistics it carries, statistics estimated anew, or
those of the batch.

BatchNorm subtracts a channel's mean and divides by its standard deviation. In training both come from the batch; for
evaluation the layer keeps running averages of them. A network whose weights were mixed has never seen a batch: the
averages it inherits, mixed like weights, belong to its parents (Jordan et al. 2023, REPAIR).
"""
import copy

import torch
from torch import Tensor, nn

_BATCH_NORM = nn.modules.batchnorm._BatchNorm


@torch.no_grad()
def reestimated(network: nn.Module, x: Tensor, batch_size: int = 250) -> nn.Module:
    """A copy of the network whose running statistics are the averages over the batches of x (samples, …); weights stay
    as they are.

    Raises:
        ValueError: there is no sample.
    """
    if not len(x):
        raise ValueError("statistics cannot be estimated without a sample")
    network = copy.deepcopy(network)
    for layer in _layers(network):
        layer.reset_running_stats()
        layer.momentum = None  # the plain average over batches
    network.train()
    for batch in x.split(batch_size):
        network(batch)
    for layer in _layers(network):
        layer.momentum = 0.1
    return network.eval()


def with_batch_statistics(network: nn.Module) -> nn.Module:
    """A copy of the network that normalises with the mean and variance of whatever batch it is given, also in
    evaluation. It keeps none.
    """
    network = copy.deepcopy(network)
    for layer in _layers(network):
        layer.track_running_stats = False
        layer.running_mean = layer.running_var = layer.num_batches_tracked = None
    return network.eval()


def _layers(network):
    return [module for module in network.modules() if isinstance(module, _BATCH_NORM)]
