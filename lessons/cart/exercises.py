"""The exercises of chapter 8."""
import math

import torch

from lessons.cart.algorithms import costs, interference, planted, spectra
from lessons.kit.exercise import Exercise, Wrong


def _generator(seed):
    return torch.Generator().manual_seed(seed)


def _drawn(generator, *shape):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


# -- cases, and what wrong answers are written in --------------------------------------------------

def _matrices():
    generator = _generator(0)
    return [(_drawn(generator, 5, 4), 2), (_drawn(generator, 3, 6), 1), (_drawn(generator, 4, 4), 0),
            (_drawn(generator, 4, 3), 3)]


def _svd(function):
    """A wrong answer to 8.1: (U, σ, Vᵀ, k) -> matrix."""
    return lambda matrix, rank: function(*torch.linalg.svd(matrix, full_matrices=False), rank)


def _smallest_out(matrix, rank):
    """Keeps the largest entries instead of singular values."""
    entries = matrix.flatten()
    kept = entries.abs().argsort(descending=True)[:rank * min(matrix.shape)]
    return torch.zeros_like(entries).index_copy(0, kept, entries[kept]).view_as(matrix)


def _shapes():
    at_8_percent = [(0.08, torch.Size(shape)) for shape in ((400, 784), (10, 400), (64, 32, 3, 3), (100, 30))]
    return [*at_8_percent, (0.0, torch.Size((5, 7))), (1.0, torch.Size((3, 4))), (0.5, torch.Size((7, 9)))]


def _rank(function):
    """A wrong answer to 8.2: (γ, m, n) -> k."""
    return lambda rank_ratio, shape: function(rank_ratio, shape[0], math.prod(shape[1:]))


def _states():
    generator = _generator(1)

    def state():
        return {"layers.0.weight": torch.randn(3, 2, generator=generator),
                "layers.0.bias": torch.randn(3, generator=generator),
                "norm.num_batches_tracked": torch.tensor(7)}

    return [([state() for _ in range(count)],) for count in (4, 2)]


def _mean(states, key):
    return torch.stack([state[key] for state in states]).mean(0)


def _floats(function):
    """A wrong answer to 8.3 that carries the counter over: (states, state, key) -> tensor."""
    def answer(states):
        found = []
        for state in states:
            changed = {key: function(states, state, key) for key in state if state[key].is_floating_point()}
            found.append(state | changed)
        return found
    return answer


def _rows():
    generator = _generator(2)

    def rows():
        _, sigma, right = torch.linalg.svd(_drawn(generator, 5, 8), full_matrices=False)
        return sigma[:, None] * right

    return [(rows(), rows(), rank) for rank in (1, 3, 5)]


def _normalised(rows):
    return rows / rows.norm()


def _printed(i, j, k):
    """Eq. 5 as it is printed."""
    return (i[:k].norm(dim=1) * j[:k].norm(dim=1)).norm().item() / (i.norm() * j.norm()).item()


def _spectra():
    cases = (([8.0, 4.0, 2.0, 1.0, 0.5], 2),
             ([8.0, 4.0, 2.1, 1.0, 0.5], 4),
             ([8.0, 4.0, 2.0, 1.1, 0.5], 9),
             ([5.0, 4.0, 3.0, 1.5], 3))
    return [(torch.tensor(sigma, dtype=torch.float64), tasks) for sigma, tasks in cases]


def _bounds():
    return [(0.0, 1.0, 0.05), (0.5, 0.9, 0.01), (0.2, 0.2, 0.1), (0.0, 1.0, 0.98)]


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
    ],
    hints=["torch.linalg.svd(matrix, full_matrices=False) gives U, σ and Vᵀ.",
           "Keep the first k columns of U, the first k σ and the first k rows of Vᵀ.",
           "left[:, :rank] * sigma[:rank] scales the columns."],
    praise="By Eckart and Young there is no closer matrix of that rank. "
           "For m × n it takes k·(m + n) numbers to write down.",
    tolerance=1e-8)

WHICH_RANK = Exercise(
    "8.2", "which rank is 8 %?", 4, spectra.kept_rank, cases=_shapes,
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
    ],
    hints=["Flatten everything behind the first dimension: n = math.prod(shape[1:]).",
           "The full rank is min(m, n).",
           "math.ceil rounds up. Mind that 0.08 * 100 is 8.0 but 0.07 * 100 is 7.000000000000001."],
    praise="So “8 %” is 32 directions in a layer of 400 units and one in a head of ten outputs.")

CENTRE = Exercise(
    "8.3", "centre task vectors", 5, spectra.centred, cases=_states,
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
    ],
    hints=["lessons: toy_models.weights.average(states) gives θ_avg.",
           "For every key: state[key] - average[key].",
           "Whole-number tensors (not tensor.is_floating_point()) stay as they are."],
    praise="They sum to zero. So at full rank θ_avg + λ·Σ τ̄_t is the average, whatever λ is: "
           "that is Eq. 3, and why CART is nothing without truncation.",
    tolerance=1e-5)

TWO_TASKS = Exercise(
    "8.4", "two tasks", 4, "c",
    wrong=[
        Wrong("a", "There are only two task vectors here, and they are not independent: write down τ̄₁ + τ̄₂."),
        Wrong("b", "λ multiplies SVD_k(τ̄₁) + SVD_k(τ̄₂). How large is that sum, when τ̄₂ = −τ̄₁?"),
        Wrong("d",
              "With two tasks you may choose the pretrained network or not: "
              "the average is (θ₁ + θ₂)/2, θ₀ does not occur in it."),
    ],
    hints=["τ̄₁ = θ₁ − (θ₁ + θ₂)/2 = (θ₁ − θ₂)/2. And τ̄₂?",
           "SVD_k(−A) = −SVD_k(A)."],
    praise="CART needs at least three tasks. "
           "The theorem's T > 2 is nowhere used in its proof, but here it matters.")

PEAK = Exercise(
    "8.5", "where does the bell peak?", 10, planted.predicted_rank, cases=_spectra,
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
    ],
    hints=["If the tasks have nothing in common, the singular values of τ̄_t are (1 − 1/T)·σ(τ_t) "
           "and σ(τ_s)/T of every other task.",
           "Truncation takes the largest first. The first foreign one is σ_1/T.",
           "Count the k with (1 − 1/T)·σ_k > σ_1/T."],
    praise="A number of directions, not a share: the width of the layer is not in it. "
           "And it grows with the number of tasks.")

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
    ],
    hints=["rows_i[:rank] @ rows_j[:rank].T holds the inner products of all pairs of rows.",
           "Its Frobenius norm is .norm().",
           "Divide by rows_i.norm() * rows_j.norm(); .item() makes it a number."],
    praise="0 for orthogonal row spaces. "
           "Now you can ask the source's question: is it lower when task vectors are centred?",
    tolerance=1e-8)

SUBSETS = Exercise(
    "8.7", "how many subsets?", 5, costs.sample_size, cases=_bounds,
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
    ],
    hints=["The margin is ε = 1.96·σ/√m. Solve for m.",
           "σ is at most (high − low)/2.",
           "math.ceil."],
    praise="Thousands of subsets for one per cent. And Popoviciu's σ is the worst case: the reading of Figure 7 "
           "says how large the measured ones are.")

EXERCISES = [TRUNCATE, WHICH_RANK, CENTRE, TWO_TASKS, PEAK, INTERFERENCE, SUBSETS]
