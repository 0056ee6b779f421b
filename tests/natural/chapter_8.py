"""Answers to the exercises of chapter 8: truncation, ranks, centring, the peak, interference, sample sizes."""
import math
from fractions import Fraction

import numpy as np
import torch

from tests.natural import Natural
from tests.natural.chapter_7 import (
    CENTRE,
    average,
    centred_by,
    centred_in_double,
    centred_in_loops,
)

# -- 8.1: SVD_k(A) ------------------------------------------------------------------------------------

def _parts(function):
    """An answer made of U, σ, Vᵀ and k."""
    return lambda matrix, rank: function(*torch.linalg.svd(matrix, full_matrices=False), rank)


def _term_by_term(places):
    """Σ σ_r·u_r·v_rᵀ over places(k), as far as there are so many."""
    def answer(matrix, rank):
        u, s, vt = torch.linalg.svd(matrix, full_matrices=False)
        found = torch.zeros_like(matrix)
        for r in places(rank):
            found += s[r] * torch.outer(u[:, r], vt[r])
        return found
    return answer


def _old_svd(matrix, rank):
    u, s, v = torch.svd(matrix)
    return u[:, :rank] @ torch.diag(s[:rank]) @ v[:rank]


def _set_to_zero(matrix, rank):
    u, s, vt = torch.linalg.svd(matrix, full_matrices=False)
    s[:rank] = 0
    return u @ torch.diag(s) @ vt


def _largest_entries(matrix, rank):
    entries = matrix.flatten()
    kept = entries.abs().topk(rank * min(matrix.shape)).indices
    return torch.zeros_like(entries).scatter(0, kept, entries[kept]).view_as(matrix)


TRUNCATE = [
    ("σ left out", _parts(lambda u, s, vt, k: u[:, :k] @ vt[:k]), "You left the singular"),
    ("σ twice", _parts(lambda u, s, vt, k: (u[:, :k] * s[:k]) @ (s[:k, None] * vt[:k])), "The singular values came"),
    ("√σ once", _parts(lambda u, s, vt, k: u[:, :k] * s[:k].sqrt() @ vt[:k]), "You took the root"),
    ("the smallest", _parts(lambda u, s, vt, k: u.flip(1)[:, :k] * s.flip(0)[:k] @ vt.flip(0)[:k]),
     "You kept the smallest"),
    ("what is cut off", _set_to_zero, "That is what truncation"),
    ("review: torch.svd, V not transposed", _old_svd, "Rows and columns of"),
    ("columns of Vᵀ", _parts(lambda u, s, vt, k: u[:, :k] * s[:k] @ vt[:, :k]),
     "The sizes do not fit, because you took"),
    ("review: k + 1", _parts(lambda u, s, vt, k: u[:, :k + 1] * s[:k + 1] @ vt[:k + 1]), "One direction too many"),
    ("k − 1, a range from 1", _term_by_term(lambda k: range(1, k)), "The largest direction is"),
    ("the k-th alone", _parts(lambda u, s, vt, k: s[k - 1] * torch.outer(u[:, k - 1], vt[k - 1])), "That is the k-th"),
    ("counted from 1", _parts(lambda u, s, vt, k: u[:, 1:k + 1] @ torch.diag(s[1:k + 1]) @ vt[1:k + 1]),
     "The formula counts from"),
    ("largest entries", _largest_entries, "You kept the largest"),
    ("first rows", lambda matrix, k: torch.cat([matrix[:k], torch.zeros_like(matrix[k:])]), "You kept the first"),
    ("the three factors", _parts(lambda u, s, vt, k: (u[:, :k], s[:k], vt[:k])), "Those are the three"),
    ("singular values alone", _parts(lambda u, s, vt, k: s[:k]), "Those are the singular"),
    ("U cut, Vᵀ whole", _parts(lambda u, s, vt, k: u[:, :k] * s[:k] @ vt), "The sizes do not fit, because you cut"),
    ("σ on the rows of U", _parts(lambda u, s, vt, k: s[:, None] * u[:, :k] @ vt[:k]), "You multiplied the rows"),
    ("nothing cut", lambda matrix, k: matrix.clone(), "That is the whole"),
    ("largest singular value for all", _parts(lambda u, s, vt, k: s[0] * u[:, :k] @ vt[:k]), "Every direction got the"),
]


