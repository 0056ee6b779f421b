"""The exercises of chapter 7."""
import math

import torch

from lessons import centring
from lessons.interference.experiment import results, toy
from lessons.kit.exercise import Exercise, Wrong
from lessons.merging import adaptive


def _vectors():
    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(3, 4, generator=generator)
    uneven = vector * torch.tensor([[1.0], [10.0], [0.1]])
    row = torch.randn(10, generator=generator) - 1
    short = torch.tensor([-3.0, 0.5, 2.0, -1.0])
    return [(vector, 0.25), (uneven, 0.5), (row, 0.32), (row, 0.37), (short, 0.7), (vector, 1.0), (vector, 0.0)]


def trimmed(vector, density):
    kept = math.floor(density * vector.numel())
    if kept == 0:
        return torch.zeros_like(vector)
    smallest = vector.abs().flatten().sort(descending=True).values[kept - 1]
    return torch.where(vector.abs() >= smallest, vector, 0.0)


def _kept(rank, count=lambda share, entries: int(share * entries + 1e-9)):
    """A wrong answer to 7.1 that keeps the entries with the highest rank(vector)."""
    def wrong(vector, density):
        kept = count(density, vector.numel())
        order = rank(vector).flatten().argsort(descending=True)
        mask = torch.zeros(vector.numel(), dtype=bool)
        mask[order[:kept]] = True
        return torch.where(mask.view(vector.shape), vector, 0.0)
    return wrong


def _above(bound):
    """A wrong answer to 7.1 that keeps what is at least as large as a bound: (magnitudes, density, n) -> bound."""
    def wrong(vector, density):
        size = vector.abs()
        return torch.where(size >= bound(size, density, vector.numel()), vector, 0.0)
    return wrong


def _last_place(size, density, entries):
    """The smallest magnitude kept, and at density 0 that of all."""
    return size.flatten().sort(descending=True).values[int(density * entries + 1e-9) - 1]


def _from_below(vector, density):
    kept = int(density * vector.numel() + 1e-9)
    if kept == 0:
        return torch.zeros_like(vector)
    return torch.where(vector.abs() >= vector.abs().flatten().sort().values[kept - 1], vector, 0.0)


def _magnitude(vector):
    return vector.abs()


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
    small = torch.tensor([[3.0, 1.0, -2.0, 2.0],
                          [-1.0, -1.0, 1.5, 1.0],
                          [-1.0, 0.0, 0.2, 0.0]])
    return [(stack,), (stack[:2],), (small,)]


def _ties_to_the_majority(stack):
    sign = stack.sum(0).sign()
    return torch.where(sign == 0, sign.sum().sign(), sign)


def _mean_where(chosen):
    """A wrong answer to 7.4 that takes the mean over other entries: chosen(stack) -> which."""
    def wrong(stack):
        which = chosen(stack)
        return (stack * which).sum(0) / which.sum(0).clamp(min=1)
    return wrong


def _median_of_those(stack):
    chosen = stack * stack.sum(0).sign() > 0
    return torch.where(chosen, stack, torch.nan).nanmedian(0).values.nan_to_num()


def _agreeing(stack):
    """The entries whose sign is that of the sum, zeros too where the sum is 0."""
    return stack.sign() == stack.sum(0).sign()


def _merge_of(function):
    """A wrong answer to 7.4 that treats the entries that have the elected sign in its own way: function(chosen entries
    with zeros, how many)."""
    def wrong(stack):
        chosen = stack * stack.sum(0).sign() > 0
        return function(stack * chosen, chosen.sum(0))
    return wrong


def _models():
    generator = torch.Generator().manual_seed(2)
    small = [{"weight": torch.tensor(values), "norm.num_batches_tracked": torch.tensor(9)}
             for values in ([1.0, -2.0], [2.0, 4.0])]
    small[1]["norm.num_batches_tracked"] += 2  # the average of the counters is whole, as it is below
    models = [{"layers.0.weight": torch.randn(3, 2, generator=generator),
               "layers.0.bias": torch.randn(3, generator=generator),
               "norm.num_batches_tracked": torch.tensor(batches)} for batches in (7, 9, 14)]
    return [(models,), (small,)]


def _of_models(function):
    """A wrong answer to 7.6 that carries the counters over: function(stack (models, …)) -> the same for every
    floating-point key."""
    def wrong(finetuned):
        states = [dict(state) for state in finetuned]
        for key, tensor in finetuned[0].items():
            if tensor.is_floating_point():
                for state, result in zip(states, function(torch.stack([one[key] for one in finetuned]))):
                    state[key] = result
        return states
    return wrong


