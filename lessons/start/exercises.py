"""The exercise of chapter 0."""
import torch

from lessons.kit.exercise import Exercise, Wrong
from toy_models import weights


def _cases():
    a = torch.tensor([1.0, 2.0, 4.0])
    b = torch.tensor([3.0, -2.0, 0.5])
    rounded = torch.tensor([0.1, 1.7, -2.3]), torch.tensor([0.7, 0.3, 3.1])  # by float16, which holds the others
    return [(a, b, 0.25), (a, b, 1.0), (a, b, 0.0), (a, b, 0.625), (*rounded, 0.3)]


def between(a, b, alpha):
    return alpha * a + (1 - alpha) * b


EXERCISES = [
    Exercise(
        "0.1", "on the line between two tensors",
        minutes=2,
        solution=weights.mix,
        teaching=between,
        cases=_cases,
        wrong=[
            Wrong(lambda a, b, alpha: (1 - alpha) * a + alpha * b,
                  "Right idea, other end: in this course α is the weight of the first one, so α = 1 must give a."),
            Wrong(lambda a, b, alpha: a + alpha * b,
                  "You add α·b to the whole of a. On the line between them the two shares sum to 1: what does b get "
                  "when a gets α?"),
            Wrong(lambda a, b, alpha: (a + b) / 2,
                  "That is the half-way point, whatever α is. Give a the share α and b the rest."),
            Wrong(lambda a, b, alpha: alpha * (a + b),
                  "Both get the share α here, so that at α = 1 you have a + b. b gets what a leaves over."),
            Wrong(lambda a, b, alpha: alpha * a + 1 - alpha * b,
                  "Python multiplies before it subtracts: 1 - alpha needs parentheses before it meets b."),
            Wrong(lambda a, b, alpha: a + alpha * (a - b),
                  "You start at a and walk on, away from b. From b the way to a is a − b: begin there."),
            Wrong(lambda a, b, alpha: b + alpha * (b - a),
                  "You start at b and walk away from a. The way from b to a is a − b."),
            Wrong(lambda a, b, alpha: alpha * (a - b),
                  "That is a share of the way, without the place it begins at. The way from b to a begins at b."),
            Wrong(lambda a, b, alpha: between(a, b, alpha).half(),
                  "The line is right, but .half() rounds it to float16, about three digits. Leave the numbers in the "
                  "precision that they come in."),
            Wrong(lambda a, b, alpha: b + alpha * a,
                  "You add α·a to the whole of b. On the line between them the two shares sum to 1: what does a leave "
                  "for b?"),
            Wrong(lambda a, b, alpha: alpha * a,
                  "That is a's share. What is left, 1 − α, goes to b."),
            Wrong(lambda a, b, alpha: alpha * a - (1 - alpha) * b,
                  "You subtract b's part. A point between the two has a part of each: add them up."),
            Wrong(lambda a, b, alpha: alpha * a + (1 - alpha),
                  "1 − α is b's share, but b itself is missing: what is multiplied by this share?"),
            Wrong(lambda a, b, alpha: alpha ** 0.5 * a + (1 - alpha) ** 0.5 * b,
                  "You took the roots of the shares. These sum to more than 1 and lead off the line: use the shares as "
                  "they are."),
        ],
        hints=[
            "At α = 1 the result is a, at α = 0 it is b.",
            "The shares of a and b sum to 1.",
            "a gets the share alpha, b gets 1 - alpha.",
        ],
        praise="Applied to every weight, this one line gives you every network between A and B."),
]
