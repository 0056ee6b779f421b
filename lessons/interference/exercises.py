"""The exercises of chapter 7."""
import math

import torch

from lessons.interference.experiment import results, toy
from lessons.kit.exercise import Exercise, Wrong
from lessons.merging import adaptive


def _vectors():
    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(3, 4, generator=generator)
    uneven = vector * torch.tensor([[1.0], [10.0], [0.1]])
    row = torch.randn(10, generator=generator) - 1
    return [(vector, 0.25), (uneven, 0.5), (row, 0.3), (vector, 1.0), (vector, 0.0)]


def _kept(rank, count=lambda share, entries: int(share * entries + 1e-9)):
    """A wrong answer to 7.1 that keeps the entries with the highest rank(vector)."""
    def wrong(vector, density):
        kept = count(density, vector.numel())
        order = rank(vector).flatten().argsort(descending=True)
        mask = torch.zeros(vector.numel(), dtype=bool)
        mask[order[:kept]] = True
        return torch.where(mask.view(vector.shape), vector, 0.0)
    return wrong


def _by_row(vector, density):
    rows = vector if vector.ndim > 1 else vector[None]
    return torch.stack([toy.trimmed(row, density) for row in rows]).view(vector.shape)


def _stacks():
    generator = torch.Generator().manual_seed(1)
    sizes = torch.tensor([4.0, 1, 1, 1, 1])[:, None, None]
    stack = (torch.randn(5, 3, 4, generator=generator) * sizes * 10).round() / 10
    stack[:, 0, 0] = torch.tensor([3.0, -1, -1, -0.5, 0])  # the largest and the sum say +, the count says −
    stack[:, 0, 1] = torch.tensor([1.0, -1, 0, 0, 0])  # a tie
    stack[:, 0, 2] = 0
    stack[:, 0, 3] = torch.tensor([2.0, -1.5, -1, 0, 0])  # the largest says +, the sum −
    return [(stack,), (stack[:2],)]


def _merge_of(function):
    """A wrong answer to 7.4 that treats the entries that have the elected sign in its own way: function(chosen entries
    with zeros, how many)."""
    def wrong(stack):
        chosen = stack * stack.sum(0).sign() > 0
        return function(stack * chosen, chosen.sum(0))
    return wrong


def _models():
    generator = torch.Generator().manual_seed(2)
    models = []
    for count in (5, 9, 40):
        models.append({"layers.0.weight": torch.randn(3, 2, generator=generator),
                       "layers.0.bias": torch.randn(3, generator=generator),
                       "norm.num_batches_tracked": torch.tensor(count)})
    return [(models,)]


def _of_models(function):
    """A wrong answer to 7.5: function(stack (models, …)) -> the same for every floating-point key."""
    def wrong(finetuned):
        found = {}
        for key, tensor in finetuned[0].items():
            if tensor.is_floating_point():
                found[key] = function(torch.stack([state[key] for state in finetuned]))
        return [{key: tensors[i] for key, tensors in found.items()} for i in range(len(finetuned))]
    return wrong


def _accuracies():
    return [(torch.tensor([0.6, 0.9, 0.3]), torch.tensor([0.8, 0.95, 0.6])),
            (torch.tensor([0.5, 0.5]), torch.tensor([0.5, 1.0]))]


def _logits():
    return [(3 * torch.randn(6, 4, generator=torch.Generator().manual_seed(3)),)]


