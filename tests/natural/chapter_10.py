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


def root_shares(weight, bias, weight_above, copied):
    which = torch.cat([torch.arange(len(bias)), copied])
    return weight[which], bias[which], (weight_above / torch.bincount(which).sqrt())[:, which]


def divided_bias(weight, bias, weight_above, copied):
    which = torch.cat([torch.arange(len(bias)), copied])
    count = torch.bincount(which)
    return weight[which], (bias / count)[which], (weight_above / count)[:, which]


def copies_first(weight, bias, weight_above, copied):
    which = torch.cat([copied, torch.arange(len(bias))])
    return weight[which], bias[which], (weight_above / torch.bincount(which))[:, which]


# -- 10.2 shared --------------------------------------------------------------------------------------

def in_a_loop(weight_above, which, drawn):
    new = torch.empty(len(weight_above), len(which), dtype=weight_above.dtype)
    for place, unit in enumerate(which.tolist()):
        new[:, place] = weight_above[:, unit] * drawn[place] / drawn[which == unit].sum()
    return new


def of_groups(share):
    """Outgoing weights times share(numbers of one unit's copies)."""
    def answer(weight_above, which, drawn):
        new = weight_above[:, which]
        for unit in which.unique():
            new[:, which == unit] *= share(drawn[which == unit])
        return new
    return answer


def new_ones_share(weight_above, which, drawn):
    new = in_a_loop(weight_above, which, drawn)
    new[:, :weight_above.shape[1]] = weight_above
    return new


def added_in_place(weight_above, which, drawn):
    sums = drawn.new_zeros(weight_above.shape[1])
    sums[which] += drawn
    return weight_above[:, which] * drawn / sums[which]


def on_the_units(weight_above, which, drawn):
    total = torch.zeros(weight_above.shape[1], dtype=drawn.dtype).index_add(0, which, drawn)
    return weight_above / total * drawn[:weight_above.shape[1]]


# -- 10.3 silent --------------------------------------------------------------------------------------

def halved(block):
    return {name: tensor / 2 for name, tensor in block.items()}


def fresh_inside(block):
    generator = torch.Generator().manual_seed(0)
    fresh = {name: torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
             for name, tensor in block.items() if name.startswith("into.")}
    return fresh | {name: 0 * tensor for name, tensor in block.items() if name.startswith("out.")}


def zeros(block, *names):
    return block | {name: torch.zeros_like(block[name]) for name in names}