# -- 8.4: ⌈γ · min(m, n)⌉ ---------------------------------------------------------------------------------

def _sides(function):
    """An answer made of γ, m and n."""
    return lambda ratio, shape: function(ratio, shape[0], math.prod(shape[1:]))


RANK = [
    ("review: rounded up as it stands", _sides(lambda g, m, n: math.ceil(g * min(m, n))), "Right but for floating"),
    ("rounded down", _sides(lambda g, m, n: int(g * min(m, n))), "You rounded down. The"),
    ("rounded down, at least one", _sides(lambda g, m, n: max(1, int(g * min(m, n)))), "That is what the"),
    ("rounded", _sides(lambda g, m, n: round(g * min(m, n))), "You rounded to the"),
    ("at least one", _sides(lambda g, m, n: max(1, math.ceil(g * min(m, n)))), "One direction always stays"),
    ("down and one more", _sides(lambda g, m, n: int(g * min(m, n)) + 1), "One too many where"),
    ("of the longer side", _sides(lambda g, m, n: math.ceil(g * max(m, n))), "A matrix has at"),
    ("of the first side", _sides(lambda g, m, n: math.ceil(g * m)), "The first dimension is"),
    ("mean of both sides", _sides(lambda g, m, n: math.ceil(g * (m + n) / 2))),
    ("of the second side", _sides(lambda g, m, n: math.ceil(g * n)), "The second side is"),
    ("two sides alone", lambda g, shape: math.ceil(g * min(shape[0], shape[1])), "Right for matrices. Of"),
    ("smallest of four", lambda g, shape: math.ceil(g * min(shape)), "Right for matrices. A"),
    ("convolution as (out·in, kh·kw)",
     lambda g, shape: math.ceil(g * min(math.prod(shape[:-1]), shape[-1]) if len(shape) == 2
                                else g * min(math.prod(shape[:2]), math.prod(shape[2:]))), "You read the convolution"),
    ("in·kh·kw added", lambda g, shape: math.ceil(g * min(shape[0], sum(shape[1:]))), "You added in, kh"),
    ("of all entries", lambda g, shape: math.ceil(g * math.prod(shape)), "That is a share"),
    ("γ rounded up", _sides(lambda g, m, n: math.ceil(g) * min(m, n)), "You rounded γ up"),
    ("full rank", _sides(lambda g, m, n: min(m, n)), "That is the full"),
    ("not rounded", _sides(lambda g, m, n: g * min(m, n)), "A number of directions"),
    ("γ in per cent", _sides(lambda g, m, n: math.ceil(g / 100 * min(m, n))), "γ is a share already"),
    ("what is cut off", _sides(lambda g, m, n: min(m, n) - math.ceil(g * min(m, n))), "That is how many"),
    ("share of the numbers", _sides(lambda g, m, n: math.ceil(g * m * n / (m + n))), "That is the rank"),
]


# -- 8.2: centred, as in 7.6 ---------------------------------------------------------------------------------

CENTRE_MORE = [
    ("the wrong way round", lambda states: [{key: average(states, key) - t if t.is_floating_point() else t
                                             for key, t in state.items()} for state in states], "The wrong way round"),
    ("divided by T", lambda states: [{key: (t - average(states, key)) / len(states) if t.is_floating_point() else t
                                      for key, t in state.items()} for state in states], "Too short: there is"),
    ("mean of the others", lambda states: [
        {key: t - (average(states, key) * len(states) - t) / (len(states) - 1) if t.is_floating_point() else t
         for key, t in state.items()} for state in states], "You measured from the mean of the other"),
    ("θ_t left in", lambda states: [{key: t + (t - average(states, key)) if t.is_floating_point() else t
                                     for key, t in state.items()} for state in states], "You added θ_t once"),
    ("plus", lambda states: [{key: t + average(states, key) if t.is_floating_point() else t
                              for key, t in state.items()} for state in states], "You added the average"),
    ("twos", lambda states: centred_by(lambda s, key: (s[0][key] + s[1][key]) / 2, states),
     "You measured from the middle"),
]


