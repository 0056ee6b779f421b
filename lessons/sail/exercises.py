"""The exercises of chapters 9 and 10."""
import math

import torch

from lessons.kit.exercise import Exercise, Wrong
from lessons.kit.judging.running import Unfit
from lessons.sail.algorithms import distances, mixing, quadratic, tables

# -- cases -----------------------------------------------------------------------------------------

def _triangles():
    return [(3.0, 5.0, 4.0), (5.0, 3.0, 4.0), (1.0, 2.5, 2.0), (4.0, 1.5, 3.0), (2.0, 2.0, 1.0)]


def _errors():
    generator = torch.Generator().manual_seed(0)
    cases = []
    for d, condition, eta, steps in ((3, 10.0, 0.9, 4), (5, 50.0, 0.5, 12), (2, 4.0, 0.8, 0), (4, 100.0, 0.9, 1)):
        e1, e2 = torch.randn(2, d, generator=generator, dtype=torch.float64)
        cases.append((e1, e2, quadratic.spectrum(d, condition), eta, steps))
    return cases


def _kernels():
    """Of two samples from one distribution MMD² without bias is often negative, as the last one is."""
    generator = torch.Generator().manual_seed(1)
    kernel = distances.gaussian(1.0)
    cases = []
    for n, m, shift in ((4, 3, 0.0), (5, 5, 1.0), (2, 6, 2.0), (9, 9, 0.0)):
        a = torch.randn(n, 2, generator=generator, dtype=torch.float64)
        b = torch.randn(m, 2, generator=generator, dtype=torch.float64) + shift
        cases.append((kernel(a, a), kernel(b, b), kernel(a, b)))
    return cases


def _layers():
    """The last case copies one unit three times, the second copies none of its last two."""
    generator = torch.Generator().manual_seed(2)
    cases = []
    for units, copied in ((3, [0, 1, 2]), (4, [0, 1]), (3, [1, 1, 1, 0])):
        parts = [torch.randn(*shape, generator=generator, dtype=torch.float64)
                 for shape in ((units, 2), (units,), (2, units))]
        cases.append((*parts, torch.tensor(copied)))
    return cases


def _matrices():
    """Two that are positive definite, one of them with a negative share; one that is indefinite, one that is
    singular."""
    four = torch.tensor([[0.5, 1, -0.5], [1, 2, 1], [-0.5, 1, 0.5]], dtype=torch.float64)
    shifted = torch.tensor([[2.0, 0.5, 0.2], [0.5, 1.0, 0.1], [0.2, 0.1, 3.0]], dtype=torch.float64)
    outside = torch.tensor([[1.0, 1.4], [1.4, 3.0]], dtype=torch.float64)
    singular = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64)
    two_negative = torch.tensor([[-1.0, 0.2, 0], [0.2, -2.0, 0], [0, 0, 1]], dtype=torch.float64)
    return [(shifted,), (outside,), (four,), (singular,), (two_negative,)]


def _tables():
    rows = {name: list(row.values()) for name, row in tables.TABLE_2.items()}
    return [(rows["ARC-Easy"], 570), (rows["ARC-Easy"], 1366), (rows["SciQ"], 1000), (rows["SciQ"], 1384),
            (rows["PIQA"], 1838), ([33.33, 66.67, 50.0], 3), ([33.40, 66.67, 12.0], 3), (rows["COPA"], 100)]


def _copies():
    """Every unit twice, one three times and one once, and as many shares as units."""
    generator = torch.Generator().manual_seed(4)
    cases = []
    for above, which in ((2, [0, 1, 2, 0, 1, 2]), (3, [0, 1, 1, 1, 2]), (1, [0, 0])):
        weight = torch.randn(above, max(which) + 1, generator=generator, dtype=torch.float64)
        drawn = 0.2 + torch.rand(len(which), generator=generator, dtype=torch.float64)
        cases.append((weight, torch.tensor(which), drawn))
    return cases


def _blocks():
    generator = torch.Generator().manual_seed(5)
    shapes = {"into.weight": (4, 4), "into.bias": (4,), "out.weight": (4, 4), "out.bias": (4,)}
    return [({name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()},)
            for _ in range(2)]


# -- what of a wider layer is compared -------------------------------------------------------------

