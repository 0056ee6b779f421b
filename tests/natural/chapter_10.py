"""Answers to the exercises of chapter 10: wider and deeper networks that compute what they did."""

import torch

from tests.natural import Natural

# -- 10.1 wider ---------------------------------------------------------------------------------------

def outgoing_not_divided(weight, bias, weight_above, copied):
    return (torch.cat([weight, weight[copied]]), torch.cat([bias, bias[copied]]),
            torch.cat([weight_above, weight_above[:, copied]], 1))


def divided_by_two(weight, bias, weight_above, copied):
    above = weight_above.clone()
    above[:, copied] = above[:, copied] / 2
    return (torch.cat([weight, weight[copied]]), torch.cat([bias, bias[copied]]),
            torch.cat([above, weight_above[:, copied] / 2], 1))


def all_divided_by_two(weight, bias, weight_above, copied):
    return (torch.cat([weight, weight[copied]]), torch.cat([bias, bias[copied]]),
            torch.cat([weight_above, weight_above[:, copied]], 1) / 2)


def zeros_for_new_biases(weight, bias, weight_above, copied):
    counts = 1 + torch.bincount(copied, minlength=len(bias))
    which = torch.cat([torch.arange(len(bias)), copied])
    return (weight[which], torch.cat([bias, torch.zeros(len(copied), dtype=bias.dtype)]),
            (weight_above / counts)[:, which])


def both_divided(weight, bias, weight_above, copied):
    counts = 1 + torch.bincount(copied, minlength=len(bias))
    which = torch.cat([torch.arange(len(bias)), copied])
    return (weight / counts[:, None])[which], (bias / counts)[which], (weight_above / counts)[:, which]


def only_new_ones_divided(weight, bias, weight_above, copied):
    counts = 1 + torch.bincount(copied, minlength=len(bias))
    return (torch.cat([weight, weight[copied]]), torch.cat([bias, bias[copied]]),
            torch.cat([weight_above, (weight_above / counts)[:, copied]], 1))


def new_ones_alone(weight, bias, weight_above, copied):
    return weight[copied], bias[copied], weight_above[:, copied]


def zero_outgoing(weight, bias, weight_above, copied):
    return (torch.cat([weight, weight[copied]]), torch.cat([bias, bias[copied]]),
            torch.cat([weight_above, torch.zeros(len(weight_above), len(copied), dtype=bias.dtype)], 1))


def incoming_divided(weight, bias, weight_above, copied):
    counts = 1 + torch.bincount(copied, minlength=len(bias))
    which = torch.cat([torch.arange(len(bias)), copied])
    return (weight / counts[:, None])[which], (bias / counts)[which], weight_above[:, which]


def bias_not_divided(weight, bias, weight_above, copied):
    counts = 1 + torch.bincount(copied, minlength=len(bias))
    which = torch.cat([torch.arange(len(bias)), copied])
    return (weight / counts[:, None])[which], bias[which], weight_above[:, which]


def unequal_shares(weight, bias, weight_above, copied):
    which = torch.cat([torch.arange(len(bias)), copied])
    above = weight_above[:, which] * torch.linspace(1, 2, len(which), dtype=bias.dtype)
    total = torch.zeros_like(bias).index_add(0, which, torch.linspace(1, 2, len(which), dtype=bias.dtype))
    return weight[which], bias[which], above / total[which]


def noise_added(weight, bias, weight_above, copied):
    counts = 1 + torch.bincount(copied, minlength=len(bias))
    which = torch.cat([torch.arange(len(bias)), copied])
    wider = weight[which]
    wider[len(bias):] += 0.1 * torch.ones_like(wider[len(bias):])
    return wider, bias[which], (weight_above / counts)[:, which]


def rows_for_columns(weight, bias, weight_above, copied):
    counts = 1 + torch.bincount(copied, minlength=len(bias))
    which = torch.cat([torch.arange(len(bias)), copied])
    return weight[which], bias[which], (weight_above / counts).T[which]


def not_grown(weight, bias, weight_above, copied):
    return weight, bias, weight_above


WRONG = [
    Natural("10.1", "outgoing weights not divided", outgoing_not_divided, "hears a copied unit several times"),
    Natural("10.1", "divided by two", divided_by_two, "divide by the count"),
    Natural("10.1", "everything divided by two", all_divided_by_two, "You halved all outgoing weights"),
    Natural("10.1", "new biases zero", zeros_for_new_biases, "copy the biases too"),
    Natural("10.1", "both sides divided", both_divided, "One of the two is enough"),
    Natural("10.1", "the new ones alone divided", only_new_ones_divided, "The original is one of the copies"),
    Natural("10.1", "the new ones alone", new_ones_alone, "The old ones stay"),
    Natural("10.1", "new units unheard", zero_outgoing, "nobody listens to the new units"),
    Natural("10.1", "incoming weights without the bias", bias_not_divided, "then the bias comes in as well"),
    Natural("10.1", "with noise", noise_added),
    Natural("10.1", "rows for columns", rows_for_columns, "give back three tensors"),
    Natural("10.1", "as it was", not_grown, "Nothing has grown"),
]
RIGHT = [
    Natural("10.1", "incoming weights and bias divided", incoming_divided),
    Natural("10.1", "unequal shares", unequal_shares),
]