# -- 8.5: how many own directions come first -----------------------------------------------------------------

def _values(function):
    """An answer made of the own singular values of τ̄_t and the foreign ones."""
    return lambda sigma, num_tasks: function((1 - 1 / num_tasks) * sigma, sigma / num_tasks)


def _first_that_fails(sigma, num_tasks):
    return int((sigma > sigma[0] / (num_tasks - 1)).int().argmin())


def _sorted_together(sigma, num_tasks):
    own = [((1 - 1 / num_tasks) * one, True) for one in sigma.tolist()]
    foreign = [(one / num_tasks, False) for one in sigma.tolist()]
    in_order = sorted(own + foreign, key=lambda pair: -pair[0])
    return [is_own for _, is_own in in_order].index(False)


PEAK = [
    ("T for T − 1", lambda s, t: int((s > s[0] / t).sum()), "Nearly: in τ̄_t the"),
    ("at least as large", lambda s, t: int((s >= s[0] / (t - 1)).sum()), "Where the two are"),
    ("sorted together, own ones first where equal", _sorted_together, "Where the two are"),
    ("first that fails", _first_that_fails, "argmin finds the first"),
    ("index of the last", lambda s, t: int((s > s[0] / (t - 1)).sum()) - 1, "Yours is 1 less"),
    ("with the first foreign one", lambda s, t: int((s > s[0] / (t - 1)).sum()) + 1, "Yours is 1 more"),
    ("own factor forgotten", _values(lambda own, foreign: int((own > own[0]).sum())), "Your bound is too"),
    ("foreign factor forgotten", lambda s, t: int(((1 - 1 / t) * s > s[0]).sum()), "Your bound is too"),
    ("factors exchanged", lambda s, t: int((s / t > (1 - 1 / t) * s[0]).sum()), "Your bound is too"),
    ("each with its own", _values(lambda own, foreign: int((own > foreign).sum())), "You compared each own"),
    ("second foreign one", lambda s, t: int((s > s[1] / (t - 1)).sum()), "second foreign direction"),
    ("smallest foreign one", _values(lambda own, foreign: int((own > foreign[-1]).sum())),
     "You compared with the last"),
    ("all foreign ones added", _values(lambda own, foreign: int((own > foreign.sum()).sum())), "You added the foreign"),
    ("times T − 1", lambda s, t: int((s > s[0] * (t - 1)).sum()), "Your bound is too"),
    ("those behind", lambda s, t: int((s <= s[0] / (t - 1)).sum()), "You counted the directions"),
    ("the sum of their values", lambda s, t: s[s > s[0] / (t - 1)].sum(), "You added the values"),
    ("the mask", lambda s, t: s > s[0] / (t - 1), "That mask says which"),
    ("their values", lambda s, t: s[s > s[0] / (t - 1)], "Those are the singular"),
    ("as a share", lambda s, t: (s > s[0] / (t - 1)).double().mean().item(), "That is a share"),
    ("squares", lambda s, t: int((s ** 2 > s[0] ** 2 / (t - 1)).sum()), "You compared squares on"),
    ("of every task", lambda s, t: t * int((s > s[0] / (t - 1)).sum()), "You counted for every"),
    ("a T-th of all", lambda s, t: math.ceil(len(s) / t), "You gave every task"),
    ("nine tenths of the square", lambda s, t: int((s.square().cumsum(0) < 0.9 * s.square().sum()).sum()) + 1,
     "You keep nine tenths"),
    ("above the mean", lambda s, t: int((s > s.mean()).sum()), "You compared with the mean"),
]