EXERCISES = [
    Exercise(
        "7.1", "trim by magnitude", 6, toy.trimmed,
        cases=_vectors,
        wrong=[
            Wrong(_kept(lambda vector: vector),
                  "You kept the largest values, so every large negative entry is gone. Magnitude is what counts: "
                  "sort by vector.abs()."),
            Wrong(_kept(lambda vector: -vector.abs()),
                  "You kept the smallest entries. Density is the share of the largest that stays."),
            Wrong(_by_row,
                  "You trimmed every row by itself. Here the share is counted over the whole tensor; whether by "
                  "row, by tensor or over the whole network is one of the choices in which implementations "
                  "differ."),
            Wrong(lambda vector, density: torch.where(vector.abs() >= (1 - density) * vector.abs().max(), vector, 0.0),
                  "You set a threshold as a share of the largest entry. Density counts entries: how many stay, "
                  "whatever their size."),
            Wrong(lambda vector, density: toy.trimmed(vector, 1 - density),
                  "The shares are the wrong way round: density is what stays, not what goes."),
            Wrong(lambda vector, density: (toy.trimmed(vector, density) != 0).to(vector.dtype),
                  "That is the mask. The entries that stay keep their values."),
        ],
        hints=[
            "How many entries stay: int(density * vector.numel()). Mind 0.",
            "The magnitude of the smallest that stays: sort vector.abs().flatten() from large to small and look "
            "up place kept − 1.",
            "torch.where(vector.abs() >= smallest, vector, 0.0).",
        ],
        praise="One vector is now mostly zeros. Two of them trimmed this way rarely meet.",
        tolerance=1e-5),

    Exercise(
        "7.2", "hold a sign vote", 5, toy.elected,
        cases=_stacks,
        wrong=[
            Wrong(lambda stack: stack.sign().sum(0).sign(),
                  "You counted heads: one task, one vote. TIES weighs the votes by magnitude: one task that "
                  "pulls hard outvotes two that hardly care."),
            Wrong(lambda stack: stack.gather(0, stack.abs().argmax(0, keepdim=True))[0].sign(),
                  "You took the sign of the largest entry. It wins often, but several smaller ones together can "
                  "outvote it."),
            Wrong(lambda stack: torch.where(stack.sum(0) >= 0, 1.0, -1.0),
                  "Where the votes sum to exactly 0 nobody is elected: the sign there is 0. (The official code "
                  "and others pick a sign. More of that in the chapter.)"),
            Wrong(lambda stack: stack.sum(0), "That is the sum. Only its sign is elected."),
            Wrong(lambda stack: stack.prod(0).sign(),
                  "You multiplied the signs, as if one negative entry turned the vote. Add up the entries, then "
                  "take the sign."),
        ],
        hints=[
            "Every task votes with its entry: add up over the first dimension.",
            "tensor.sign() is −1, 0 or 1.",
        ],
        praise="Note who is heard: the task whose training moved most.",
        tolerance=1e-6),

    Exercise(
        "7.3", "one entry by hand", 2, 3.0,
        wrong=[
            Wrong(1.0,
                  "That is the plain mean of the two. TIES leaves out the one that lost the vote."),
            Wrong(2.0,
                  "That is the sum, task arithmetic. TIES elects the sign + and then asks only those who have it."),
            Wrong(1.5,
                  "You left out −1 and still divided by two. The mean runs over the tasks that have the elected "
                  "sign, and that is one."),
            Wrong(-1.0, "The vote goes by weight: 3 − 1 is positive, so + is elected."),
        ],
        hints=[
            "The sum is positive, so + is elected.",
            "Mean over the entries that have this sign.",
        ],
        praise="The winner gets its full weight, as if the other did not exist. The loser gets something that it "
               "pulled away from."),

    Exercise(
        "7.4", "the mean of those who won", 6, toy.mean_of_those,
        cases=_stacks,
        wrong=[
            Wrong(_merge_of(lambda chosen, count: chosen.sum(0) / len(chosen)),
                  "You divided by the number of all tasks. Those who lost the vote, or were trimmed, are not "
                  "counted either."),
            Wrong(_merge_of(lambda chosen, count: chosen.sum(0)),
                  "That is the sum of those who have the elected sign (TIES's code calls it “dis-sum”). TIES "
                  "takes their mean."),
            Wrong(lambda stack: stack.mean(0), "That is the plain mean: the vote had no effect."),
            Wrong(_merge_of(lambda chosen, count: chosen.sum(0) / count),
                  "Right, except where nobody is elected: 0 divided by 0 is not a number. There the result is 0."),
            Wrong(_merge_of(lambda chosen, count: chosen.gather(0, chosen.abs().argmax(0, keepdim=True))[0]),
                  "You kept the largest of those who have the elected sign (EMR does that). TIES takes their mean."),
        ],
        hints=[
            "stack * stack.sum(0).sign() > 0 marks the entries that have the elected sign.",
            "Add them up and divide by how many there are.",
            "Where there are none: .clamp(min=1) on the count.",
        ],
        praise="Trim, elect, merge: you have written TIES. All it lacks is λ.",
        tolerance=1e-5),

    Exercise(
        "7.5", "what do you compare with?", 4, results.normalised,
        cases=_accuracies,
        wrong=[
            Wrong(lambda accuracy, own: accuracy.mean() / own.mean(),
                  "You divided the means. Take each task's own share first: a task that is hard for everybody "
                  "must not count for less."),
            Wrong(lambda accuracy, own: (own - accuracy).mean(),
                  "That is what merging costs, in points. Here we want the share that is left."),
            Wrong(lambda accuracy, own: (own / accuracy).mean(),
                  "Upside down: 1 is where merging costs nothing, and less is worse."),
            Wrong(lambda accuracy, own: accuracy / own,
                  "Right for every task; now the mean over them, a single number."),
            Wrong(lambda accuracy, own: accuracy.mean(),
                  "The single models' accuracy does not enter. 60 % on a task that its own model solves with "
                  "60 % is perfect."),
        ],
        hints=[
            "One ratio a task: accuracy / own.",
            "Then their mean.",
        ],
        praise="So all tasks count alike, and all suites can stand on one axis.",
        tolerance=1e-6),

    Exercise(
        "7.6", "centre the models", 6, toy.centred,
        cases=_models,
        wrong=[
            Wrong(_of_models(lambda stack: stack - stack.sum(0)),
                  "You subtracted the sum. The average is the sum divided by the number of models."),
            Wrong(_of_models(lambda stack: stack.mean(0) - stack),
                  "The sign is the wrong way round: θ_t − θ_avg leads from the average to the model."),
            Wrong(_of_models(lambda stack: stack - stack[0]),
                  "You subtracted the first model. CART's point is the average of all of them."),
            Wrong(_of_models(lambda stack: stack - (stack.sum(0) - stack) / (len(stack) - 1)),
                  "You subtracted the average of the other models. All belong into it, this one too."),
            Wrong(_of_models(lambda stack: stack - stack.mean()),
                  "You subtracted one number, the mean of all entries. The average of the models is itself a "
                  "state dict, entry by entry."),
            Wrong(_of_models(lambda stack: stack.mean(0).expand_as(stack)),
                  "That is the average itself. What CART truncates is the way from there to each model."),
        ],
        hints=[
            "For every floating-point key: the mean over the models.",
            "Then, model by model, state[key] − average[key]. Leave “num_batches_tracked” out: it is no weight.",
        ],
        praise="They sum to zero. So added back in full they do nothing at all: the result is the average "
               "whatever λ is. Only what is cut off makes CART differ from it.",
        tolerance=1e-5),

    Exercise(
        "7.7", "how sure is a network?", 6, adaptive.entropy,
        cases=_logits,
        wrong=[
            Wrong(lambda logits: (logits.softmax(1) * logits.log_softmax(1)).sum(1).mean(),
                  "The sign: Σ p·log p is negative, entropy is −Σ p·log p."),
            Wrong(lambda logits: -(logits.softmax(1) * logits.log_softmax(1)).sum(),
                  "You added the samples up. Take the mean over them, or the loss depends on the batch size."),
            Wrong(lambda logits: -(logits.softmax(1) * logits.log_softmax(1)).mean(),
                  "You averaged over classes too. The entropy of one prediction is the sum over classes; then "
                  "the mean over samples."),
            Wrong(lambda logits: -(logits.softmax(0) * logits.log_softmax(0)).sum(1).mean(),
                  "Your probabilities sum to 1 over the samples. They should over the classes, dimension 1."),
            Wrong(lambda logits: -(logits.softmax(1).mean(0) * logits.softmax(1).mean(0).log()).sum(),
                  "You averaged the predictions first: that says whether all classes are used, not whether each "
                  "prediction is sure."),
            Wrong(lambda logits: -logits.log_softmax(1).amax(1).mean(),
                  "That is −log of the largest probability, the loss if the network were always right. Entropy "
                  "weighs all classes by their probability."),
            Wrong(lambda logits: adaptive.entropy(logits) / math.log(2),
                  "Right, in bits. We count in nats: the natural logarithm."),
        ],
        hints=[
            "p = logits.softmax(1), log p = logits.log_softmax(1).",
            "−(p · log p), summed over classes, mean over samples.",
        ],
        praise="No label anywhere: it can be computed, and minimised, on test images.",
        tolerance=1e-5),
]
