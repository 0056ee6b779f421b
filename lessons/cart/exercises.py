"""The exercises of chapter 8."""
import math

import torch

from lessons import centring
from lessons.cart.algorithms import costs, interference, planted, spectra
from lessons.kit.exercise import Exercise, Wrong


def _generator(seed):
    return torch.Generator().manual_seed(seed)


def _drawn(generator, *shape):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


# -- cases, and what wrong answers are written in --------------------------------------------------

def _matrices():
    generator = _generator(0)
    small = torch.tensor([[3.0, 0.0], [4.0, 5.0]], dtype=torch.float64)
    return [(_drawn(generator, 5, 4), 2), (_drawn(generator, 3, 6), 1), (_drawn(generator, 4, 4), 0),
            (_drawn(generator, 4, 3), 3), (small, 1)]


def _svd(function):
    """A wrong answer to 8.1: (U, σ, Vᵀ, k) -> matrix."""
    return lambda matrix, rank: function(*torch.linalg.svd(matrix, full_matrices=False), rank)


def _sum_from_1(u, s, vt, k):
    total = torch.zeros(u.shape[0], vt.shape[1], dtype=u.dtype)
    for r in range(1, k):
        total += s[r] * torch.outer(u[:, r], vt[r])
    return total


def _smallest_out(matrix, rank):
    """Keeps the largest entries instead of singular values."""
    entries = matrix.flatten()
    kept = entries.abs().argsort(descending=True)[:rank * min(matrix.shape)]
    return torch.zeros_like(entries).index_copy(0, kept, entries[kept]).view_as(matrix)


def _longest_rows(matrix, rank):
    longest = matrix.norm(dim=1).topk(rank).indices
    return torch.zeros_like(matrix).index_copy(0, longest, matrix[longest])


def _shapes():
    at_8_percent = [(0.08, torch.Size(shape)) for shape in ((400, 784), (10, 400), (64, 32, 3, 3), (100, 30))]
    others = [(0.0, (5, 7)), (1.0, (3, 4)), (0.5, (7, 9)), (0.5, (16, 8, 3, 3)), (0.07, (100, 120))]
    return [*at_8_percent, *((ratio, torch.Size(shape)) for ratio, shape in others)]


def kept_rank(rank_ratio, shape):
    full = min(shape[0], math.prod(shape[1:]))
    return math.ceil(rank_ratio * full - 1e-9)  # 0.07 * 100 is 7.000000000000001


def _rank(function):
    """A wrong answer to 8.4: (γ, m, n) -> k."""
    return lambda rank_ratio, shape: function(rank_ratio, shape[0], math.prod(shape[1:]))


def _states():
    generator = _generator(1)
    small = [{"weight": torch.tensor(values), "norm.num_batches_tracked": torch.tensor(7)}
             for values in ([3.0, 0.0], [1.0, -4.0])]
    small[1]["norm.num_batches_tracked"] += 2  # so that the average of the counters is whole, as it is below
    states = [{"layers.0.weight": torch.randn(3, 2, generator=generator),
               "layers.0.bias": torch.randn(3, generator=generator),
               "norm.num_batches_tracked": torch.tensor(batches)} for batches in (3, 8, 7, 10)]
    return [(states,), (small,), (states[:3],)]


def _mean(states, key):
    return torch.stack([state[key] for state in states]).mean(0)


def _floats(function):
    """A wrong answer to 8.2 that carries the counter over: (states, state, key) -> tensor."""
    def answer(states):
        floats = []
        for state in states:
            changed = {key: function(states, state, key) for key in state if state[key].is_floating_point()}
            floats.append(state | changed)
        return floats
    return answer


def _median(states, key):
    return torch.stack([state[key] for state in states]).median(0).values


def _so_far(states):
    """Subtracts the mean of the models seen so far."""
    return [_floats(lambda all, state, key: state[key] - _mean(all, key))(states[:place + 1])[-1]
            for place in range(len(states))]