WRONG = [
    Natural("10.1", "outgoing weights not divided", outgoing_not_divided, "hears a copied unit several times"),
    Natural("10.1", "divided by two", divided_by_two, "divide by the count"),
    Natural("10.1", "everything divided by two", all_divided_by_two, "You halved all outgoing weights"),
    Natural("10.1", "new biases zero", zeros_for_new_biases, "copy the biases too"),
    Natural("10.1", "bias divided", divided_bias, "a copy has the whole bias"),
    Natural("10.1", "both sides divided", both_divided, "One of the two is enough"),
    Natural("10.1", "the new ones alone divided", only_new_ones_divided, "The original is one of the copies"),
    Natural("10.1", "the new ones alone", new_ones_alone, "The old ones stay"),
    Natural("10.1", "new units unheard", zero_outgoing, "nobody listens to the new units"),
    Natural("10.1", "incoming weights without the bias", bias_not_divided, "then the bias comes in as well"),
    Natural("10.1", "with noise", noise_added),
    Natural("10.1", "rows for columns", rows_for_columns, "give back three tensors"),
    Natural("10.1", "roots for shares", root_shares),
    Natural("10.1", "copies before originals", copies_first, "Put the old units first"),
    Natural("10.1", "as it was", not_grown, "Nothing has grown"),
    Natural("10.2", "times the number drawn", lambda above, which, drawn: above[:, which] * drawn,
            "have to add up to 1"),
    Natural("10.2", "normalised over all units", lambda above, which, drawn: above[:, which] * drawn / drawn.sum(),
            "the sum over all units"),
    Natural("10.2", "equal shares", lambda above, which, drawn: (above / torch.bincount(which))[:, which],
            "These shares are equal"),
    Natural("10.2", "by the count", lambda above, which, drawn: above[:, which] * drawn / torch.bincount(which)[which],
            "how many copies there are"),
    Natural("10.2", "a softmax", lambda above, which, drawn: above[:, which] * torch.softmax(drawn, 0),
            "A softmax over all units"),
    Natural("10.2", "the whole weight each", lambda above, which, drawn: above[:, which], "hears a copied unit"),
    Natural("10.2", "turned", lambda above, which, drawn: in_a_loop(above, which, drawn).T, "Rows and columns"),
    Natural("10.2", "old units alone", on_the_units),
    Natural("10.2", "squared", of_groups(lambda drawn: drawn ** 2 / (drawn ** 2).sum())),
    Natural("10.2", "a softmax of each unit's copies", of_groups(lambda drawn: drawn.softmax(0)), "of exponentials"),
    Natural("10.2", "added in place", added_in_place, "does not add up"),
    Natural("10.2", "over the largest", of_groups(lambda drawn: drawn / drawn.max())),
    Natural("10.2", "over the mean", of_groups(lambda drawn: drawn / drawn.mean())),
    Natural("10.2", "what the others leave", of_groups(lambda drawn: 1 - drawn / drawn.sum())),
    Natural("10.2", "originals whole", new_ones_share),
    Natural("10.3", "as it is", lambda block: block, "still adds what it added before"),
    Natural("10.3", "all zeros", lambda block: {name: 0 * tensor for name, tensor in block.items()},
            "only its last bias can learn"),
    Natural("10.3", "weights alone", lambda block: zeros(block, "out.weight"), "its bias is still added"),
    Natural("10.3", "bias alone", lambda block: zeros(block, "out.bias"), "its weights still pass on"),
    Natural("10.3", "the first layer", lambda block: zeros(block, "into.weight", "into.bias"),
            "With the first layer at 0"),
    Natural("10.3", "the identity", lambda block: zeros(block, "out.bias") | {
        "out.weight": torch.eye(len(block["out.weight"]), dtype=block["out.weight"].dtype)}, "right for a plain layer"),
    Natural("10.3", "nothing inside", lambda block: zeros(block, "into.weight", "into.bias", "out.bias"),
            "only its last bias can learn"),
    Natural("10.3", "halves", halved),
    Natural("10.3", "a dead ReLU", lambda block: zeros(block, "out.weight", "out.bias") | {
        "into.bias": block["into.bias"] - 1e3}, "only its last bias can learn"),
    Natural("10.3", "almost nothing", lambda block: block | {name: 1e-3 * block[name]
                                                             for name in ("out.weight", "out.bias")}),
    Natural("10.3", "next to nothing", lambda block: block | {name: 1e-9 * block[name]
                                                              for name in ("out.weight", "out.bias")}),
    Natural("10.3", "imaginary", lambda block: block | {name: 1j * block[name] for name in ("out.weight", "out.bias")},
            "yours are complex"),
    Natural("10.3", "the opposite", lambda block: block | {name: -block[name] for name in ("out.weight", "out.bias")},
            "takes away what it added"),
    Natural("10.3", "both biases", lambda block: zeros(block, "into.bias", "out.bias"), "Both biases are 0"),
    Natural("10.3", "the first layer's tensors alone", lambda block: {
        name: block[name] for name in ("into.weight", "into.bias")}, "give back a dictionary"),
    Natural("10.3", "a list", lambda block: list(block.values()), "give back a dictionary"),
]
RIGHT = [
    Natural("10.1", "incoming weights and bias divided", incoming_divided),
    Natural("10.1", "unequal shares", unequal_shares),
    Natural("10.2", "in a loop", in_a_loop),
    Natural("10.3", "new weights inside", fresh_inside),
    Natural("10.3", "the identity inside", lambda block: zeros(block, "into.bias", "out.weight", "out.bias") | {
        "into.weight": torch.eye(len(block["into.weight"]), dtype=block["into.weight"].dtype)}),
]