# -- 8.6: ‖Σ̃_i Ṽ_i Ṽ_jᵀ Σ̃_j‖_F -----------------------------------------------------------------------------

def _inner(i, j, k):
    """Of the first k rows, normalised by all."""
    return (i / i.norm())[:k] @ (j / j.norm())[:k].T


def _unit(rows):
    return rows / rows.norm(dim=1, keepdim=True)


OVERLAP = [
    ("as printed", lambda i, j, k: ((i.norm(dim=1) * j.norm(dim=1))[:k].norm() / i.norm() / j.norm()).item(),
     "That is Eq. 5"),
    ("the wrong one transposed", lambda i, j, k: ((i[:k].T @ j[:k]).norm() / (i.norm() * j.norm())).item(),
     "That is Eq. 5"),
    ("not normalised", lambda i, j, k: (i[:k] @ j[:k].T).norm().item(), "Right up to the"),
    ("norm of those kept", lambda i, j, k: ((i[:k] @ j[:k].T).norm() / (i[:k].norm() * j[:k].norm())).item(),
     "You divided by the norm of"),
    ("squared", lambda i, j, k: _inner(i, j, k).square().sum().item(), "That is the square"),
    ("row with row", lambda i, j, k: (i[:k] * j[:k]).sum(1).norm().item() / (i.norm() * j.norm()).item(),
     "Only the pairs of"),
    ("review: spectral norm", lambda i, j, k: torch.linalg.matrix_norm(_inner(i, j, k), 2).item(),
     "That is the spectral"),
    ("review: sum of absolute values", lambda i, j, k: _inner(i, j, k).abs().sum().item(), "You added absolute values"),
    ("review: cosine", lambda i, j, k: _inner(i, j, k).trace().item(), "That is the cosine"),
    ("nuclear norm", lambda i, j, k: torch.linalg.matrix_norm(_inner(i, j, k), "nuc").item(), "That is the nuclear"),
    ("directions alone", lambda i, j, k: (_unit(i)[:k] @ _unit(j)[:k].T).norm().item(), "You gave all rows"),
    ("divided by the largest", lambda i, j, k: ((i[:k] @ j[:k].T).norm() / (i[0].norm() * j[0].norm())).item(),
     "You divided by the largest"),
    ("divided by the sum", lambda i, j, k: ((i[:k] @ j[:k].T).norm()
                                            / (i.norm(dim=1).sum() * j.norm(dim=1).sum())).item(),
     "You divided by the sum"),
    ("divided by squares", lambda i, j, k: ((i[:k] @ j[:k].T).norm() / (i.norm() * j.norm()) ** 2).item(),
     "You divided by the norms'"),
    ("divided by the whole product", lambda i, j, k: ((i[:k] @ j[:k].T).norm() / (i @ j.T).norm()).item(),
     "by the norm of the product"),
    ("distance", lambda i, j, k: (i[:k] - j[:k]).norm().item()),
    ("one normalised", lambda i, j, k: ((i[:k] @ j[:k].T).norm() / i.norm()).item(), "You normalised only one"),
    ("one cut", lambda i, j, k: (_inner(i, j, len(i))[:k]).norm().item(), "You cut only one"),
    ("rank forgotten", lambda i, j, k: _inner(i, j, len(i)).norm().item(), "All rows came in"),
    ("columns cut", lambda i, j, k: ((i[:, :k] @ j[:, :k].T).norm() / (i.norm() * j.norm())).item(),
     "You cut columns. The"),
    ("sum of the products", lambda i, j, k: _inner(i, j, k).sum().item(), "You added the inner"),
    ("root of the mean square", lambda i, j, k: _inner(i, j, k).square().mean().sqrt().item(), "You took the mean"),
    ("largest product", lambda i, j, k: _inner(i, j, k).abs().max().item(), "That is the largest"),
    ("norm of every row", lambda i, j, k: _inner(i, j, k).norm(dim=1), "With dim=1 you get"),
    ("the matrix", _inner, "Those are the inner"),
    ("last rows", lambda i, j, k: _inner(i.flip(0), j.flip(0), k).norm().item(), "You took the weakest"),
    ("k + 1", lambda i, j, k: _inner(i, j, k + 1).norm().item(), "It would be right"),
]