def _so_far(stack):
    return torch.stack([stack[i] - stack[:i + 1].mean(0) for i in range(len(stack))])


def _one_by_one(stack):
    """Takes the average again while the models change."""
    stack = stack.clone()
    for place in range(len(stack)):
        stack[place] = stack[place] - stack.mean(0)
    return stack


def _accuracies():
    return [(torch.tensor([0.6, 0.9, 0.3]), torch.tensor([0.8, 0.95, 0.6])),
            (torch.tensor([0.5, 0.5]), torch.tensor([0.5, 1.0])),
            (torch.tensor([0.9, 0.6]), torch.tensor([0.6, 0.8]))]


def _logits():
    small = torch.tensor([[0.0, 0.0, 0.0], [2.0, 0.5, -1.0]])
    sure = torch.tensor([[60.0, -60.0, 0.0], [1.0, 2.0, 0.0]])  # one p is 0 in float32
    return [(3 * torch.randn(6, 4, generator=torch.Generator().manual_seed(3)),), (small,), (sure,)]


def _entropy_of(probabilities, dim=1):
    """−Σ p·log p over one dimension."""
    return -(probabilities * probabilities.log()).sum(dim)


EXERCISES = [
    Exercise(
        "7.1", "trim by magnitude", 6, toy.trimmed, teaching=trimmed,
        cases=_vectors,
        wrong=[
            Wrong(_kept(lambda vector: vector),
                  "You kept the largest values, so every large negative entry is gone. Magnitude is what counts: "
                  "sort by vector.abs()."),
            Wrong(lambda vector, density: vector * (vector >= _last_place(vector, density, vector.numel())),
                  "You sorted the values with their signs, so every large negative entry is gone. Sort by "
                  "vector.abs(), and mind density 0, where no entry stays."),
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
            Wrong(_kept(_magnitude, lambda share, entries: math.ceil(share * entries - 1e-9)),
                  "You rounded the count up. ⌊…⌋ rounds down: of 4 entries at density 0.7 two stay."),
            Wrong(_kept(_magnitude, lambda share, entries: round(share * entries)),
                  "You rounded the count to the nearest whole number. ⌊…⌋ rounds down."),
            Wrong(_kept(_magnitude, lambda share, entries: int(share * entries + 1e-9) + 1),
                  "One too many stays. TIES's released code does that too: it takes the largest that goes as the "
                  "bound and keeps what is as large. The paper keeps ⌊density · n⌋."),
            Wrong(_kept(_magnitude, lambda share, entries: max(1, int(share * entries + 1e-9))),
                  "Right, except that one entry always stays. At density 0 nothing should."),
            Wrong(_kept(_magnitude, lambda share, entries: max(0, int(share * entries + 1e-9) - 1)),
                  "One too few stays: the smallest of the kept ones is as large as the bound, so compare with >=."),
            Wrong(_above(lambda size, density, entries: size.quantile(1 - density)),
                  "A quantile lies between two entries, and how many lie above it is not always ⌊density · n⌋: at "
                  "density 0 it is the largest entry, which stays. Count the entries first."),
            Wrong(lambda vector, density: vector * (vector.abs() > vector.abs().quantile(1 - density)),
                  "A quantile lies between two entries, and how many lie above it is not always ⌊density · n⌋: at "
                  "density 1 it is the smallest entry, which goes. Count the entries first."),
            Wrong(_above(_last_place),
                  "Right, except at density 0: there kept − 1 is −1, and place −1 is the last, so everything stays."),
            Wrong(_kept(_magnitude, lambda share, entries: entries - int(share * entries + 1e-9)),
                  "You set ⌊density · n⌋ entries to 0. That is how many stay."),
            Wrong(_from_below,
                  "You counted from the smallest magnitude upwards (kthvalue does). Count from the largest down."),
            Wrong(_above(lambda size, density, entries: density),
                  "You compared the entries themselves with density. It is a share of their number: how many stay, "
                  "whatever their size."),
            Wrong(_above(lambda size, density, entries: density * size.max()),
                  "You compared with density times the largest entry. Density is a share of the number of entries: "
                  "how many stay, whatever their size."),
            Wrong(lambda vector, density: vector - toy.trimmed(vector, density),
                  "You set the largest to 0 and kept the rest. It is the largest that stay."),
            Wrong(lambda vector, density: _kept(_magnitude, lambda share, _: int(share * len(vector)))(vector, density),
                  "len(vector) is the length of the first dimension. The n of ⌊density · n⌋ is the number of all "
                  "entries."),
            Wrong(lambda vector, density: toy.trimmed(vector, density) / (density or 1.0),
                  "You divided what stays by the density, as dropout and DARE do. TIES leaves it as it was."),
            Wrong(lambda vector, density: toy.trimmed(vector, density).flatten(),
                  "The right entries, but flat: give them back in the shape of the vector."),
            Wrong(lambda vector, density: vector[toy.trimmed(vector, density) != 0],
                  "Those are the entries that stay, alone. The others stay in their places too, as zeros."),
            Wrong(lambda vector, density: vector * (vector.abs() > (1 - density) * vector.abs().max()),
                  "Your bound is a share of the largest magnitude, so how many stay depends on the values. Density is "
                  "a share of the number of entries."),
        ],
        hints=[
            "How many entries stay: int(density * vector.numel()). Mind 0.",
            "The magnitude of the smallest that stays: sort vector.abs().flatten() from large to small and look "
            "up place kept − 1.",
            "torch.where(vector.abs() >= smallest, vector, 0.0).",
        ],
        praise="One vector is now mostly zeros, so fewer of its entries can meet another task’s.",
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
                  "and others pick a sign. The deeper notebook compares them.)"),
            Wrong(lambda stack: stack.sum(0), "That is the sum. Only its sign is elected."),
            Wrong(lambda stack: stack.prod(0).sign(),
                  "You multiplied the signs, as if one negative entry turned the vote. Add up the entries, then "
                  "take the sign."),
            Wrong(lambda stack: stack.sign().sum(0),
                  "You counted heads and left it at the count. The votes are weighed by magnitude, and only the sign "
                  "of their sum is asked."),
            Wrong(lambda stack: stack.amax(0).sign(),
                  "You took the sign of the largest value, so a minus wins only where all are negative. Add up "
                  "the entries, then take the sign."),
            Wrong(lambda stack: torch.where(stack.sum(0) > 0, 1.0, -1.0),
                  "Where the votes sum to exactly 0 you elected −1. Nobody is elected there: the sign is 0."),
            Wrong(_ties_to_the_majority,
                  "You broke ties by what most other entries have, as the released code does. Here a sum of 0 "
                  "elects nobody: the sign is 0."),
            Wrong(lambda stack: stack.sum(-1).sign(),
                  "You summed over the last dimension. The tasks are dimension 0: every entry holds its own vote."),
            Wrong(lambda stack: stack.sum(1).sign(),
                  "You summed over dimension 1. The tasks are dimension 0: every entry holds its own vote."),
            Wrong(lambda stack: stack.sign().mean(0),
                  "You averaged the signs: one task, one vote. Add up the entries over the tasks, then take the sign."),
            Wrong(lambda stack: stack.sum().sign(),
                  "Without a dimension, sum() and mean() take everything. Every entry votes alone, over dimension 0."),
            Wrong(lambda stack: stack.sum(0) > 0,
                  "True and False cannot tell −1 from 0. Return the sign of the sum."),
            Wrong(lambda stack: stack.median(0).values.sign(),
                  "You took the sign of the median, so a task with one large entry is not heard. Add the entries up."),
            Wrong(lambda stack: stack.sign().mode(0).values,
                  "You took the commonest sign: one task, one vote. TIES weighs the votes by magnitude."),
            Wrong(lambda stack: (stack * stack.abs()).sum(0).sign(),
                  "You weighed every vote by its square. The entry itself is the vote."),
            Wrong(lambda stack: stack.sign(),
                  "Those are the votes, one a task. Add up the entries over the tasks before you take the sign."),
            Wrong(lambda stack: torch.where((stack.sign() == stack[0].sign()).all(0), stack[0].sign(), 0.0),
                  "You elect a sign only where all tasks agree. A vote needs no agreement: the sum decides."),
            Wrong(lambda stack: stack.abs().sum(0).sign(),
                  "You took the magnitudes before you summed, so nobody votes for minus."),
            Wrong(lambda stack: stack.flatten(1).sum(1).sign(),
                  "You summed the entries of every task, which gives one sign a task. Sum over the tasks: one sign an "
                  "entry is asked."),
        ],
        hints=[
            "Every task votes with its entry: add up over the first dimension.",
            "tensor.sign() is −1, 0 or 1.",
        ],
        praise="Note who is heard: a task with one large entry can outvote several with small ones.",
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
            Wrong(0.0, "A conflict does not cost the entry: the vote is there to decide it. Which sign has the sum?"),
            Wrong(4.0, "You added the magnitudes. Only entries that have the elected sign are asked."),
            Wrong("+", "That is the sign that is elected. Which value does the entry get?"),
            Wrong([3.0, 0.0], "The merged network has one value there, not one a task: the mean of those who won."),
            Wrong(-3.0, "Which sign has the sum of the two? That sign is elected, and who has it keeps it."),
            Wrong(-2.0, "The sum of the two is positive, so the sign − is not elected. And the last step takes a mean, "
                        "not a sum."),
            Wrong(2.25, "You weighed the winner by its share of the magnitudes. Magnitudes weigh in the vote alone: "
                        "the mean that follows is a plain one."),
            Wrong(1.2, "You scaled the result by λ. That comes after TIES’s three steps and is not asked here."),
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
                  "Right, except where nobody is elected: 0 divided by 0 is nan, not a number. There it is 0."),
            Wrong(_merge_of(lambda chosen, count: chosen.gather(0, chosen.abs().argmax(0, keepdim=True))[0]),
                  "You kept the largest of those who have the elected sign (EMR does that). TIES takes their mean."),
            Wrong(_mean_where(lambda stack: stack * stack.sign().sum(0).sign() > 0),
                  "You elected the sign by heads. The vote is weighed: the elected sign is that of the sum."),
            Wrong(_mean_where(lambda stack: stack * stack.sum(0).sign() >= 0),
                  "With >= the zeros count as winners and pull the mean down. A trimmed entry has no sign: use >."),
            Wrong(_mean_where(lambda stack: stack > 0),
                  "You took the positive entries everywhere. Where the sum is negative, the negative ones have won."),
            Wrong(_mean_where(lambda stack: stack * stack.sum(0).sign() < 0),
                  "Those are the entries that lost the vote: the elected sign times theirs is negative."),
            Wrong(_mean_where(lambda stack: stack * stack.sum().sign() > 0),
                  "You elected one sign for all entries. Every entry holds its own vote: sum over dimension 0."),
            Wrong(_merge_of(lambda chosen, count: chosen.abs().sum(0) / count.clamp(min=1)),
                  "You averaged magnitudes: where minus is elected the result is negative."),
            Wrong(_merge_of(lambda chosen, count: chosen.sum() / count.sum()),
                  "A boolean index makes one long list, and its mean is a single number. Entry by entry is asked: "
                  "multiply by the mask and sum over dimension 0."),
            Wrong(_merge_of(lambda chosen, count: chosen.sum(0) / (count + 1)),
                  "One too many in the count, everywhere. clamp(min=1) raises it only where nobody has won."),
            Wrong(_median_of_those,
                  "That is the median of those who have the elected sign. TIES takes their mean."),
            Wrong(lambda stack: stack.sum(0).sign() * stack.abs().mean(0),
                  "The elected sign times the mean magnitude of all: the losers still count, with their sign turned. "
                  "They are to be left out."),
            Wrong(lambda stack: stack.sum(0) / (stack * stack.sum(0).sign() > 0).sum(0).clamp(min=1),
                  "You divided by how many have won, but summed over everybody. Set the losers to 0 before the sum."),
            Wrong(lambda stack: (stack * (stack * stack.sum(0).sign() > 0)).sum(0) / (stack != 0).sum(0).clamp(min=1),
                  "You divided by the number of entries that are not 0. The losers among them are not counted either."),
            Wrong(lambda stack: stack * stack.sum(0).sign() > 0,
                  "That mask says who has won. Now the mean over them, entry by entry."),
            Wrong(lambda stack: (stack * _agreeing(stack)).sum(0) / _agreeing(stack).sum(0),
                  "Right, except where the votes cancel and no task has the sign 0: there 0 divided by 0 gives nan. "
                  "Asked is 0."),
            Wrong(lambda stack: stack.sum(0) / (stack != 0).sum(0).clamp(min=1),
                  "You left out the zeros, but not those who lost the vote: entries with the other sign do not count "
                  "either."),
            Wrong(_mean_where(lambda stack: stack * torch.where(stack.sum(0) >= 0, 1.0, -1.0) > 0),
                  "Where the votes sum to exactly 0 you elected plus. No sign is elected there, so the result is 0."),
            Wrong(_mean_where(lambda stack: ~_agreeing(stack)),
                  "You averaged over those whose sign is not the elected one. The mask is the wrong way round."),
            Wrong(lambda stack: stack[_agreeing(stack)].mean(),
                  "Indexing with a mask gives one long list, so you took one mean of everything. Keep the shape, and "
                  "take a mean over the tasks for every entry."),
            Wrong(lambda stack: (stack * _agreeing(stack)).sum(-1) / _agreeing(stack).sum(-1).clamp(min=1),
                  "You averaged over the last dimension. The tasks are dimension 0: every entry has its own mean."),
            Wrong(_merge_of(lambda chosen, count: chosen.sum(0) / (len(chosen) - 1)),
                  "You divided by the number of tasks minus 1. Divide by how many have the elected sign, which can "
                  "differ from entry to entry."),
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
            Wrong(lambda accuracy, own: (accuracy - own).mean(),
                  "That is the difference, in points. Here we want a share: divide."),
            Wrong(lambda accuracy, own: (accuracy / own).clamp(max=1).mean(),
                  "You cut the shares off at 1. A merged network can be better than a task's own, and then its share "
                  "is above 1."),
            Wrong(lambda accuracy, own: (accuracy / own).sum(), "You added the shares up. Take their mean."),
            Wrong(lambda accuracy, own: (accuracy / own).sum() / (len(own) - 1),
                  "You divided by the number of tasks minus 1. That is for variances; a mean divides by all."),
            Wrong(lambda accuracy, own: (accuracy / own).median(), "That is the median of them. Take the mean."),
            Wrong(lambda accuracy, own: (accuracy / own).log().mean().exp(),
                  "That is the geometric mean of the shares. Here it is the plain one."),
            Wrong(lambda accuracy, own: (accuracy / own).min(),
                  "That is the worst task's share, worth knowing too. Asked is the mean over tasks."),
            Wrong(lambda accuracy, own: ((1 - accuracy) / (1 - own)).mean(),
                  "You compared the errors. The normalised accuracy is a share of accuracies."),
            Wrong(lambda accuracy, own: (accuracy / own.max()).mean(),
                  "You divided every task by the best network's accuracy. Each is compared with its own."),
            Wrong(lambda accuracy, own: (accuracy // own).mean(),
                  "// divides and drops what is behind the point. Use /."),
            Wrong(lambda accuracy, own: ((accuracy - own) / own).mean(),
                  "That is the relative change, 0 where merging costs nothing. Asked is the share that is left, "
                  "which is 1 there."),
            Wrong(lambda accuracy, own: (accuracy.mean() / own).mean(),
                  "You averaged the accuracies first and then divided by each task's own. Pair them: each task's "
                  "accuracy over its own network's."),
            Wrong(lambda accuracy, own: (accuracy * own).mean(),
                  "You multiplied by the own accuracy. A share is a ratio."),
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
            Wrong(_of_models(lambda stack: stack - stack[-1]),
                  "You subtracted the last model. The average is over all of them: did a loop overwrite it?"),
            Wrong(_of_models(lambda stack: stack - stack.flatten(1).mean(1).view(-1, *(stack.ndim - 1) * [1])),
                  "You subtracted the mean over a tensor's own entries. The mean is over the models, entry by entry."),
            Wrong(_of_models(lambda stack: stack - stack.sum(0) / (len(stack) - 1)),
                  "You divided the sum by the number of models minus 1. An average divides by all."),
            Wrong(_of_models(lambda stack: stack - stack.median(0).values),
                  "You subtracted the median over the models. CART's point is their mean."),
            Wrong(_of_models(lambda stack: (stack - stack.mean(0)) / len(stack)),
                  "Too short: the way from the average to a model is not divided by the number of models."),
            Wrong(_of_models(lambda stack: stack + stack.mean(0)), "You added the average. Subtract it."),
            Wrong(_of_models(_so_far),
                  "You subtracted the mean of the models seen so far. Finish the average first, then subtract it."),
            *centring.MISTAKES,
            Wrong(_of_models(_one_by_one),
                  "The models changed while you were still averaging, so the average moved. Compute it once, from the "
                  "models as they were given."),
            Wrong(_of_models(lambda stack: stack - stack / len(stack)),
                  "You took off each model's own share of the average alone. The other models' shares are in it too."),
            Wrong(lambda finetuned: _of_models(lambda stack: stack - stack[0])(finetuned)[1:],
                  "You took the first model as the base and left it out. No base is given: all belong to the average, "
                  "and each gets a result."),
        ],
        hints=[
            "For every floating-point key: the mean over the models.",
            "Then, model by model, state[key] − average[key]. Carry “num_batches_tracked” over: it is no weight.",
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
            Wrong(lambda logits: adaptive.entropy(logits) / math.log(10),
                  "Right, with the logarithm to base 10. We count in nats: the natural logarithm."),
            Wrong(lambda logits: _entropy_of(logits.softmax(0), 0).mean(),
                  "You went along dimension 0, the samples. A prediction is a row: softmax and sum over dimension 1."),
            Wrong(lambda logits: _entropy_of(logits.flatten().softmax(0), 0),
                  "One softmax over all numbers makes one distribution of the whole batch. Every sample has its own: "
                  "dimension 1."),
            Wrong(lambda logits: _entropy_of(logits.mean(0).softmax(0), 0),
                  "You averaged the logits first, so sure predictions of different classes look unsure. Take every "
                  "sample's entropy, then the mean."),
            Wrong(lambda logits: logits.softmax(1).amax(1).mean(),
                  "That is how large the largest probability is. Entropy takes all classes: −Σ p·log p."),
            Wrong(lambda logits: _entropy_of(logits).mean(),
                  "Logits are no probabilities, divided by their sum or not: they can be negative, and then their "
                  "logarithm is nan. Softmax makes probabilities of them."),
            Wrong(lambda logits: _entropy_of(logits.softmax(1)),
                  "Right for every sample; now the mean over them, a single number."),
            Wrong(lambda logits: adaptive.entropy(logits) / math.log(logits.shape[1]),
                  "You divided by the largest entropy there is, log of the number of classes. Asked are nats."),
            Wrong(lambda logits: _entropy_of(logits.softmax(1)).exp().mean(),
                  "You took the exponential: that is a perplexity, a number of classes. Entropy is its logarithm."),
            Wrong(lambda logits: -logits.log_softmax(1).sum(1).mean(),
                  "Every −log p counts alike here. Each is weighed by its own p."),
            Wrong(lambda logits: -logits.log_softmax(1).mean(),
                  "That is the mean of all −log p. Each is weighed by its own p, and summed over the classes."),
            Wrong(lambda logits: -logits.softmax(1).square().sum(1).mean(),
                  "The logarithm is missing: Σ p·p instead of Σ p·log p."),
            Wrong(lambda logits: (1 - logits.softmax(1).square().sum(1)).mean(),
                  "1 − Σ p² is Gini's measure. It also says how sure a network is, but entropy is −Σ p·log p."),
            Wrong(lambda logits: -(logits.softmax(1) * logits.softmax(1).log_softmax(1)).sum(1).mean(),
                  "A second softmax came in: cross_entropy and log_softmax take logits, and you gave them "
                  "probabilities."),
            Wrong(lambda logits: adaptive.entropy(logits.softmax(1)),
                  "You took the softmax of probabilities: Categorical(logits=…), too, takes it of what it is given."),
            Wrong(lambda logits: -(logits.softmax(1) * logits).sum(1).mean(),
                  "The logit is not yet the logarithm of p: log_softmax subtracts what makes the p sum to 1."),
            Wrong(lambda logits: _entropy_of(logits.sigmoid()).mean(),
                  "sigmoid looks at every class alone, and the p do not sum to 1. Among classes it is softmax."),
            Wrong(lambda logits: _entropy_of(logits.softmax(1)).mean(),
                  "Right, until a p is so small that the computer takes it for 0: its logarithm is −∞, and 0 times "
                  "that is nan. Such a class adds 0. Can you get at log p without going through p?"),
            Wrong(lambda logits: torch.special.entr((logits - logits.min()) / (logits - logits.min()).sum(1, True)
                                                    ).sum(1).mean(),
                  "You shifted the logits until none was negative, and divided by their sum. That makes other "
                  "probabilities than the network's: softmax takes the exponential first."),
        ],
        hints=[
            "p = logits.softmax(1), log p = logits.log_softmax(1).",
            "−(p · log p), summed over classes, mean over samples.",
        ],
        praise="No label anywhere: it can be computed, and minimised, on test images.",
        tolerance=1e-5),
]
