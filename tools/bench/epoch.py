"""The unit of the chapters' budgets: one epoch of chapter 1's MLP, on this machine and in this minute."""
import statistics
import time

import torch

from toy_models import MLP, training

WIDTHS, BATCH = (784, 100, 100, 100, 10), 64
OPERATIONS = 6 * sum((1 + inputs) * outputs for inputs, outputs in zip(WIDTHS, WIDTHS[1:])) * 60_000  # of an epoch


def epoch_seconds(step, inputs: int = WIDTHS[0], outputs: int = WIDTHS[-1], samples: int = 60_000) -> float:
    """Steps over so many samples at batch 64, sample order and copying included; the best of three, in seconds."""
    x, y = torch.rand(samples, inputs), torch.randint(outputs, (samples,))
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for batch in torch.randperm(len(x)).split(BATCH):
            step(x.index_select(0, batch), y.index_select(0, batch))
        best = min(best, time.perf_counter() - start)
    return best


def mlp_epoch_seconds(samples: int = 60_000) -> float:
    """Seconds of one epoch of 60,000 samples as training does it, in float64 and in one thread; fewer samples measure
    it in less time."""
    network = MLP(WIDTHS).double()
    with training.one_thread():
        return epoch_seconds(lambda x, y: network.sgd_step(x, y, 0.1), samples=samples) * 60_000 / samples


def own_product_rate(dtype, repeats: int = 300) -> float:
    """Floating-point operations a second of the MLP's own largest product, a batch of 64 with its first layer."""
    x = torch.rand(BATCH, WIDTHS[0], dtype=dtype)
    weight = torch.rand(WIDTHS[1], WIDTHS[0], dtype=dtype)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        x @ weight.t()
        times.append(time.perf_counter() - start)
    return 2 * BATCH * WIDTHS[0] * WIDTHS[1] / statistics.median(times)