# -- 8.7: ⌈(1.96 σ/ε)²⌉ ------------------------------------------------------------------------------------------

SUBSETS = [
    ("b − a for σ", lambda a, b, e: math.ceil((1.96 * (b - a) / e) ** 2), "You took b −"),
    ("square forgotten", lambda a, b, e: math.ceil(1.96 * (b - a) / 2 / e), "The square is missing"),
    ("rounded down", lambda a, b, e: int((1.96 * (b - a) / 2 / e) ** 2), "Round up: with fewer"),
    ("review: rounded", lambda a, b, e: round((1.96 * (b - a) / 2 / e) ** 2), "You rounded to the"),
    ("down and one more", lambda a, b, e: int((1.96 * (b - a) / 2 / e) ** 2) + 1, "One too many where"),
    ("at least one", lambda a, b, e: max(1, math.ceil((1.96 * (b - a) / 2 / e) ** 2)), "Right, except that you"),
    ("1.96 outside the square", lambda a, b, e: math.ceil(1.96 * ((b - a) / 2 / e) ** 2), "1.96 belongs into the"),
    ("ε outside the square", lambda a, b, e: math.ceil((1.96 * (b - a) / 2) ** 2 / e), "ε belongs into the"),
    ("review: the variance for σ", lambda a, b, e: math.ceil((1.96 * (b - a) ** 2 / 4 / e) ** 2),
     "You put the variance"),
    ("parentheses forgotten", lambda a, b, e: math.ceil((1.96 * (b - a / 2) / e) ** 2), "Python divides before it"),
    ("2 in place of 1.96", lambda a, b, e: math.ceil(((b - a) / e) ** 2), "You took 2 standard"),
    ("no square but ε's", lambda a, b, e: math.ceil(1.96 * (b - a) / 2 / e ** 2)),
    ("1.96 squared twice", lambda a, b, e: math.ceil((1.96 ** 2 * (b - a) / 2 / e) ** 2)),
    ("90 per cent", lambda a, b, e: math.ceil((1.645 * (b - a) / 2 / e) ** 2), "1.645 standard errors hold"),
    ("99 per cent", lambda a, b, e: math.ceil((2.576 * (b - a) / 2 / e) ** 2), "2.576 standard errors hold"),
    ("σ of a uniform distribution", lambda a, b, e: math.ceil((1.96 * (b - a) / 12 ** 0.5 / e) ** 2), "(b − a)/√12 is"),
    ("σ of a yes or no", lambda a, b, e: math.ceil((1.96 * 0.5 / e) ** 2), "σ = ½ is"),
    ("the middle for σ", lambda a, b, e: math.ceil((1.96 * (a + b) / 2 / e) ** 2), "You took the middle"),
    ("high for σ", lambda a, b, e: math.ceil((1.96 * b / e) ** 2), "You took the upper"),
    ("rounded up, then squared", lambda a, b, e: math.ceil(1.96 * (b - a) / 2 / e) ** 2, "You rounded up before"),
    ("not rounded", lambda a, b, e: (1.96 * (b - a) / 2 / e) ** 2, "A number of subsets"),
    ("1.96 forgotten", lambda a, b, e: math.ceil(((b - a) / 2 / e) ** 2), "1.96 is missing: one"),
    ("ε multiplied", lambda a, b, e: math.ceil((1.96 * (b - a) / 2 * e) ** 2), "Did you multiply by the margin"),
    ("σ a quarter", lambda a, b, e: math.ceil((1.96 * (b - a) / 4 / e) ** 2), "You halved twice. σ"),
    ("square root", lambda a, b, e: math.ceil((1.96 * (b - a) / 2 / e) ** 0.5), "You took the root"),
]

