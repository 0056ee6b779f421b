"""Answers to the exercises of chapter 9: shares by distances, after T steps, of many parents; gains; MMD; a table."""
import math

import numpy as np
import torch

from lessons.sail.algorithms import mixing
from tests.natural import Natural

# -- 9.1 nearest_share -------------------------------------------------------------------------------

def other_parents_share(d1, d2, d12):
    return (d1 ** 2 + d12 ** 2 - d2 ** 2) / (2 * d12 ** 2)


def without_squares(d1, d2, d12):
    return (d2 + d12 - d1) / (2 * d12)


def without_the_two(d1, d2, d12):
    return (d2 ** 2 + d12 ** 2 - d1 ** 2) / d12 ** 2


def clipped(d1, d2, d12):
    share = (d2 ** 2 + d12 ** 2 - d1 ** 2) / (2 * d12 ** 2)
    return min(max(share, 0.0), 1.0)


def by_inverse_distance(d1, d2, d12):
    return d2 / (d1 + d2)


def by_inverse_square(d1, d2, d12):
    return d2 ** 2 / (d1 ** 2 + d2 ** 2)


def length_along_the_line(d1, d2, d12):
    return (d2 ** 2 + d12 ** 2 - d1 ** 2) / (2 * d12)


def the_cosine(d1, d2, d12):
    return (d2 ** 2 + d12 ** 2 - d1 ** 2) / (2 * d2 * d12)


def plus_for_minus(d1, d2, d12):
    return (d1 ** 2 + d2 ** 2 - d12 ** 2) / (2 * d12 ** 2)


def by_a_grid(d1, d2, d12):
    gammas = np.linspace(-1, 2, 31)
    squared = gammas * d1 ** 2 + (1 - gammas) * d2 ** 2 - gammas * (1 - gammas) * d12 ** 2
    return gammas[squared.argmin()]


def the_distance_itself(d1, d2, d12):
    share = (d2 ** 2 + d12 ** 2 - d1 ** 2) / (2 * d12 ** 2)
    return math.sqrt(d2 ** 2 - share ** 2 * d12 ** 2)


def by_coordinates(d1, d2, d12):
    along = (d2 ** 2 - d1 ** 2 + d12 ** 2) / (2 * d12)  # θ₂ at 0, θ₁ at d12
    return along / d12


# -- 9.2 best_share ----------------------------------------------------------------------------------

def plain_distance(e1, e2, curvatures, eta, steps):
    return ((e2 - e1) @ e2 / (e2 - e1).square().sum()).item()


def before_any_step(e1, e2, curvatures, eta, steps):
    return ((curvatures * (e2 - e1) * e2).sum() / (curvatures * (e2 - e1) ** 2).sum()).item()


def half_the_power(e1, e2, curvatures, eta, steps):
    weight = curvatures * (1 - eta * curvatures) ** steps
    return ((weight * (e2 - e1) * e2).sum() / (weight * (e2 - e1) ** 2).sum()).item()


def without_curvature(e1, e2, curvatures, eta, steps):
    weight = (1 - eta * curvatures) ** (2 * steps)
    return ((weight * (e2 - e1) * e2).sum() / (weight * (e2 - e1) ** 2).sum()).item()


def share_of_the_second(e1, e2, curvatures, eta, steps):
    weight = curvatures * (1 - eta * curvatures) ** (2 * steps)
    return ((weight * (e1 - e2) * e1).sum() / (weight * (e2 - e1) ** 2).sum()).item()


def sign_lost(e1, e2, curvatures, eta, steps):
    weight = curvatures * (1 - eta * curvatures) ** (2 * steps)
    return ((weight * (e1 - e2) * e2).sum() / (weight * (e2 - e1) ** 2).sum()).item()


def one_step_only(e1, e2, curvatures, eta, steps):
    weight = curvatures * (1 - eta * curvatures) ** 2
    return ((weight * (e2 - e1) * e2).sum() / (weight * (e2 - e1) ** 2).sum()).item()


def clipped_to_the_line(e1, e2, curvatures, eta, steps):
    weight = curvatures * (1 - eta * curvatures) ** (2 * steps)
    share = ((weight * (e2 - e1) * e2).sum() / (weight * (e2 - e1) ** 2).sum()).item()
    return max(0.0, min(1.0, share))


def after_by_loop(e1, e2, curvatures, eta, steps):
    for _ in range(steps):
        e1 = e1 - eta * curvatures * e1
        e2 = e2 - eta * curvatures * e2
    apart = e2 - e1
    return ((curvatures * apart * e2).sum() / (curvatures * apart ** 2).sum()).item()


