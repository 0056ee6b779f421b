"""Mistakes in centring models, which exercises 7.6 and 8.2 have in common: θ_t − θ_avg of state dicts that hold a
counter, "norm.num_batches_tracked", beside floating-point tensors. Whole-number tensors are to be carried over as they
are."""
import torch

from lessons.kit.exercise import Wrong
from toy_models.weights import average, subtract


def _centred(states):
    """The right answer."""
    mean = average(states)
    return [subtract(state, mean) for state in states]


def _of_every_key(states):
    """{key: θ_t − θ_avg (models, …)}, counters too."""
    stacks = {key: torch.stack([state[key] for state in states]) for key in states[0]}
    return {key: stack - stack.float().mean(0) for key, stack in stacks.items()}


def _counters_too(states):
    centred = _of_every_key(states)
    return [{key: stack[i] for key, stack in centred.items()} for i in range(len(states))]


def _ending_in(*words):
    """A wrong answer that leaves the keys out that end otherwise."""
    def wrong(states):
        return [{key: tensor for key, tensor in state.items() if key.endswith(words)}
                for state in _counters_too(states)]
    return wrong


def _with_counters(function):
    """A wrong answer that is right but for the counters: function(counters (models,)) -> theirs."""
    def wrong(states):
        name = "norm.num_batches_tracked"
        counters = function(torch.stack([state[name] for state in states]))
        return [state | {name: counter} for state, counter in zip(_centred(states), counters)]
    return wrong


def _all_but(left):
    """A wrong answer that carries more over than counters: left(key, tensor) -> whether."""
    def wrong(states):
        return [{key: state[key] if left(key, state[key]) else tensor for key, tensor in vector.items()}
                for state, vector in zip(states, _centred(states))]
    return wrong


MISTAKES = (
    Wrong(_ending_in("weight", "bias"),
          "The weights are right, and the counter is gone. Whole-number tensors are carried over as they are."),
    Wrong(_ending_in("weight"),
          "Only the weights are there. Biases are parameters too, and counters are carried over as they are."),
    Wrong(_with_counters(torch.zeros_like),
          "The counter became 0: whole-number tensors are no weights, and are carried over as they are."),
    Wrong(_counters_too,
          "You subtracted the average from the counters too. They are no weights: each model keeps its own."),
    Wrong(_with_counters(lambda counters: counters[:1].expand_as(counters)),
          "Every model got the first one's counter. Carry over each model's own."),
    Wrong(_with_counters(lambda counters: counters[-1:].expand_as(counters)),
          "Every model got the last one's counter. Carry over each model's own."),
    Wrong(_with_counters(lambda counters: counters.float().mean().expand_as(counters)),
          "You averaged the counters. They are no weights: carry over each model's own."),
    Wrong(lambda states: [average(states) for _ in states],
          "You returned the average once for every model. Asked is what leads from there to each of them."),
    Wrong(lambda states: [{key: torch.stack([state[key].float() for state in states]).mean(0) for key in states[0]}
                          for _ in states],
          "That is the average itself, of the counters too. Asked is the way from there to each model, with its "
          "own counters."),
    Wrong(_all_but(lambda key, tensor: "bias" in key),
          "You carried the biases over. They are parameters like the others: subtract their average too."),
    Wrong(_all_but(lambda key, tensor: tensor.ndim < 2),
          "You centred the matrices alone. Vectors of weights have an average too: only whole-number tensors are "
          "carried over."),
    Wrong(lambda states: _centred(states)[0],
          "That is the first of them, alone. Asked is a list, one state dict a model."),
    Wrong(lambda states: [{key: tensor - torch.stack([other[key] for other in states]).mean(0)
                           for key, tensor in state.items()} for state in states],
          "torch has no mean of whole numbers, and the counter is one. It is no weight: carry it over as it is, and "
          "average the floating-point tensors alone."),
    Wrong(_of_every_key,
          "One dict with all models stacked. Asked is a list of state dicts, one a model."),
)
