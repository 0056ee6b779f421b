"""Answers to the exercise of chapter 0: α·a + (1 − α)·b."""
import numpy as np
import torch

from tests.natural import Natural

WRONG = [
    Natural("0.1", "shares exchanged", lambda a, b, alpha: alpha * b + (1 - alpha) * a, "Right idea, other end"),
    Natural("0.1", "parentheses forgotten", lambda a, b, alpha: alpha * a + 1 - alpha * b, "needs parentheses"),
    Natural("0.1", "starts at a, towards a − b", lambda a, b, alpha: a + alpha * (a - b), "away from b"),
    Natural("0.1", "starts at a, towards b", lambda a, b, alpha: a + alpha * (b - a), "Right idea, other end"),
    Natural("0.1", "starts at b, the wrong way", lambda a, b, alpha: b + alpha * (b - a), "away from a"),
    Natural("0.1", "torch.lerp as it reads", torch.lerp, "Right idea, other end"),
    Natural("0.1", "half of each", lambda a, b, alpha: (a + b) / 2, "half-way point"),
    Natural("0.1", "the weighted mean halved", lambda a, b, alpha: (alpha * a + (1 - alpha) * b) / 2, "Yours is half"),
    Natural("0.1", "only a's part", lambda a, b, alpha: alpha * a, "That is a's share"),
    Natural("0.1", "alpha on the difference", lambda a, b, alpha: alpha * (a - b), "begins at b"),
    Natural("0.1", "sum of both shares alpha", lambda a, b, alpha: alpha * a + alpha * b, "Both get the share α"),
    Natural("0.1", "the nearer end", lambda a, b, alpha: a if alpha > 0.5 else b),
    Natural("0.1", "in place", lambda a, b, alpha: a.mul_(alpha).add_(b, alpha=1 - alpha), "in place"),
    Natural("0.1", "as a Python sum", lambda a, b, alpha: sum([alpha * a, (1 - alpha) * b]).sum(), "one sum too far"),
    Natural("0.1", "rounded", lambda a, b, alpha: (alpha * a + (1 - alpha) * b).round(), "rounded"),
    Natural("0.1", "float16", lambda a, b, alpha: (alpha * a + (1 - alpha) * b).half(), "rounds it to float16"),
    Natural("0.1", "a's share added to b", lambda a, b, alpha: b + alpha * a, "to the whole of b"),
    Natural("0.1", "printed", lambda a, b, alpha: print(end=""), "returned nothing yet"),
]

RIGHT = [
    Natural("0.1", "another order", lambda a, b, alpha: b + alpha * (a - b)),
    Natural("0.1", "lerp from b", lambda a, b, alpha: torch.lerp(b, a, alpha)),
    Natural("0.1", "numpy", lambda a, b, alpha: alpha * np.asarray(a) + (1 - alpha) * np.asarray(b)),
    Natural("0.1", "lists", lambda a, b, alpha: [alpha * x + (1 - alpha) * y for x, y in zip(a.tolist(), b.tolist())],
            "On what this cell gives it, your function stops with TypeError"),  # a matrix
    Natural("0.1", "with a graph", lambda a, b, alpha: alpha * a.clone().requires_grad_() + (1 - alpha) * b),
    Natural("0.1", "in float64", lambda a, b, alpha: alpha * a.double() + (1 - alpha) * b.double()),
]