def by_loss_ratio(e1, e2, curvatures, eta, steps):
    late1 = (curvatures * ((1 - eta * curvatures) ** steps * e1) ** 2).sum()
    late2 = (curvatures * ((1 - eta * curvatures) ** steps * e2) ** 2).sum()
    return (late2 / (late1 + late2)).item()


def eta_forgotten(e1, e2, curvatures, eta, steps):
    weight = curvatures * (1 - curvatures) ** (2 * steps)
    return ((weight * (e2 - e1) * e2).sum() / (weight * (e2 - e1) ** 2).sum()).item()


# -- 9.3 share_of_gain -------------------------------------------------------------------------------

def relative_gain(random, parent, best):
    return 1 - parent / random


def of_gains_in_percent(random, parent, best):
    return 100 * (random - parent) / (random - best)


def by_absolute_values(random, parent, best):
    return abs(random - parent) / abs(random - best)


# -- 9.4 unbiased_mmd --------------------------------------------------------------------------------

def biased(within_a, within_b, between):
    return (within_a.mean() + within_b.mean() - 2 * between.mean()).item()


def cross_once(within_a, within_b, between):
    n, m = len(within_a), len(within_b)
    a = (within_a.sum() - within_a.trace()) / (n * (n - 1))
    b = (within_b.sum() - within_b.trace()) / (m * (m - 1))
    return (a + b - between.mean()).item()


def root_taken(within_a, within_b, between):
    n, m = len(within_a), len(within_b)
    a = (within_a.sum() - within_a.trace()) / (n * (n - 1))
    b = (within_b.sum() - within_b.trace()) / (m * (m - 1))
    return (a + b - 2 * between.mean()).clamp(min=0).sqrt().item()


def between_over_n_squared(within_a, within_b, between):
    n, m = len(within_a), len(within_b)
    a = (within_a.sum() - within_a.trace()) / (n * (n - 1))
    b = (within_b.sum() - within_b.trace()) / (m * (m - 1))
    return (a + b - 2 * between.sum() / n ** 2).item()


def divided_by_n_squared(within_a, within_b, between):
    n, m = len(within_a), len(within_b)
    a = (within_a.sum() - within_a.trace()) / n ** 2
    b = (within_b.sum() - within_b.trace()) / m ** 2
    return (a + b - 2 * between.mean()).item()


def diagonal_of_between_out_too(within_a, within_b, between):
    n, m = len(within_a), len(within_b)
    a = (within_a.sum() - within_a.trace()) / (n * (n - 1))
    b = (within_b.sum() - within_b.trace()) / (m * (m - 1))
    cross = (between.sum() - between.diagonal().sum()) / (n * m - min(n, m))
    return (a + b - 2 * cross).item()


def clipped_at_zero(within_a, within_b, between):
    n, m = len(within_a), len(within_b)
    a = (within_a.sum() - within_a.trace()) / (n * (n - 1))
    b = (within_b.sum() - within_b.trace()) / (m * (m - 1))
    return max(0.0, (a + b - 2 * between.mean()).item())


def cross_added(within_a, within_b, between):
    n, m = len(within_a), len(within_b)
    a = (within_a.sum() - within_a.trace()) / (n * (n - 1))
    b = (within_b.sum() - within_b.trace()) / (m * (m - 1))
    return (a + b + 2 * between.mean()).item()


def sums_for_means(within_a, within_b, between):
    return (within_a.sum() + within_b.sum() - 2 * between.sum()).item()


def by_masks(within_a, within_b, between):
    def others(within):
        return within[~torch.eye(len(within), dtype=torch.bool)].mean()
    return others(within_a) + others(within_b) - 2 * between.mean()


def half_of_it(within_a, within_b, between):
    def others(within):
        return within[~torch.eye(len(within), dtype=torch.bool)].mean()
    return 0.5 * (others(within_a) + others(within_b)) - between.mean()


def zeroed_then_mean(within_a, within_b, between):
    return (within_a - torch.diag(within_a.diag())).mean() + (within_b - torch.diag(within_b.diag())).mean() \
        - 2 * between.mean()


# -- 9.5 shares --------------------------------------------------------------------------------------

def unnormalised(H):
    if torch.linalg.eigvalsh(H)[0] <= 1e-9:
        return mixing.on_simplex(H)
    return torch.linalg.solve(H, torch.ones(len(H), dtype=H.dtype))


def no_way_out(H):
    solved = torch.linalg.pinv(H) @ torch.ones(len(H), dtype=H.dtype)
    return solved / solved.sum()


def positive_shares_as_the_source(H):
    solved = torch.linalg.pinv(H) @ torch.ones(len(H), dtype=H.dtype)
    shares = solved / solved.sum()
    return shares if (shares > 0).all() else mixing.on_simplex(H)


def clip_and_renormalise(H):
    solved = torch.linalg.pinv(H) @ torch.ones(len(H), dtype=H.dtype)
    shares = (solved / solved.sum()).clamp(min=0)
    return shares / shares.sum()