def _rows():
    generator = _generator(2)

    def rows():
        _, sigma, right = torch.linalg.svd(_drawn(generator, 5, 8), full_matrices=False)
        return sigma[:, None] * right

    small = torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=torch.float64)
    turned = torch.tensor([[0.0, 3.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    return [*((rows(), rows(), rank) for rank in (1, 3, 5)), (small, turned, 2)]


def _normalised(rows):
    return rows / rows.norm()


def _of_products(function):
    """A wrong answer to 8.6: function(inner products of the first k rows, normalised by all) -> number."""
    return lambda i, j, k: function(_normalised(i)[:k] @ _normalised(j)[:k].T)


def _divided_by(function):
    """A wrong answer to 8.6: divided by function(rows_i, rows_j) instead of the two norms."""
    return lambda i, j, k: ((i[:k] @ j[:k].T).norm() / function(i, j)).item()


def _unit(rows):
    return rows / rows.norm(dim=1, keepdim=True)


def _printed(i, j, k):
    """Eq. 5 as it is printed."""
    return (i[:k].norm(dim=1) * j[:k].norm(dim=1)).norm().item() / (i.norm() * j.norm()).item()


def _spectra():
    cases = (([8.0, 4.0, 2.0, 1.0, 0.5], 2),
             ([8.0, 4.0, 2.1, 1.0, 0.5], 4),
             ([8.0, 4.0, 2.0, 1.1, 0.5], 9),
             ([5.0, 4.0, 3.0, 1.5], 3),
             ([9.0, 3.5, 2.0, 1.4], 4),
             ([3.0, 2.0, 1.0], 20))
    return [(torch.tensor(sigma, dtype=torch.float64), tasks) for sigma, tasks in cases]


def predicted_rank(sigma, num_tasks):
    own = (1 - 1 / num_tasks) * sigma
    foreign = sigma / num_tasks
    return int((own > foreign[0]).sum())


def _before(bound):
    """A wrong answer to 8.5: how many singular values are larger than bound(sigma, tasks)."""
    return lambda sigma, tasks: int((sigma > bound(sigma, tasks)).sum())


def _bounds():
    return [(0.0, 1.0, 0.05), (0.5, 0.9, 0.01), (0.2, 0.2, 0.1), (0.0, 1.0, 0.98)]


def sample_size(low, high, margin):
    sigma = (high - low) / 2
    return math.ceil((1.96 * sigma / margin) ** 2)


def _subsets(function):
    """A wrong answer to 8.7: (σ, ε) -> m."""
    return lambda low, high, margin: function((high - low) / 2, margin)


# -- the exercises ---------------------------------------------------------------------------------

TRUNCATE = Exercise(
    "8.1", "truncate a matrix", 6, spectra.truncated, cases=_matrices,
    wrong=[
        Wrong(_svd(lambda u, s, vt, k: u[:, :k] @ vt[:k]),
              "You left the singular values out: U_k·V_kᵀ has the right directions, all of length 1. "
              "Multiply each by its σ."),
        Wrong(_svd(lambda u, s, vt, k: u[:, len(s) - k:] * s[len(s) - k:] @ vt[len(s) - k:]),
              "You kept the smallest singular values. torch gives them largest first; the largest are to stay."),
        Wrong(_svd(lambda u, s, vt, k: u[:, k:] * s[k:] @ vt[k:]),
              "That is what truncation throws away. Keep the first k, not those behind."),
        Wrong(_svd(lambda u, s, vt, k: u[:, :k] * s[:k].square() @ vt[:k]),
              "The singular values came in twice: once is enough, A = Σ σ_r·u_r·v_rᵀ."),
        Wrong(_smallest_out,
              "You kept the largest entries. That is what TIES does. "
              "A matrix of low rank has few directions, not few entries."),
        Wrong(_svd(lambda u, s, vt, k: u[:, :k] @ s[:k].diag() @ vt[:, :k].T),
              "Rows and columns of V are exchanged. torch.linalg.svd gives Vᵀ, whose rows are the v_r: vt[:k]. "
              "The old torch.svd gives V, whose columns they are."),
        Wrong(_svd(lambda u, s, vt, k: u[:, :k] * s[:k] @ vt[:, :k]),
              "The sizes do not fit, because you took columns of Vᵀ. The v_r are its rows: vt[:k]."),
        Wrong(_svd(lambda u, s, vt, k: u[:, :k] * s[:k] @ vt),
              "The sizes do not fit, because you cut U and not Vᵀ. Keep its first k rows too."),
        Wrong(_svd(lambda u, s, vt, k: s[:, None] * u[:, :k] @ vt[:k]),
              "You multiplied the rows of U by σ. Each σ_r belongs to a column: u[:, :k] * s[:k]."),
        Wrong(_svd(lambda u, s, vt, k: u[:, :k + 1] * s[:k + 1] @ vt[:k + 1]),
              "One direction too many: [:k + 1] holds k + 1. At rank 0 the result is the zero matrix."),
        Wrong(_svd(_sum_from_1),
              "The largest direction is missing: the formula counts from 1, Python from 0, so r runs over range(k)."),
        Wrong(_svd(lambda u, s, vt, k: u[:, 1:k + 1] * s[1:k + 1] @ vt[1:k + 1]),
              "The formula counts from 1, Python from 0: the largest singular value is s[0], and you left it out."),
        Wrong(_svd(lambda u, s, vt, k: s[k - 1] * u[:, k - 1].outer(vt[k - 1])),
              "That is the k-th term alone. SVD_k is the sum of the first k."),
        Wrong(_svd(lambda u, s, vt, k: u[:, :k] * s[:k].sqrt() @ vt[:k]),
              "You took the root of σ on one side only. Half on each side would do; simpler is σ once."),
        Wrong(_svd(lambda u, s, vt, k: s[0] * u[:, :k] @ vt[:k]),
              "Every direction got the largest singular value. Each has its own σ_r."),
        Wrong(lambda matrix, rank: torch.cat([matrix[:rank], torch.zeros_like(matrix[rank:])]),
              "You kept the first rows of the matrix. Directions are kept: the first columns of U and of V."),
        Wrong(_svd(lambda u, s, vt, k: (u[:, :k], s[:k], vt[:k])),
              "Those are the three factors, rightly cut. Multiply them: a matrix is asked."),
        Wrong(_svd(lambda u, s, vt, k: s[:k]),
              "Those are the singular values. A matrix is asked, of the same shape as before."),
        Wrong(lambda matrix, rank: matrix, "That is the whole matrix: nothing was cut off."),
        Wrong(_svd(lambda u, s, vt, k: u[:, -k:] * s[-k:] @ vt[-k:]),
              "You kept the last terms. torch gives singular values from large to small, so those are the weakest."),
        Wrong(_svd(lambda u, s, vt, k: u[:, :k] * s[:k]),
              "Those are the columns, each scaled by its σ, which are the coordinates along the v_r. Every term is "
              "a column times a row: V is still missing."),
        Wrong(_svd(lambda u, s, vt, k: s[:k, None] * vt[:k]),
              "Those are the rows, each scaled by its σ. Every term is a column times a row: U is still missing."),
        Wrong(lambda matrix, rank: spectra.truncated(matrix - matrix.mean(0), rank) + matrix.mean(0),
              "You subtracted the mean row first, as principal component analysis does. Here the matrix itself is "
              "decomposed."),
        Wrong(_svd(lambda u, s, vt, k: u[:, :k] * s[:k] @ vt[:k] * s.sum() / s[:k].sum()),
              "You scaled up what is left. The terms that are kept stay as they are."),
        Wrong(_longest_rows,
              "You kept the longest rows of the matrix. A direction is a column times a row of the SVD: it has a part "
              "in every row."),
    ],
    hints=["torch.linalg.svd(matrix, full_matrices=False) gives U, σ and Vᵀ.",
           "Keep the first k columns of U, the first k σ and the first k rows of Vᵀ.",
           "left[:, :rank] * sigma[:rank] scales the columns."],
    praise="By Eckart and Young there is no closer matrix of that rank. "
           "For m × n it takes k·(m + n) numbers to write down.",
    tolerance=1e-5)

WHICH_RANK = Exercise(
    "8.4", "which rank is 8 %?", 4, spectra.kept_rank, teaching=kept_rank, cases=_shapes,
    wrong=[
        Wrong(_rank(lambda ratio, m, n: math.floor(ratio * min(m, n))),
              "You rounded down. The source says ⌈…⌉: at 8 % of 10 there must be one direction left, not none."),
        Wrong(_rank(lambda ratio, m, n: max(1, math.floor(ratio * min(m, n)))),
              "That is what the released code does, max(1, floor). "
              "The paper says ⌈γ·r⌉; and at γ = 0 nothing should be kept."),
        Wrong(_rank(lambda ratio, m, n: math.ceil(ratio * max(m, n))),
              "A matrix has at most min(m, n) singular values, and so many its full rank counts."),
        Wrong(_rank(lambda ratio, m, n: math.ceil(ratio * m)),
              "The first dimension is not always the smaller one: (400, 784) and (784, 400) have the same rank."),
        Wrong(_rank(lambda ratio, m, n: round(ratio * min(m, n))),
              "You rounded to the nearest whole number. The source rounds up."),
        Wrong(lambda ratio, shape: math.ceil(ratio * min(shape)),
              "Right for matrices. A convolution (out, in, kh, kw) is read as (out, in·kh·kw) first; "
              "you took the smallest of four."),
        Wrong(_rank(lambda ratio, m, n: math.ceil(ratio * min(m, n))),
              "Right but for floating point: 0.07 * 100 is 7.000000000000001, and rounded up that is 8. "
              "Take something tiny off first."),
        Wrong(_rank(lambda ratio, m, n: max(1, math.ceil(ratio * min(m, n)))),
              "One direction always stays here. At γ = 0 nothing should be kept, and rounding up needs no help."),
        Wrong(_rank(lambda ratio, m, n: math.floor(ratio * min(m, n)) + 1),
              "One too many where γ·min(m, n) is whole already: rounding down and adding 1 is not rounding up."),
        Wrong(_rank(lambda ratio, m, n: math.ceil(ratio * n)),
              "The second side is not always the smaller one. Take the smaller of the two."),
        Wrong(lambda ratio, shape: math.ceil(ratio * min(shape[0], shape[1])),
              "Right for matrices. Of a convolution (out, in, kh, kw) you took out and in; "
              "the second side is in·kh·kw."),
        Wrong(lambda ratio, shape: math.ceil(ratio * min(shape[0], sum(shape[1:]))),
              "You added in, kh and kw. The matrix has in·kh·kw columns."),
        Wrong(lambda ratio, shape: math.ceil(ratio * min(math.prod(shape[:-1]), shape[-1]) if len(shape) == 2
                                             else ratio * min(math.prod(shape[:2]), math.prod(shape[2:]))),
              "You read the convolution as (out·in, kh·kw). Here it is (out, in·kh·kw)."),
        Wrong(_rank(lambda ratio, m, n: math.ceil(ratio * m * n)),
              "That is a share of the entries. γ is a share of the full rank, min(m, n)."),
        Wrong(_rank(lambda ratio, m, n: math.ceil(ratio) * min(m, n)),
              "You rounded γ up before you multiplied: the parenthesis closes too early."),
        Wrong(_rank(lambda ratio, m, n: min(m, n)),
              "That is the full rank. γ is the share of it that is kept."),
        Wrong(_rank(lambda ratio, m, n: ratio * min(m, n)),
              "A number of directions is whole: round up."),
        Wrong(_rank(lambda ratio, m, n: math.ceil(ratio / 100 * min(m, n))),
              "γ is a share already, 0.08 for 8 %: do not divide by 100."),
        Wrong(_rank(lambda ratio, m, n: min(m, n) - math.ceil(ratio * min(m, n))),
              "That is how many are cut off. Asked is how many are kept."),
        Wrong(_rank(lambda ratio, m, n: math.ceil(ratio * m * n / (m + n))),
              "That is the rank at which the factors hold a share γ of the numbers. Here γ is a share of the rank."),
        Wrong(_rank(lambda ratio, m, n: math.ceil(0.08 * min(m, n))),
              "You took 8 % whatever rank_ratio is. The 8 % of the title are one example of it."),
    ],
    hints=["Flatten everything behind the first dimension: n = math.prod(shape[1:]).",
           "The full rank is min(m, n).",
           "math.ceil rounds up. Mind that 0.08 * 100 is 8.0 but 0.07 * 100 is 7.000000000000001."],
    praise="So “8 %” is 32 directions in a layer of 400 units and one in a head of ten outputs.")

CENTRE = Exercise(
    "8.2", "centre task vectors", 5, spectra.centred, cases=_states,
    wrong=[
        Wrong(_floats(lambda states, state, key: _mean(states, key) - state[key]),
              "The wrong way round: τ̄_t leads from the average to θ_t."),
        Wrong(_floats(lambda states, state, key: state[key] - states[0][key]),
              "You measured from the first model. The centre is the mean of all."),
        Wrong(_floats(lambda states, state, key: state[key] - sum(other[key] for other in states)),
              "You subtracted the sum. Divide it by the number of models first."),
        Wrong(_floats(lambda states, state, key: state[key] - state[key].mean()),
              "You subtracted the mean over the entries of one tensor. "
              "The mean is over the models, entry by entry."),
        Wrong(_floats(lambda states, state, key: (state[key] - _mean(states, key)) / len(states)),
              "Too short: there is no division by T in a centred task vector."),
        Wrong(_floats(lambda states, state, key: state[key] - states[-1][key]),
              "You measured from the last model. The centre is the mean of all: did a loop overwrite it?"),
        Wrong(_floats(lambda states, state, key: state[key] - (states[0][key] + states[1][key]) / 2),
              "You measured from the middle of the first two models. The centre is the mean of all."),
        Wrong(_floats(lambda states, state, key: _mean(states, key)),
              "That is the average itself. The centred task vectors lead from there to each model."),
        Wrong(_floats(lambda states, state, key: state[key] - _mean(states, key).mean()),
              "You subtracted one number, the mean of all entries. The average has an entry for every weight."),
        Wrong(_floats(lambda states, state, key: state[key] - _mean(states, key) * len(states) / (len(states) - 1)),
              "You divided the sum by T − 1. An average divides by T."),
        Wrong(_floats(lambda states, state, key: (state[key] - _mean(states, key)) * len(states) / (len(states) - 1)),
              "You measured from the mean of the other models. This one belongs into the mean too."),
        Wrong(_floats(lambda states, state, key: state[key] - _median(states, key)),
              "You measured from the median of the models. The centre is their mean."),
        Wrong(_so_far,
              "You measured from the mean of the models seen so far. Finish the average first, then subtract it."),
        Wrong(_floats(lambda states, state, key: 2 * state[key] - _mean(states, key)),
              "You added θ_t once more: the way alone is asked, not where it leads."),
        Wrong(_floats(lambda states, state, key: state[key] + _mean(states, key)),
              "You added the average. Subtract it."),
        *centring.MISTAKES,
        Wrong(_floats(lambda states, state, key: state[key] - state[key] / len(states)),
              "You took off each model's own share of the average alone. The other models' shares are in it too."),
        Wrong(_floats(lambda states, state, key: state[key] - sum(other[key] for other in states) // len(states)),
              "// divides and drops what is behind the point. An average needs /."),
        Wrong(_floats(lambda states, state, key: state[key] - state[key].mean(0)),
              "You averaged each tensor over its own first dimension. The average is over the models."),
        Wrong(_floats(lambda states, state, key: (state[key] - _mean(states, key))
                      / torch.stack([other[key] for other in states]).std(0)),
              "You divided by the spread over the models. Centring only subtracts the average."),
        Wrong(lambda states: _floats(lambda every, state, key: state[key] - every[0][key])(states)[1:],
              "You took the first model as the base and left it out. No base is given: all belong to the average, and "
              "each gets a result."),
    ],
    hints=["For every key: the mean over the models. (toy_models.weights.average does that.)",
           "Then, model by model: state[key] - average[key].",
           "Whole-number tensors (not tensor.is_floating_point()) are carried over as they are."],
    praise="They sum to zero. So at full rank θ_avg + λ·Σ τ̄_t is the average, whatever λ is: "
           "that is Eq. 3, so without truncation CART is the average.",
    tolerance=1e-5)

TWO_TASKS = Exercise(
    "8.3", "two tasks", 4, "c",
    wrong=[
        Wrong("a", "There are only two task vectors here, and they are not independent: write down τ̄₁ + τ̄₂."),
        Wrong("b", "λ multiplies SVD_k(τ̄₁) + SVD_k(τ̄₂). How large is that sum, when τ̄₂ = −τ̄₁?"),
        Wrong("d",
              "With two tasks you may choose the pretrained network or not: "
              "the average is (θ₁ + θ₂)/2, θ₀ does not occur in it."),
    ],
    hints=["τ̄₁ = θ₁ − (θ₁ + θ₂)/2 = (θ₁ − θ₂)/2. And τ̄₂?",
           "SVD_k(−A) = −SVD_k(A)."],
    praise="So CART needs at least three tasks.")

PEAK = Exercise(
    "8.5", "where does the bell peak?", 10, planted.predicted_rank, teaching=predicted_rank, cases=_spectra,
    wrong=[
        Wrong(lambda sigma, tasks: int((sigma > sigma[0] / tasks).sum()),
              "Nearly: in τ̄_t the own directions have the factor 1 − 1/T and the others' 1/T. "
              "Their ratio is T − 1, not T."),
        Wrong(lambda sigma, tasks: int((sigma >= sigma[0] / (tasks - 1)).sum()),
              "Where the two are equal, the other task's direction is as strong as the own one, "
              "and taking both gains nothing: count what is strictly larger. Try two tasks."),
        Wrong(lambda sigma, tasks: math.ceil(0.08 * len(sigma)),
              "That is the source's 8 %, which knows nothing of this spectrum. "
              "Compare (1 − 1/T)·σ_k with σ_1/T."),
        Wrong(lambda sigma, tasks: int((sigma.square().cumsum(0) < 0.9 * sigma.square().sum()).sum()) + 1,
              "You keep nine tenths of R(k). Reconstruction alone says: the more the better. "
              "What stops it are the other tasks' directions."),
        Wrong(lambda sigma, tasks: int((sigma <= sigma[0] / (tasks - 1)).sum()),
              "You counted the directions that come too late."),
        Wrong(lambda sigma, tasks: int((sigma > sigma[0] / (tasks - 1)).int().argmin()),
              "argmin finds the first that fails. Where none does it finds the first of all, and you say 0: count."),
        Wrong(lambda sigma, tasks: 0,
              "Your bound is too high: nothing ever comes before it. Own values have the factor 1 − 1/T, foreign ones "
              "1/T; is one of them missing, or on the wrong side?"),
        Wrong(lambda sigma, tasks: int(((1 - 1 / tasks) * sigma > sigma / tasks).sum()),
              "You compared each own direction with its foreign twin. What counts is the first foreign one, σ_1/T."),
        Wrong(_before(lambda sigma, tasks: sigma[-1] / (tasks - 1)),
              "You compared with the last foreign direction. Truncation meets the largest first, σ_1/T."),
        Wrong(_before(lambda sigma, tasks: sigma.sum() / (tasks - 1)),
              "You added the foreign singular values up. Each has a direction of its own: the largest comes first."),
        Wrong(lambda sigma, tasks: sigma[sigma > sigma[0] / (tasks - 1)].sum().item(),
              "You added the values up. Asked is how many there are: sum the mask."),
        Wrong(_before(lambda sigma, tasks: sigma[1] / (tasks - 1)),
              "You compared with the second foreign direction: Python counts from 0, so σ_1 is sigma[0]."),
        Wrong(lambda sigma, tasks: sigma > sigma[0] / (tasks - 1),
              "That mask says which come first. Asked is how many: sum it."),
        Wrong(lambda sigma, tasks: sigma[sigma > sigma[0] / (tasks - 1)],
              "Those are the singular values that come first. Asked is how many there are."),
        Wrong(lambda sigma, tasks: (sigma > sigma[0] / (tasks - 1)).double().mean().item(),
              "That is a share of the directions. Asked is their number."),
        Wrong(_before(lambda sigma, tasks: sigma[0] / (tasks - 1) ** 0.5),
              "You compared squares on one side. Truncation orders by the singular values themselves, "
              "(1 − 1/T)·σ_k against σ_1/T."),
        Wrong(lambda sigma, tasks: tasks * int((sigma > sigma[0] / (tasks - 1)).sum()),
              "You counted for every task. Asked is how many directions of its own one task keeps."),
        Wrong(lambda sigma, tasks: math.ceil(len(sigma) / tasks),
              "You gave every task an equal part of the directions. Their sizes decide: compare with σ_1/T."),
        Wrong(_before(lambda sigma, tasks: sigma.mean()),
              "You compared with the mean of the singular values. The number of tasks decides too: "
              "the first foreign one is σ_1/T."),
        Wrong(lambda sigma, tasks: int((sigma < sigma[0] / (tasks - 1)).sum()),
              "You counted the own directions behind the first foreign one. Asked are those before it."),
        Wrong(_before(lambda sigma, tasks: sigma[0] * (tasks - 1) / tasks),
              "You added up the first directions of all other tasks. They have nothing in common, so each comes alone, "
              "with σ_1/T."),
        Wrong(_before(lambda sigma, tasks: sigma.mean() / (tasks - 1)),
              "You compared with an average foreign direction. The first foreign one is the strongest of them."),
        Wrong(_before(lambda sigma, tasks: 1 / (tasks - 1)),
              "Your foreign direction has the length 1/T. It has a singular value too: σ_1/T."),
        Wrong(lambda sigma, tasks: len(sigma) // tasks,
              "You divided the directions evenly among the tasks. How many come first depends on the singular values."),
    ],
    hints=["If the tasks have nothing in common, the singular values of τ̄_t are (1 − 1/T)·σ(τ_t) "
           "and σ(τ_s)/T of every other task.",
           "Truncation takes the largest first. The first foreign one is σ_1/T.",
           "Count the k with (1 − 1/T)·σ_k > σ_1/T."],
    praise="A number of directions, not a share: the width of the layer is not in it. And it grows with the number of "
           "tasks, if they share neither rows nor columns. The next cell makes such tasks.")

INTERFERENCE = Exercise(
    "8.6", "measure interference", 7, interference.overlap, cases=_rows,
    wrong=[
        Wrong(_printed,
              "That is Eq. 5 as it is printed: (Σ σ̃ᵢ²σ̃ⱼ²)^½. It only sees lengths, "
              "so orthogonal task vectors interfere as much as equal ones. "
              "Multiply the rows of the one with those of the other."),
        Wrong(lambda i, j, k: (i[:k] @ j[:k].T).norm().item(),
              "Right up to the normalisation: "
              "the singular values are divided by their norm, which is that of all rows."),
        Wrong(lambda i, j, k: (_normalised(i[:k]) @ _normalised(j[:k]).T).norm().item(),
              "You divided by the norm of the k rows that are kept. "
              "The source divides by ‖τ‖_F, the norm of all of them: then I(k) can only grow with k."),
        Wrong(lambda i, j, k: (_normalised(i)[:k] @ _normalised(j)[:k].T).square().sum().item(),
              "That is the square of the Frobenius norm. Take the root."),
        Wrong(lambda i, j, k: (_normalised(i)[:k] * _normalised(j)[:k]).sum().abs().item(),
              "You compared the first row with the first, the second with the second. "
              "Directions may overlap across: all pairs of rows count."),
        Wrong(_of_products(lambda inner: inner.diagonal().norm().item()),
              "Only the pairs of rows with the same number came in, the diagonal. All pairs count."),
        Wrong(_of_products(lambda inner: inner.trace().item()),
              "That is the cosine between the two, row by row: it can be negative, and sees no overlap across rows. "
              "Take all inner products, and their norm."),
        Wrong(_of_products(lambda inner: torch.linalg.matrix_norm(inner, 2).item()),
              "That is the spectral norm, the largest singular value. ‖·‖_F is the root of the sum of squares; "
              "norm(…, 2) of a matrix is not."),
        Wrong(_of_products(lambda inner: torch.linalg.matrix_norm(inner, "nuc").item()),
              "That is the nuclear norm, the sum of the singular values. ‖·‖_F is the root of the sum of squares."),
        Wrong(_of_products(lambda inner: inner.abs().sum().item()),
              "You added absolute values. ‖·‖_F is the root of the sum of squares."),
        Wrong(_of_products(lambda inner: inner.sum().item()),
              "You added the inner products, and they cancel. ‖·‖_F is the root of the sum of squares."),
        Wrong(_of_products(lambda inner: inner.square().mean().sqrt().item()),
              "You took the mean of the squares. ‖·‖_F is the root of their sum."),
        Wrong(_of_products(lambda inner: inner.abs().max().item()),
              "That is the largest inner product. ‖·‖_F takes all of them, the root of the sum of squares."),
        Wrong(_of_products(lambda inner: inner.norm(dim=1)),
              "With dim=1 you get a norm a row. The Frobenius norm is one number for the whole matrix."),
        Wrong(_of_products(lambda inner: inner),
              "Those are the inner products of all pairs, rightly normalised. Now their Frobenius norm."),
        Wrong(lambda i, j, k: (_unit(i)[:k] @ _unit(j)[:k].T).norm().item(),
              "You gave all rows the length 1, so the singular values are gone. Divide by one norm, that of all rows."),
        Wrong(_divided_by(lambda i, j: i[0].norm() * j[0].norm()),
              "You divided by the largest singular values. The source divides by the norm of all of them."),
        Wrong(_divided_by(lambda i, j: i.norm(dim=1).sum() * j.norm(dim=1).sum()),
              "You divided by the sum of the singular values. Their norm is the root of the sum of squares."),
        Wrong(_divided_by(lambda i, j: (i.norm() * j.norm()).square()),
              "You divided by the norms' squares. Each side is divided by its norm once."),
        Wrong(_divided_by(lambda i, j: (i @ j.T).norm()),
              "You divided by the norm of the product. Each side is divided by its own norm, whatever the other is."),
        Wrong(_divided_by(lambda i, j: i.norm()),
              "You normalised only one of the two. Both have a tilde."),
        Wrong(lambda i, j, k: (_normalised(i)[:k] @ _normalised(j).T).norm().item(),
              "You cut only one of the two. Both keep their first k rows."),
        Wrong(lambda i, j, k: (_normalised(i) @ _normalised(j).T).norm().item(),
              "All rows came in. Only the first `rank` of each are asked."),
        Wrong(lambda i, j, k: ((i[:, :k] @ j[:, :k].T).norm() / (i.norm() * j.norm())).item(),
              "You cut columns. The directions are the rows: rows_i[:rank]."),
        Wrong(lambda i, j, k: (_normalised(i)[-k:] @ _normalised(j)[-k:].T).norm().item(),
              "You took the weakest rows. The strongest come first."),
        Wrong(_divided_by(lambda i, j: i.norm().square()),
              "You divided by the norm of rows_i twice. Each side is divided by its own."),
    ],
    hints=["rows_i[:rank] @ rows_j[:rank].T holds the inner products of all pairs of rows.",
           "Its Frobenius norm is .norm().",
           "Divide by rows_i.norm() * rows_j.norm(); .item() makes it a number."],
    praise="0 for orthogonal row spaces. "
           "Now you can ask the source's question: is it lower when task vectors are centred?",
    tolerance=1e-5)

SUBSETS = Exercise(
    "8.7", "how many subsets?", 5, costs.sample_size, teaching=sample_size, cases=_bounds,
    wrong=[
        Wrong(lambda low, high, margin: math.ceil((1.96 * (high - low) / margin) ** 2),
              "You took b − a for σ. By Popoviciu a number between a and b has σ ≤ (b − a)/2."),
        Wrong(lambda low, high, margin: math.ceil(1.96 * (high - low) / 2 / margin),
              "The square is missing: for half the margin one needs four times as many."),
        Wrong(lambda low, high, margin: int((1.96 * (high - low) / 2 / margin) ** 2),
              "Round up: with fewer the margin is not reached."),
        Wrong(lambda low, high, margin: math.ceil(1.96 * ((high - low) / 2 / margin) ** 2),
              "1.96 belongs into the square too: "
              "the margin is 1.96 standard errors, and a standard error is σ/√m."),
        Wrong(_subsets(lambda sigma, margin: round((1.96 * sigma / margin) ** 2)),
              "You rounded to the nearest whole number. ⌈…⌉ rounds up: with fewer the margin is not reached."),
        Wrong(_subsets(lambda sigma, margin: math.floor((1.96 * sigma / margin) ** 2) + 1),
              "One too many where the number is whole already: rounding down and adding 1 is not rounding up."),
        Wrong(_subsets(lambda sigma, margin: max(1, math.ceil((1.96 * sigma / margin) ** 2))),
              "Right, except that you draw one at least. Where low equals high the mean is known without any."),
        Wrong(_subsets(lambda sigma, margin: (1.96 * sigma / margin) ** 2),
              "A number of subsets is whole: round up."),
        Wrong(_subsets(lambda sigma, margin: math.ceil(1.96 * sigma / margin) ** 2),
              "You rounded up before you squared. Round once, at the end."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((1.96 * sigma ** 2 / margin) ** 2)),
              "You put the variance where the standard deviation belongs: (high − low)²/4 is σ², not σ."),
        Wrong(lambda low, high, margin: math.ceil((1.96 * (high - low / 2) / margin) ** 2),
              "Python divides before it subtracts: high - low needs parentheses before it is halved."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((2 * sigma / margin) ** 2)),
              "You took 2 standard errors. The source takes 1.96."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((1.645 * sigma / margin) ** 2)),
              "1.645 standard errors hold 90 % of a normal distribution. For 95 % it is 1.96."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((2.576 * sigma / margin) ** 2)),
              "2.576 standard errors hold 99 % of a normal distribution. For 95 % it is 1.96."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((1.96 * 2 * sigma / 12 ** 0.5 / margin) ** 2)),
              "(b − a)/√12 is the σ of a uniform distribution. Here nothing is known but the bounds: σ ≤ (b − a)/2."),
        Wrong(lambda low, high, margin: math.ceil((1.96 * 0.5 / margin) ** 2),
              "σ = ½ is for numbers between 0 and 1. Here it is half of high − low."),
        Wrong(lambda low, high, margin: math.ceil((1.96 * (low + high) / 2 / margin) ** 2),
              "You took the middle of the two bounds for σ. It is half of their difference."),
        Wrong(lambda low, high, margin: math.ceil((1.96 * high / margin) ** 2),
              "You took the upper bound for σ. It is at most half of high − low."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((sigma / margin) ** 2)),
              "1.96 is missing: one standard error holds only 68 %."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((1.96 * sigma / 2 / margin) ** 2)),
              "You halved twice. σ is at most (high − low)/2."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((1.96 * sigma) ** 2 / margin)),
              "ε belongs into the square too: for half the margin one needs four times as many."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((1.96 * sigma * margin) ** 2)),
              "Far too few. Did you multiply by the margin? The smaller it is, the more subsets one needs: divide."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((1.96 * sigma / margin) ** 0.5)),
              "You took the root. Solved for m, ε = 1.96·σ/√m gives a square."),
        Wrong(_subsets(lambda sigma, margin: math.ceil(1.96 ** 2 * sigma / margin)),
              "You squared 1.96 alone. The square is around the whole fraction."),
        Wrong(_subsets(lambda sigma, margin: math.ceil(1.96 ** 2 * sigma / margin ** 2)),
              "σ is not squared. Half of high − low bounds the standard deviation, not the variance."),
        Wrong(_subsets(lambda sigma, margin: math.ceil((1.96 * sigma / (margin / 100)) ** 2)),
              "You divided the margin by 100. It has the same unit as low and high already."),
        Wrong(_subsets(lambda sigma, margin: math.ceil(
            (needed := (1.96 * sigma / margin) ** 2) / (1 + (needed - 1) / math.comb(20, 8)))),
              "You corrected for the finite number of subsets. That is sound, but the formula above leaves it out."),
    ],
    hints=["The margin is ε = 1.96·σ/√m. Solve for m.",
           "σ is at most (high − low)/2.",
           "math.ceil."],
    praise="Thousands of subsets for one per cent. And Popoviciu's σ is the worst case: the comparison with "
           "Figure 7, further below, says how large the measured ones are.")

EXERCISES = [TRUNCATE, CENTRE, TWO_TASKS, WHICH_RANK, PEAK, INTERFERENCE, SUBSETS]