WRONG = [
    *(Natural("8.1", *one) for one in TRUNCATE),
    *(Natural("8.4", *one) for one in RANK),
    *(Natural("8.2", *one) for one in (*CENTRE, *CENTRE_MORE)),
    Natural("8.3", "few tasks", "a", "write down τ̄₁ + τ̄₂"),
    Natural("8.3", "λ", "(B)", "How large is that sum"),
    Natural("8.3", "two cancel to θ₀", "D", "θ₀ does not occur in it"),
    Natural("8.3", "in words", "the average", "choose one of a, b, c, d"),
    Natural("8.3", "a fifth letter", "e", "choose one of a, b, c, d"),
    *(Natural("8.5", *one) for one in PEAK),
    *(Natural("8.6", *one) for one in OVERLAP),
    *(Natural("8.7", *one) for one in SUBSETS),
]


# -- right ones in another dress ----------------------------------------------------------------------------

def _by_projection(matrix, rank):
    values, vectors = torch.linalg.eigh(matrix @ matrix.T)
    own = vectors[:, len(values) - rank:]
    return own @ own.T @ matrix


def _in_numpy(matrix, rank):
    u, s, vt = np.linalg.svd(np.asarray(matrix))
    return u[:, :rank] @ np.diag(s[:rank]) @ vt[:rank]


def _by_old_svd(matrix, rank):
    u, s, v = torch.svd(matrix.float())
    return u[:, :rank] @ torch.diag(s[:rank]) @ v[:, :rank].T


def _by_a_loop(sigma, num_tasks):
    count = 0
    for one in sigma.tolist():
        if (1 - 1 / num_tasks) * one <= sigma[0].item() / num_tasks:
            break
        count += 1
    return count


RIGHT = [
    Natural("8.1", "numpy, full matrices", _in_numpy),
    Natural("8.1", "term by term", _term_by_term(range)),
    Natural("8.1", "float32, torch.svd", _by_old_svd),
    Natural("8.1", "by projection", _by_projection),
    Natural("8.4", "fractions", _sides(lambda g, m, n: math.ceil(Fraction(str(g)) * min(m, n)))),
    Natural("8.4", "review: numpy's float", _sides(lambda g, m, n: np.ceil(round(g * min(m, n), 6)))),
    Natural("8.4", "a small number off, whole division", lambda g, shape: -int(
        -(g * min(shape[0], shape.numel() // shape[0]) - 1e-9) // 1)),
    Natural("8.2", "loops", centred_in_loops),
    Natural("8.2", "float64", centred_in_double),
    Natural("8.3", "review: a capital", "C"),
    Natural("8.3", "as a list's mark", "(c)"),
    Natural("8.5", "review: a tensor", lambda s, t: (s > s[0] / (t - 1)).sum()),
    Natural("8.5", "as the text has it", _values(lambda own, foreign: float((own > foreign.max()).sum()))),
    Natural("8.5", "a loop that breaks", _by_a_loop),
    Natural("8.5", "numpy", lambda s, t: np.count_nonzero(np.asarray(s) * (t - 1) > np.asarray(s)[0])),
    Natural("8.6", "a tensor", lambda i, j, k: _inner(i, j, k).norm()),
    Natural("8.6", "numpy", lambda i, j, k: np.linalg.norm(np.asarray(_inner(i, j, k)))),
    Natural("8.6", "float32", lambda i, j, k: _inner(i.float(), j.float(), k).norm().item()),
    Natural("8.6", "by traces", lambda i, j, k: ((i[:k].T @ i[:k] @ j[:k].T @ j[:k]).trace().sqrt()
                                                 / (i.norm() * j.norm())).item()),
    Natural("8.7", "review: numpy's float", lambda a, b, e: np.ceil((1.96 * (b - a) / 2 / e) ** 2)),
    Natural("8.7", "multiplied out", lambda a, b, e: math.ceil(1.96 ** 2 * (b - a) ** 2 / (4 * e ** 2))),
    Natural("8.7", "a tensor", lambda a, b, e: torch.tensor((1.96 * (b - a) / (2 * e)) ** 2,
                                                           dtype=torch.float64).ceil()),
]