def by_own_distance(H):
    shares = 1 / H.diagonal()
    return shares / shares.sum()


def always_the_simplex(H):
    return mixing.on_simplex(H)


def row_sums(H):
    shares = 1 / H.sum(1)
    return shares / shares.sum()


def softmax_of_distances(H):
    return (-H.diagonal()).softmax(0)


def smallest_eigenvector(H):
    vector = torch.linalg.eigh(H).eigenvectors[:, 0]
    return vector / vector.sum()


def divided_by_length(H):
    if torch.linalg.eigvalsh(H)[0] <= 1e-9:
        return mixing.on_simplex(H)
    solved = torch.linalg.solve(H, torch.ones(len(H), dtype=H.dtype))
    return solved / solved.norm()


def by_determinant(H):
    if torch.linalg.det(H) <= 1e-9:
        return mixing.on_simplex(H)
    solved = torch.linalg.inv(H) @ torch.ones(len(H), dtype=H.dtype)
    return solved / solved.sum()


def by_cholesky(H):
    try:
        torch.linalg.cholesky(H)
    except torch.linalg.LinAlgError:
        return mixing.on_simplex(H)
    solved = torch.linalg.inv(H) @ torch.ones(len(H), dtype=H.dtype)
    return solved / solved.sum()


def uniform(H):
    return torch.full((len(H),), 1 / len(H), dtype=H.dtype)


# -- 9.6 fits ----------------------------------------------------------------------------------------

def shares_not_percent(percentages, questions):
    return sum(abs(round(p * questions) / questions - p) < 0.005 for p in percentages)


def rounded_to_whole(percentages, questions):
    return sum(round(100 * round(p * questions / 100) / questions) == round(p) for p in percentages)


def whether_all_fit(percentages, questions):
    return all(abs(100 * round(p * questions / 100) / questions - p) <= 0.005 for p in percentages)


def must_be_whole_exactly(percentages, questions):
    return sum((p * questions / 100) == int(p * questions / 100) for p in percentages)


def those_that_do_not(percentages, questions):
    return sum(round(100 * round(p * questions / 100) / questions, 2) != p for p in percentages)


def always_downwards(percentages, questions):
    return sum(round(100 * int(p * questions / 100) / questions, 2) == p for p in percentages)


def too_wide(percentages, questions):
    return sum(abs(100 * round(p * questions / 100) / questions - p) <= 0.05 for p in percentages)


def close_in_answers(percentages, questions):
    return sum(abs(p * questions / 100 - round(p * questions / 100)) <= 0.005 for p in percentages)


def the_right_answers(percentages, questions):
    return [round(p * questions / 100) for p in percentages]


def by_trying_all(percentages, questions):
    possible = {round(100 * right / questions, 2) for right in range(questions + 1)}
    return sum(round(p, 2) in possible for p in percentages)


def smallest_n(percentages, questions):
    for n in range(1, questions + 1):
        if all(abs(100 * round(p * n / 100) / n - p) <= 0.005 for p in percentages):
            return n
    return questions


def share_that_fits(percentages, questions):
    return by_trying_all(percentages, questions) / len(percentages)