def computed(layers) -> dict:
    """What two layers compute on forty inputs, how many units there are, whether all are listened to, and that each is
    a copy: in which direction its weights and bias point. So the outgoing weights may be shared among copies in any
    way, or the incoming ones divided.

    Raises:
        Unfit: these are no three tensors that fit together.
    """
    wanted = "give back three tensors: weight (units, inputs), bias (units,), weight_above (above, units)"
    if not isinstance(layers, (tuple, list)) or len(layers) != 3:
        raise Unfit(f"{wanted}.")
    weight, bias, above = (_as_tensor(layer, wanted).double() for layer in layers)
    if weight.ndim != 2 or bias.shape != weight.shape[:1] or above.shape[1:] != bias.shape:
        raise Unfit(f"{wanted}. Yours are {tuple(weight.shape)}, {tuple(bias.shape)} and {tuple(above.shape)}.")
    rows = torch.cat([weight, bias[:, None]], 1)
    heard = int((above != 0).any(0).sum())
    inputs = torch.randn(40, weight.shape[1], generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return {"units": len(bias), "heard": heard, "output": (inputs @ weight.T + bias).relu() @ above.T,
            "directions": rows / rows.norm(dim=1, keepdim=True)}


def added(block) -> dict:
    """What a residual block adds to forty inputs, whether that is anything beyond rounding, the shapes of its tensors,
    and whether it can learn: whether the gradient of its last weights is anything but 0.

    Raises:
        Unfit: this is no block.
    """
    names = ("into.weight", "into.bias", "out.weight", "out.bias")
    if not isinstance(block, dict) or set(block) != set(names):
        raise Unfit(f"give back a dictionary with the block's own names: {', '.join(names)}.")
    block = {name: _as_tensor(block[name], f"give back tensors, but {name!r} is none") for name in names}
    shapes = {name: tuple(tensor.shape) for name, tensor in block.items()}
    width = shapes["into.weight"][1]
    inputs = torch.randn(40, width, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    inside = (inputs @ block["into.weight"].to(inputs).T + block["into.bias"].to(inputs)).relu()
    adds = inside @ block["out.weight"].to(inputs).T + block["out.bias"].to(inputs)
    return {"adds": adds, "adds something": bool((adds.abs() > 1e-12).any()), "shapes": str(shapes),
            "can learn": bool((inside.abs().sum(0) > 0).any())}


def _as_tensor(value, wanted):
    """A tensor, or the one that a list or an array is worth."""
    try:
        tensor = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Unfit(f"{wanted}.") from error
    if tensor.is_complex():
        raise Unfit("give back real numbers: yours are complex.")
    return tensor


# -- the solutions that are shown ------------------------------------------------------------------

def nearest_share(d_a, d_b, d_ab):
    return (d_b ** 2 + d_ab ** 2 - d_a ** 2) / (2 * d_ab ** 2)


def best_share(e1, e2, curvatures, eta, steps):
    weight = curvatures * (1 - eta * curvatures) ** (2 * steps)
    apart = e2 - e1
    return ((weight * apart * e2).sum() / (weight * apart ** 2).sum()).item()


def share_of_gain(random, parent, best):
    return (random - parent) / (random - best)


def unbiased_mmd(within_a, within_b, between):
    def others(within):
        n = len(within)
        return (within.sum() - within.diagonal().sum()) / (n * (n - 1))
    return (others(within_a) + others(within_b) - 2 * between.mean()).item()


def wider(weight, bias, weight_above, copied):
    which = torch.cat([torch.arange(len(bias)), copied])
    count = torch.bincount(which)
    return weight[which], bias[which], (weight_above / count)[:, which]


def shares(H):
    if torch.linalg.eigvalsh(H)[0] <= 1e-9:
        return mixing.on_simplex(H)
    solved = torch.linalg.solve(H, torch.ones(len(H), dtype=H.dtype))
    return solved / solved.sum()


def fits(percentages, questions):
    count = 0
    for percentage in percentages:
        right = round(percentage * questions / 100)
        count += abs(100 * right / questions - percentage) <= 0.005
    return count


# -- wrong answers in many dresses -----------------------------------------------------------------

def _best(power=2, curvature=True, rate=None, turned=False):
    """The best share with another weight, or for the other parent."""
    def answer(e1, e2, curvatures, eta, steps):
        factor = (1 - (eta if rate is None else rate) * curvatures) ** (power * steps)
        weight = curvatures * factor if curvature else factor
        apart, own = (e1 - e2, e1) if turned else (e2 - e1, e2)
        return ((weight * apart * own).sum() / (weight * apart ** 2).sum()).item()
    return answer


def _mmd(divide=lambda n: n * (n - 1), cross=2.0, then=lambda value: value, diagonal=False):
    """MMD² with other denominators, another cross term, or something done to it."""
    def answer(within_a, within_b, between):
        def mean(within):
            total = within.sum() if diagonal else within.sum() - within.diagonal().sum()
            return total / divide(len(within))
        return then((mean(within_a) + mean(within_b) - cross * between.mean()).item())
    return answer


def _between(mean):
    """MMD² with another mean of the kernel between the samples."""
    return lambda a, b, between: _mmd(cross=0.0)(a, b, between) - 2 * mean(between).item()


def _copied_rows(tensor, which, count):
    return tensor[which]


def _shared(tensor, which, count):
    return (tensor / count)[:, which]


def _wider(into=_copied_rows, biased=None, out=_shared):
    """A wider layer with other incoming weights, biases or outgoing weights."""
    def answer(weight, bias, weight_above, copied):
        which = torch.cat([torch.arange(len(bias)), copied])
        count = torch.bincount(which)
        made = biased(bias, which, count) if biased else into(bias, which, count)
        return into(weight, which, count), made, out(weight_above, which, count)
    return answer


def _divided_rows(tensor, which, count):
    return (tensor / (count[:, None] if tensor.ndim == 2 else count))[which]


def _as_it_is(tensor, which, count):
    return tensor[:, which]


def _new_bias_zero(tensor, which, count):
    return torch.cat([tensor, tensor.new_zeros(len(which) - len(tensor))])


def _copies_first(weight, bias, weight_above, copied):
    which = torch.cat([copied, torch.arange(len(bias))])
    return weight[which], bias[which], (weight_above / torch.bincount(which))[:, which]


def _last_number_alone(weight_above, which, drawn):
    total = torch.zeros(weight_above.shape[1], dtype=drawn.dtype)
    total[which] += drawn
    return weight_above[:, which] * (drawn / total[which])


def _softmax_of_copies(weight_above, which, drawn):
    return shared(weight_above, which, drawn.exp())


def _halved(tensor, which, count):
    return torch.where(count > 1, tensor / 2, tensor)[:, which]


def _all_halved(tensor, which, count):
    return tensor[:, which] / 2


def _old_ones_whole(tensor, which, count):
    old = len(count)
    return torch.cat([tensor, (tensor / count)[:, which[old:]]], 1)


def _new_ones_unheard(tensor, which, count):
    return torch.cat([tensor, tensor.new_zeros(len(tensor), len(which) - len(count))], 1)


def _solved(H):
    return torch.linalg.pinv(H) @ torch.ones(len(H), dtype=H.dtype)


def _where_it_may(H, then):
    """A formula where H is positive definite, else the simplex."""
    return mixing.on_simplex(H) if torch.linalg.eigvalsh(H)[0] <= 1e-9 else then(H)


def _normalised(vector):
    return vector / vector.sum()


def shared(weight_above, which, drawn):
    total = torch.zeros(weight_above.shape[1], dtype=drawn.dtype).index_add(0, which, drawn)
    return weight_above[:, which] * (drawn / total[which])


def silent(block):
    return {name: torch.zeros_like(tensor) if name.startswith("out.") else tensor for name, tensor in block.items()}


# -- exercises -------------------------------------------------------------------------------------

EXERCISES = [
    Exercise(
        "9.1", "the nearest mixture", 6, mixing.nearest_share,
        teaching=nearest_share,
        cases=_triangles,
        wrong=[
            Wrong(mixing.printed_share,
                  "That is the other parent's share: d_a and d_b have changed places. Try d_a = 0: then A is θ* "
                  "itself, and its share must be 1. (The source prints it your way in two of four places.)"),
            Wrong(lambda d_a, d_b, d_ab: (d_b + d_ab - d_a) / (2 * d_ab),
                  "The law of cosines is about squares of the three lengths."),
            Wrong(lambda d_a, d_b, d_ab: (d_b ** 2 + d_ab ** 2 - d_a ** 2) / d_ab ** 2,
                  "A 2 is missing: with d_a = d_b the nearest point is half-way, at ½."),
            Wrong(lambda d_a, d_b, d_ab: (d_b ** 2 + d_ab ** 2 - d_a ** 2) / (2 * d_ab),
                  "That is a length: how far from B the nearest point lies. A share is that over d_ab."),
            Wrong(lambda d_a, d_b, d_ab: (d_b ** 2 + d_ab ** 2 - d_a ** 2) / (2 * d_b * d_ab),
                  "That is the cosine of the angle at B. The share is the leg along the line, d_b·cos, over d_ab."),
            Wrong(lambda d_a, d_b, d_ab: min(1.0, max(0.0, nearest_share(d_a, d_b, d_ab))),
                  "You cut it off at 0 and 1. Asked is the nearest point of the whole line: it may lie beyond a "
                  "parent."),
            Wrong(lambda d_a, d_b, d_ab: d_b / (d_a + d_b),
                  "Shares by inverse distance do not know how far the parents are from each other, and are never "
                  "outside [0, 1]. Write ‖γ·a + (1 − γ)·b‖² out and make it smallest."),
            Wrong(lambda d_a, d_b, d_ab: d_b ** 2 / (d_a ** 2 + d_b ** 2),
                  "That holds if the two errors stand at right angles, where d_ab² is d_a² + d_b², and if they are "
                  "equally long. In general d_ab is given."),
            Wrong(lambda d_a, d_b, d_ab: math.sqrt(max(0.0, d_b ** 2 - (nearest_share(d_a, d_b, d_ab) * d_ab) ** 2)),
                  "That is how far the nearest point is from θ*. Asked is where it lies: γ."),
            Wrong(lambda d_a, d_b, d_ab: (d_a ** 2 + d_b ** 2 - d_ab ** 2) / (2 * d_ab ** 2),
                  "You took the angle at θ*: its inner product is ½(d_a² + d_b² − d_ab²). The line leaves from B, so "
                  "it is the angle there."),
        ],
        hints=["‖γ·a + (1 − γ)·b‖² with a = A − θ*, b = B − θ* is γ·d_a² + (1 − γ)·d_b² − γ(1 − γ)·d_ab².",
               "Its derivative by γ is d_a² − d_b² − (1 − 2γ)·d_ab².",
               "Set it to 0 and solve for γ."],
        praise="Three lengths of a triangle, and nothing else: no linear model, no data sets. It holds for any two "
               "networks and any third one. What it says of their loss is another question."),

    Exercise(
        "9.2", "the best share after T steps", 8, quadratic.best_share,
        teaching=best_share,
        cases=_errors,
        wrong=[
            Wrong(lambda e1, e2, curvatures, eta, steps: _best(0, curvature=False)(e1, e2, curvatures, eta, steps),
                  "That is the point nearest to θ*. A long error in a flat direction costs little, so weigh the "
                  "directions by their curvature, and by what the steps leave of them."),
            Wrong(_best(0), "That has the lowest loss before any step. The steps shrink error i by (1 − η·aᵢ) each."),
            Wrong(_best(1), "The steps multiply the error by (1 − η·a)ᵀ, and the loss has its square: 2T."),
            Wrong(_best(2, curvature=False), "The loss is ½·Σ aᵢ·eᵢ²: the curvatures themselves are missing in the "
                                             "weight."),
            Wrong(_best(2, rate=1.0), "The step size η is missing in (1 − η·a)."),
            Wrong(lambda e1, e2, curvatures, eta, steps: 1 - best_share(e1, e2, curvatures, eta, steps),
                  "That is the second parent's share. γ belongs to the first: at γ = 1 the start is θ₁."),
            Wrong(lambda e1, e2, curvatures, eta, steps: -best_share(e1, e2, curvatures, eta, steps),
                  "The sign: from e₂ the way to e₁ is e₁ − e₂, and the best point is where it has used up what e₂ has "
                  "along it, ⟨e₂ − e₁, e₂⟩."),
            Wrong(lambda e1, e2, curvatures, eta, steps:
                  min(1.0, max(0.0, best_share(e1, e2, curvatures, eta, steps))),
                  "You cut it off at 0 and 1. The best start may lie beyond a parent."),
            Wrong(lambda e1, e2, curvatures, eta, steps: _best(2)(e1, e2, curvatures, eta, 1),
                  "You took one step. There are T of them."),
            Wrong(lambda e1, e2, curvatures, eta, steps: (
                quadratic.loss_after(e2, curvatures, eta, steps)
                / (quadratic.loss_after(e1, curvatures, eta, steps)
                   + quadratic.loss_after(e2, curvatures, eta, steps))).item(),
                  "Shares by the parents' own losses leave out whether their errors cancel. Write the loss of the "
                  "mixture out and make it smallest."),
        ],
        hints=["The mixture's error is e₂ + γ·(e₁ − e₂), and after T steps its entry i is multiplied by (1 − η·aᵢ)ᵀ.",
               "So the loss is ½·Σ wᵢ·(e₂ᵢ + γ·(e₁ᵢ − e₂ᵢ))² with wᵢ = aᵢ·(1 − η·aᵢ)²ᵀ.",
               "Exercise 9.1 again, with inner products that have the weights w: γ = ⟨e₂ − e₁, e₂⟩/‖e₁ − e₂‖²."],
        praise="The best γ belongs to a number of steps. What the steps will mend anyway need not be mended by mixing.",
        tolerance=1e-7),

    Exercise(
        "9.3", "how much did mixing add?", 4, share_of_gain,
        cases=lambda: [(1.4, 0.4, 0.36), (2.3, 1.0, 0.7), (1.0, 1.3, 0.9), (0.8, 0.5, 0.5), (2.0, 0.6, 0.1)],
        wrong=[
            Wrong(lambda random, parent, best: parent / best,
                  "A quotient of two losses does not know where training begins without any parent. Both gains are "
                  "counted from the loss of random weights."),
            Wrong(lambda random, parent, best: best / parent,
                  "A quotient of two losses does not know where training begins without any parent, and a lower loss "
                  "is better. Both gains are counted from the loss of random weights."),
            Wrong(lambda random, parent, best: random - parent,
                  "That is the parent's own gain, in nats. Asked is its share: divide by the gain of the best "
                  "mixture."),
            Wrong(lambda random, parent, best: (parent - best) / (random - best),
                  "That is the share that mixing added. Asked is the share that the parent has without it."),
            Wrong(lambda random, parent, best: (random - best) / (random - parent),
                  "You divided the wrong way round: the parent's gain stands above, that of the best mixture below."),
            Wrong(lambda random, parent, best: (random - parent) / random,
                  "You divided by the loss of random weights. No mixture gains all of that: divide by the gain of the "
                  "best one."),
            Wrong(lambda random, parent, best: (parent - random) / (random - best),
                  "The sign: a lower loss is a gain, so it is random − parent."),
            Wrong(lambda random, parent, best: max(0.0, (random - parent) / (random - best)),
                  "You cut it off at 0. A parent can be worse than random weights, and then its share is negative."),
        ],
        hints=["The best mixture gains random − best over random weights.",
               "The parent alone gains random − parent.",
               "Divide the second by the first."],
        praise="At 1 mixing added nothing, and at 0 the parent alone is no better than random weights. Without this "
               "number a head start looks like the work of the mixture."),

    Exercise(
        "9.4", "MMD² without bias", 8, distances.unbiased_mmd,
        teaching=unbiased_mmd,
        cases=_kernels,
        wrong=[
            Wrong(distances.biased_mmd,
                  "You kept the diagonals: the kernel of a point with itself, always 1. They make two samples of one "
                  "distribution look different. Leave them out, and divide by n(n − 1)."),
            Wrong(_mmd(cross=1.0), "The cross term comes twice: k(a, b) and k(b, a). It is ‖mean a − mean b‖², "
                                   "multiplied out."),
            Wrong(_mmd(then=lambda value: math.sqrt(max(0.0, value))),
                  "You took the root. MMD² is asked, which may be negative when it is without bias."),
            Wrong(_mmd(then=lambda value: max(0.0, value)),
                  "You cut it off at 0. Without bias means right on average, so it must be allowed to come out "
                  "negative."),
            Wrong(_mmd(divide=lambda n: n ** 2),
                  "The diagonals are out of the sums, but you still divide by n². There are n(n − 1) pairs left."),
            Wrong(_mmd(divide=lambda n: n * (n - 1), diagonal=True),
                  "You divide by the number of pairs of different points, but the diagonals are still in the sums."),
            Wrong(_mmd(cross=-2.0), "The sign of the cross term: points of different samples that are alike make the "
                                    "distance smaller."),
            Wrong(_mmd(then=lambda value: value / 2), "Half of it: each of the two means within a sample counts "
                                                      "fully."),
            Wrong(lambda within_a, within_b, between: (within_a.sum() + within_b.sum() - 2 * between.sum()).item(),
                  "These are sums. Take means over pairs, or samples of other sizes give other distances."),
            Wrong(lambda within_a, within_b, between: _mmd()(within_a, within_b, between)
                  + 2 * (between.mean() - _off_diagonal(between)).item(),
                  "The diagonal of the matrix between the samples is nothing special: those are two different points. "
                  "Take the mean of all of it."),
            Wrong(_between(lambda between: (between.sum() - between.diagonal().sum()) / between.numel()),
                  "You took a diagonal out of the matrix between the samples. No point stands there with itself: take "
                  "the mean of all of it."),
            Wrong(_between(lambda between: (between.sum() - between.diagonal().sum())
                           / (len(between) * (len(between) - 1))),
                  "n(n − 1) counts the pairs within one sample. Between the samples all n·m pairs count, the diagonal "
                  "too."),
            Wrong(_between(lambda between: between.sum() / len(between) ** 2),
                  "Between the samples there are n·m pairs, not n²: take the mean of all of that matrix."),
        ],
        hints=["MMD² = E k(a, a') + E k(b, b') − 2·E k(a, b).",
               "In the first two, a and a' are different points: take the diagonal's sum away, and divide by n(n − 1).",
               "within.diagonal().sum() is the diagonal's sum."],
        praise="With this, two samples of one distribution have distance zero on average, however small. And γ* from "
               "it is noise over noise where the parents' data are alike.",
        tolerance=1e-8),

    Exercise(
        "9.5", "shares for many parents", 8, shares,
        cases=_matrices,
        wrong=[
            Wrong(lambda H: _where_it_may(H, _solved), "The shares must sum to 1: divide H⁻¹e by the sum of its "
                                                       "entries."),
            Wrong(lambda H: _normalised(_solved(H)),
                  "Right where H is positive definite. Where it is not, this may be a saddle point or divide by nearly "
                  "nothing: look at the lowest eigenvalue first, and take mixing.on_simplex(H)."),
            Wrong(lambda H: mixing.on_simplex(H) if (_normalised(_solved(H)) < 0).any() else _normalised(_solved(H)),
                  "That asks whether all shares are positive, as the source does. They may be so at a saddle, and "
                  "negative where H is positive definite. Look at the lowest eigenvalue."),
            Wrong(lambda H: _normalised(_normalised(_solved(H)).clamp(min=0)),
                  "Cutting off the negative shares and stretching the rest is not the best among shares that are not "
                  "negative: who is left should then share anew. And negative shares are allowed where H is positive "
                  "definite."),
            Wrong(lambda H: _normalised(1 / H.diagonal()),
                  "Shares by inverse distance use the diagonal alone. Whether two parents err in the same direction "
                  "stands in the other entries."),
            Wrong(mixing.on_simplex,
                  "That is the way out. Where H is positive definite, shares may be negative, and Eq. 12 gives them."),
            Wrong(lambda H: _where_it_may(H, lambda H: _solved(H) / _solved(H).norm()),
                  "You gave the vector the length 1. Shares must sum to 1."),
            Wrong(lambda H: _normalised(1 / H.sum(1)),
                  "1 over the row sums is not H⁻¹e: solve the linear system H·x = e."),
            Wrong(lambda H: (-H.diagonal()).softmax(0),
                  "A softmax of distances sums to 1, but it makes nothing smallest. Solve H·x = e and divide by the "
                  "sum."),
            Wrong(lambda H: torch.full((len(H),), 1 / len(H), dtype=H.dtype),
                  "That is the uniform soup: right only where H is the same for all parents."),
            Wrong(lambda H: mixing.on_simplex(H) if torch.linalg.det(H) <= 1e-9 else _normalised(_solved(H)),
                  "A positive determinant is not enough: two negative eigenvalues multiply to a positive number. Look "
                  "at the lowest eigenvalue."),
        ],
        hints=["torch.linalg.eigvalsh(H)[0] is the lowest eigenvalue.",
               "Where it is above 0 (say 1e-9): x = torch.linalg.solve(H, ones), then x / x.sum().",
               "Otherwise mixing.on_simplex(H), the best shares that are not negative."],
        praise="With distances of parameters H is a matrix of inner products and never indefinite. With squared "
               "total variations it often is, and the printed formula may then return a saddle point without a word.",
        tolerance=1e-7),

    Exercise(
        "9.6", "how many questions were there?", 6, tables.fits,
        teaching=fits,
        cases=_tables,
        wrong=[
            Wrong(lambda percentages, questions: sum(
                abs(round(p * questions) / questions - p) < 0.005 for p in percentages),
                  "These are percentages: divide by 100 before you count questions."),
            Wrong(lambda percentages, questions: all(
                abs(100 * round(p * questions / 100) / questions - p) <= 0.005 for p in percentages),
                  "That says whether all of them fit. Asked is how many do."),
            Wrong(lambda percentages, questions: sum(
                (p * questions / 100) == int(p * questions / 100) for p in percentages),
                  "The printed percentages are rounded to two digits, so p·n/100 is seldom exactly whole. Round it, go "
                  "back to a percentage, and compare within half a hundredth."),
            Wrong(lambda percentages, questions: len(percentages) - fits(percentages, questions),
                  "You counted those that do not fit."),
            Wrong(lambda percentages, questions: sum(
                round(100 * int(p * questions / 100) / questions, 2) == p for p in percentages),
                  "int(…) always rounds down. The nearest whole number of right answers is round(…)."),
            Wrong(lambda percentages, questions: sum(
                abs(100 * round(p * questions / 100) / questions - p) <= 0.05 for p in percentages),
                  "The table has two digits: the true percentage lies within 0.005 of what is printed, not 0.05."),
            Wrong(lambda percentages, questions: sum(
                abs(p * questions / 100 - round(p * questions / 100)) <= 0.005 for p in percentages),
                  "You compared numbers of answers. The 0.005 is about what is printed: go back to a percentage, "
                  "100·right/n, and compare that."),
            Wrong(lambda percentages, questions: [round(p * questions / 100) for p in percentages],
                  "Those are the numbers of right answers. Asked is how many percentages they give back."),
            Wrong(lambda percentages, questions: fits(percentages, questions) / len(percentages),
                  "That is the share that fits. Asked is the number."),
            Wrong(lambda percentages, questions: sum(
                round(100 * round(p * questions / 100) / questions) == round(p) for p in percentages),
                  "You compared whole percents. The table has two digits more."),
            Wrong(lambda percentages, questions: tables.smallest_fitting(percentages) or questions,
                  "That looks for a number of questions. Here it is given, and the percentages are tried on it."),
        ],
        hints=["A percentage p of n questions means about p·n/100 right answers, and that number is whole.",
               "right = round(p * n / 100); the table would then print 100 * right / n, with two digits.",
               "Count those with abs(100 * right / n - p) <= 0.005."],
        praise="A table says more than its caption. If a number of questions does not fit, another was used or a "
               "number is misprinted."),

    Exercise(
        "10.1", "a wider layer that computes the same", 8, wider,
        cases=_layers,
        seen_as=computed,
        wrong=[
            Wrong(_wider(out=_as_it_is),
                  "The new units are there, but the next layer now hears a copied unit several times: divide its "
                  "outgoing weights by the number of its copies."),
            Wrong(_wider(out=_halved),
                  "Right where a unit has one copy. One that is copied three times is there four times: divide by the "
                  "count."),
            Wrong(_wider(out=_all_halved),
                  "You halved all outgoing weights. A unit without a copy keeps its own, and one with three copies is "
                  "there four times."),
            Wrong(_wider(biased=_new_bias_zero),
                  "The copies have other biases than their originals, so they are no copies: copy the biases too."),
            Wrong(_wider(into=_divided_rows),
                  "You divided the incoming weights *and* the outgoing ones. One of the two is enough."),
            Wrong(_wider(biased=_divided_rows),
                  "The biases are divided, but a copy has the whole bias, as it has the whole incoming weights."),
            Wrong(_copies_first,
                  "The copies are right, but they come first. Put the old units first, in their order."),
            Wrong(_wider(into=_divided_rows, biased=_copied_rows, out=_as_it_is),
                  "Dividing what comes in is a way too, for a ReLU: but then the bias comes in as well and must be "
                  "divided."),
            Wrong(_wider(out=_old_ones_whole),
                  "Only the new units' outgoing weights are divided. The original is one of the copies: all of them "
                  "get the same share."),
            Wrong(_wider(out=_new_ones_unheard),
                  "This computes the same, but nobody listens to the new units: that is padding. Asked is that "
                  "originals and copies share the outgoing weight."),
            Wrong(lambda weight, bias, weight_above, copied: (weight[copied], bias[copied], weight_above[:, copied]),
                  "These are the new units alone. The old ones stay, and come first."),
            Wrong(lambda weight, bias, weight_above, copied: (weight, bias, weight_above),
                  "Nothing has grown: the layer has as many units as before."),
        ],
        hints=["which = torch.cat([torch.arange(len(bias)), copied]) has the old unit of each unit of the wider layer.",
               "weight[which] and bias[which] are the copies.",
               "torch.bincount(which) counts how often each old unit is there. Divide its outgoing weights by that."],
        praise="The wider layer has copies as new units, and the network computes what it did.",
        tolerance=1e-5),

    Exercise(
        "10.2", "shares that let copies part", 6, shared,
        cases=_copies,
        wrong=[
            Wrong(lambda weight_above, which, drawn: weight_above[:, which] * drawn,
                  "The shares of one unit's copies have to add up to 1, or the layer above hears more or less than "
                  "before. Divide by the sum of the numbers that its copies have drawn."),
            Wrong(lambda weight_above, which, drawn: weight_above[:, which] * (drawn / drawn.sum()),
                  "You divided by the sum over all units. Only copies of the same unit share its weight."),
            Wrong(lambda weight_above, which, drawn: (weight_above / torch.bincount(which))[:, which],
                  "These shares are equal, so copies get equal gradients and stay copies. Use the numbers in `drawn`."),
            Wrong(lambda weight_above, which, drawn: weight_above[:, which] * drawn / torch.bincount(which)[which],
                  "You divided by how many copies there are. Their numbers do not add up to that: divide by the sum of "
                  "their numbers."),
            Wrong(lambda weight_above, which, drawn: weight_above[:, which] * drawn.softmax(0),
                  "A softmax over all units adds up to 1 over all of them. Here the shares of each single unit's "
                  "copies have to."),
            Wrong(_softmax_of_copies,
                  "A softmax makes shares of exponentials. The shares are in proportion to the numbers themselves."),
            Wrong(_last_number_alone,
                  "`total[which] += drawn` does not add up: of a unit that occurs several times it keeps one number. "
                  "Use `total.index_add(0, which, drawn)`."),
            Wrong(lambda weight_above, which, drawn: weight_above[:, which],
                  "Every copy has the whole weight, so the layer above hears a copied unit several times."),
            Wrong(lambda weight_above, which, drawn: shared(weight_above, which, drawn).T,
                  "Rows and columns have changed places: the columns are the units below."),
        ],
        hints=["total = torch.zeros(weight_above.shape[1]).index_add(0, which, drawn) adds up the numbers of each old "
               "unit's copies.",
               "drawn / total[which] are the shares.",
               "weight_above[:, which] are the old weights, a column for each new unit."],
        praise="The copies together say what their original said, and because their shares differ, their gradients do, "
               "too.",
        tolerance=1e-6),

    Exercise(
        "10.3", "a block that does nothing yet", 5, silent,
        cases=_blocks,
        seen_as=added,
        wrong=[
            Wrong(lambda block: dict(block),
                  "This block still adds what it added before. Which of its two layers decides what is added?"),
            Wrong(lambda block: {name: torch.zeros_like(tensor) for name, tensor in block.items()},
                  "It adds nothing, but only its last bias can learn. Nothing gets through its first layer and its "
                  "ReLU, so the weights get no gradient. Leave the first layer as it is."),
            Wrong(lambda block: block | {"out.weight": torch.zeros_like(block["out.weight"])},
                  "The weights of the last layer are 0, but its bias is still added."),
            Wrong(lambda block: block | {"out.bias": torch.zeros_like(block["out.bias"])},
                  "The bias of the last layer is 0, but its weights still pass on what is inside."),
            Wrong(lambda block: block | {name: torch.zeros_like(block[name]) for name in ("into.weight", "into.bias")},
                  "With the first layer at 0 nothing is inside, but the bias of the last layer is still added, and "
                  "the weights of the last layer get no gradient."),
            Wrong(lambda block: block | {"out.weight": torch.eye(len(block["out.weight"]), dtype=torch.float64),
                                         "out.bias": torch.zeros_like(block["out.bias"])},
                  "The identity would be right for a plain layer. A residual block is added to the stream, so doing "
                  "nothing means adding 0."),
            Wrong(lambda block: block | {name: -block[name] for name in ("out.weight", "out.bias")},
                  "The block now takes away what it added before. Doing nothing means adding 0."),
            Wrong(lambda block: block | {name: torch.zeros_like(block[name]) for name in ("into.bias", "out.bias")},
                  "Both biases are 0, but the weights of the last layer still pass on what is inside."),
        ],
        hints=["The block adds V·ReLU(W·h + b) + c to the stream h. W and b are `into`, V and c are `out`.",
               "With V = 0 and c = 0 it adds 0, whatever is inside.",
               "torch.zeros_like(block[\"out.weight\"]), the same for the bias, all else as it is."],
        praise="The deeper network computes what the old one did, and its new block can learn at once, because what "
               "is inside it is not 0."),
]


def _off_diagonal(between):
    count = between.numel() - min(between.shape)
    return (between.sum() - between.diagonal().sum()) / count