WRONG = [
    Natural("9.1", "the other parent's share", other_parents_share, "d_a and d_b have changed places"),
    Natural("9.1", "without squares", without_squares, "about squares of the three lengths"),
    Natural("9.1", "without the two", without_the_two, "A 2 is missing"),
    Natural("9.1", "clipped", clipped, "You cut it off at 0 and 1"),
    Natural("9.1", "by inverse distance", by_inverse_distance, "Shares by inverse distance"),
    Natural("9.1", "by inverse squared distance", by_inverse_square, "stand at right angles"),
    Natural("9.1", "a length along the line", length_along_the_line, "A share is that over d_ab"),
    Natural("9.1", "the cosine", the_cosine, "the cosine of the angle at B"),
    Natural("9.1", "the angle at the target", plus_for_minus, "You took the angle at θ*"),
    Natural("9.1", "a grid of tenths", by_a_grid),
    Natural("9.1", "the distance itself", the_distance_itself, "Asked is where it lies"),
    Natural("9.2", "plain distance", plain_distance, "the point nearest to θ*"),
    Natural("9.2", "before any step", before_any_step, "The steps shrink error i"),
    Natural("9.2", "half the power", half_the_power, "the loss has its square"),
    Natural("9.2", "without curvature", without_curvature, "the curvatures themselves are missing"),
    Natural("9.2", "the second parent's share", share_of_the_second, "That is the second parent's share"),
    Natural("9.2", "a sign lost", sign_lost, "The sign: from e₂"),
    Natural("9.2", "one step", one_step_only, "You took one step"),
    Natural("9.2", "clipped", clipped_to_the_line, "may lie beyond a parent"),
    Natural("9.2", "by the parents' losses", by_loss_ratio, "whether their errors cancel"),
    Natural("9.2", "η forgotten", eta_forgotten, "The step size η is missing"),
    Natural("9.3", "parent over best", lambda random, parent, best: parent / best, "A quotient of two losses"),
    Natural("9.3", "best over parent", lambda random, parent, best: best / parent, "A quotient of two losses"),
    Natural("9.3", "the gain itself", lambda random, parent, best: random - parent, "in nats"),
    Natural("9.3", "what mixing added", lambda random, parent, best: (parent - best) / (random - best),
            "the share that mixing added"),
    Natural("9.3", "upside down", lambda random, parent, best: (random - best) / (random - parent),
            "the wrong way round"),
    Natural("9.3", "relative to random", relative_gain, "You divided by the loss of random weights"),
    Natural("9.3", "a sign lost", lambda random, parent, best: (parent - random) / (random - best), "The sign"),
    Natural("9.3", "never negative", lambda random, parent, best: max(0, (random - parent) / (random - best)),
            "You cut it off at 0"),
    Natural("9.3", "in percent", of_gains_in_percent),
    Natural("9.3", "absolute values", by_absolute_values),
    Natural("9.4", "the diagonals kept", biased, "You kept the diagonals"),
    Natural("9.4", "the cross term once", cross_once, "The cross term comes twice"),
    Natural("9.4", "the root", root_taken, "You took the root"),
    Natural("9.4", "over n²", divided_by_n_squared, "you still divide by n²"),
    Natural("9.4", "between's diagonal left out, too", diagonal_of_between_out_too, "is nothing special"),
    Natural("9.4", "cut at zero", clipped_at_zero, "allowed to come out negative"),
    Natural("9.4", "the cross term added", cross_added, "The sign of the cross term"),
    Natural("9.4", "sums", sums_for_means, "These are sums"),
    Natural("9.4", "half of it", half_of_it, "Half of it"),
    Natural("9.4", "diagonals set to zero, then the mean", zeroed_then_mean, "you still divide by n²"),
    Natural("9.4", "n² pairs between the samples", between_over_n_squared, "there are n·m pairs"),
    Natural("9.5", "as the source has it", positive_shares_as_the_source, "as the source does"),
    Natural("9.5", "does not sum to one", unnormalised, "divide H⁻¹e by the sum"),
    Natural("9.5", "no way out", no_way_out, "look at the lowest eigenvalue first"),
    Natural("9.5", "cut off and stretched", clip_and_renormalise, "who is left should then share anew"),
    Natural("9.5", "by inverse distance", by_own_distance, "use the diagonal alone"),
    Natural("9.5", "the simplex everywhere", always_the_simplex, "That is the way out"),
    Natural("9.5", "row sums", row_sums, "solve the linear system"),
    Natural("9.5", "a softmax of distances", softmax_of_distances, "it makes nothing smallest"),
    Natural("9.5", "an eigenvector", smallest_eigenvector),
    Natural("9.5", "length one", divided_by_length, "You gave the vector the length 1"),
    Natural("9.5", "by the determinant", by_determinant, "A positive determinant is not enough"),
    Natural("9.5", "uniform", uniform, "the uniform soup"),
    Natural("9.6", "shares for percentages", shares_not_percent, "These are percentages"),
    Natural("9.6", "whole percents", rounded_to_whole, "You compared whole percents"),
    Natural("9.6", "whether all fit", whether_all_fit, "Asked is how many do"),
    Natural("9.6", "whole without rounding", must_be_whole_exactly, "seldom exactly whole"),
    Natural("9.6", "those that do not", those_that_do_not, "You counted those that do not fit"),
    Natural("9.6", "always downwards", always_downwards, "always rounds down"),
    Natural("9.6", "one digit too few", too_wide, "not 0.05"),
    Natural("9.6", "half a hundredth of an answer", close_in_answers, "You compared numbers of answers"),
    Natural("9.6", "the right answers", the_right_answers, "Asked is how many percentages they give back"),
    Natural("9.6", "the smallest n", smallest_n),
    Natural("9.6", "the share that fits", share_that_fits, "That is the share that fits"),
]
RIGHT = [
    Natural("9.1", "by coordinates on the line", by_coordinates),
    Natural("9.2", "steps in a loop", after_by_loop),
    Natural("9.3", "one minus what mixing added",
            lambda random, parent, best: 1 - (parent - best) / (random - best)),
    Natural("9.4", "with a mask, as a tensor", by_masks),
    Natural("9.5", "by Cholesky's failure", by_cholesky),
    Natural("9.6", "by trying every number of right answers", by_trying_all),
]
