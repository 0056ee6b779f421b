"""Chapter 6's mathematics: task arithmetic beside joint training, the second-order term, the bound, other
optimisers."""
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lessons.gradients.algorithms import bound, expansion, networks, optimisers
from lessons.gradients.experiment import bound as bound_experiment
from lessons.gradients.experiment import common, plane, steps
from lessons.gradients.experiment import optimisers as rules
from lessons.pretraining.algorithms import curvature

ETAS = (1e-4, 3e-4, 1e-3)


pytestmark = pytest.mark.usefixtures("one_thread")


def spirals(activation="tanh", loss="cross-entropy", size=30, seed=0, **options):
    return common.tasks(common.SPIRALS, activation, loss, size, seed, **options)


def parabolas(*curvatures_and_slopes):
    """Tasks ½·a·θ² + b·θ of one weight."""
    return [lambda theta, a=a, b=b: (a * theta ** 2 / 2 + b * theta).sum() for a, b in curvatures_and_slopes]


def random_quadratics(tasks=3, size=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(tasks):
        root = torch.randn(size, size, generator=generator, dtype=torch.float64)
        slope = torch.randn(size, generator=generator, dtype=torch.float64)
        found.append(lambda theta, H=root @ root.T, b=slope: theta @ H @ theta / 2 + b @ theta)
    return found


# -- networks --------------------------------------------------------------------------------------

def test_losses_are_torchs():
    widths = (3, 5, 4)
    theta = networks.initial(widths)
    x = torch.randn(7, 3, dtype=torch.float64)
    y = torch.arange(7) % 4
    first, second = networks.matrices(theta, widths)
    outputs = torch.tanh(x @ first.T) @ second.T
    entropy = F.cross_entropy(outputs, y)
    squares = ((outputs - F.one_hot(y, 4)) ** 2).sum(1).mean()
    assert torch.allclose(networks.loss_of(widths, "tanh", "cross-entropy", x, y)(theta), entropy)
    assert torch.allclose(networks.loss_of(widths, "tanh", "squared error", x, y)(theta), squares / 2)
    parts = [networks.loss_of(widths, "tanh", "cross-entropy", x, y, share)(theta)
             for share in ((y == 0).double(), (y != 0).double())]
    assert torch.allclose(sum(parts), entropy)


@pytest.mark.parametrize("call, message", [
    (lambda: networks.matrices(torch.zeros(5), (2, 3)), r"shape \(6,\)"),
    (lambda: networks.hidden(torch.zeros(6), (2, 3), "sine", torch.zeros(1, 2)), "'sine'"),
    (lambda: networks.sample_losses(torch.zeros(1, 2), torch.zeros(1, dtype=torch.long), "hinge"), "'hinge'"),
    (lambda: expansion.order(0.1, 1.0, 0.1, 2.0), "two different"),
    (lambda: expansion.order(0.1, 0.0, 0.2, 2.0), "above 0"),
    (lambda: steps.PROFILES["huge"], "'huge'"),
    (lambda: bound_experiment.run("huge"), "'huge'")])
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_sample_lies_across_a_kink_where_a_unit_changes_its_sign():
    widths = (1, 2, 1)
    x = torch.tensor([[1.0], [-1.0], [0.2]], dtype=torch.float64)
    a = torch.tensor([1.0, 1.0, 1, 1], dtype=torch.float64)
    across = torch.tensor([2.0, -1.0, 1, 1], dtype=torch.float64)
    beside = torch.tensor([2.0, 0.5, 9, -9], dtype=torch.float64)
    assert networks.crossed(a, across, widths, x).tolist() == [1, 1, 1]
    assert networks.crossed(a, beside, widths, x).tolist() == [0, 0, 0]


# -- the expansion ---------------------------------------------------------------------------------

@pytest.mark.parametrize("name", list(common.SETTINGS))
def test_after_one_full_batch_step_task_arithmetic_is_joint_training_up_to_rounding(name):
    for activation in common.NETWORKS:
        found = steps.one_step(common.tasks(name, activation, "cross-entropy", 30))
        assert found["one_step"] < 1e-15 and found["one_vector"] < 1e-12


def test_the_gap_is_gradients_read_at_the_wrong_places_exactly():
    tasks = spirals("ReLU")
    eta, alpha, k = 0.3, 0.5, 4
    walk = common.walk(tasks, eta, alpha, k)
    brackets = [expansion.gradient(f, own[e]) - expansion.gradient(f, walk.joint[e])
                for f, own in zip(tasks.losses, walk.own) for e in range(1, k)]
    assert torch.allclose(walk.gap[k], -alpha * eta * sum(brackets), atol=1e-14)


def test_for_parabolas_and_two_steps_the_second_order_term_is_the_whole_gap():
    tasks = random_quadratics()
    base = torch.ones(4, dtype=torch.float64)
    eta, alpha = 0.1, 0.7
    joint = expansion.descend(expansion.total(tasks, alpha), base, eta, 2)
    own = torch.stack([expansion.descend(f, base, eta, 2) for f in tasks])
    gap = (expansion.task_arithmetic(base, own, alpha) - joint)[2]
    _, s = expansion.bendings(tasks, joint, alpha)
    assert torch.allclose(gap, expansion.second_order(s, eta, alpha)[2], atol=1e-13)
    assert not torch.allclose(gap, expansion.printed(s, eta)[2], rtol=0.1)


@pytest.mark.parametrize("activation", steps.SMOOTH)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_on_smooth_networks_our_term_leaves_the_third_order_and_the_printed_one_the_second(activation, seed):
    """TVG-3 and TVG-4 at α = ¼: slopes over a decade of step sizes, for k = 2, 3, 5. Turning the printed term round
    does not help."""
    tasks = spirals(activation, ("cross-entropy", "squared error")[seed % 2], seed=seed)
    found = steps.expanded(tasks, ETAS, steps=5).sel(k=[2, 3, 5], alpha=steps.AVERAGE)
    for name in ("gap", "missed_printed", "missed_flipped", "lemma_first", "lemma_printed"):
        power = steps.slopes(found[name])
        assert (abs(power - 2) < 0.1).all(), (name, power.values)
    for name in ("missed", "lemma_second"):
        power = steps.slopes(found[name])
        assert (abs(power - 3) < 0.15).all(), (name, power.values)
    assert (found.cosine > 0.999).all() and (found.cosine_printed < -0.999).all()
    length = (found.printed / found.gap).isel(eta=0)
    assert (abs(length - 2) < 0.01).all(), "½ in place of α = ¼ makes the term twice as long"


def test_at_one_half_the_printed_term_turned_round_passes_for_right():
    """The trap: there ½ and α are one number."""
    found = steps.expanded(spirals(), ETAS, alphas=(steps.TRAP, 1.0), steps=5).sel(k=[2, 3, 5])
    trap = found.sel(alpha=steps.TRAP)
    assert (abs(steps.slopes(trap.missed_flipped) - 3) < 0.15).all()
    assert np.allclose(trap.missed_flipped, trap.missed, rtol=1e-6)
    assert (abs((trap.printed / trap.gap).isel(eta=0) - 1) < 0.01).all()
    assert (abs(steps.slopes(found.missed_flipped.sel(alpha=1.0)) - 2) < 0.1).all()


@pytest.mark.parametrize("activation", steps.SMOOTH)
@pytest.mark.parametrize("loss", ["cross-entropy", "squared error"])
def test_half_the_step_size_and_double_the_steps_leave_the_gap_about_as_long(activation, loss):
    """A quarter of η², and about four times as many terms: k(k − 1)/2 of them."""
    tasks = spirals(activation, loss)
    for eta in (1e-3, 1e-2):
        coarse, fine = common.walk(tasks, eta, 0.25, 10).gap[10], common.walk(tasks, eta / 2, 0.25, 20).gap[20]
        assert 0.9 <= (fine.norm() / coarse.norm()).item() <= 1.1


def test_taking_the_hessians_one_step_earlier_changes_nothing_at_this_order():
    tasks = spirals()
    left = []
    for eta in (1e-3, 1e-4):
        walk = common.walk(tasks, eta, 0.5, 3)
        _, s = expansion.bendings(tasks.losses, walk.joint, 0.5, behind=1)
        left.append((walk.gap - expansion.second_order(s, eta, 0.5))[3].norm().item())
    assert expansion.order(1e-3, left[0], 1e-4, left[1]) == pytest.approx(3, abs=0.15)


def test_with_relu_it_is_the_samples_across_a_kink_that_the_hessian_misses():
    tasks = spirals("ReLU", size=200)
    found = steps.expanded(tasks, (1e-5, 1e-2, 2e-2, 4e-2), steps=5).sel(k=5, alpha=steps.AVERAGE)
    assert found.crossing[0] == 0 and found.kinked[0] == 0
    assert found.missed[0] / found.gap[0] < 1e-3
    apart = found.isel(eta=slice(1, None))
    assert (apart.crossing > 0).all()
    assert (apart.missed / apart.gap > 0.05).all() and (apart.smooth / apart.gap < 0.05).all()
    assert (abs(apart.kinked / apart.missed - 1) < 0.1).all()


def test_the_parts_of_what_the_hessian_misses_add_up():
    tasks = spirals("ReLU")
    eta, alpha = 0.05, 0.5
    walk = common.walk(tasks, eta, alpha, 2)
    parts = steps.kinks(tasks, walk.own, walk.joint, eta, alpha)
    kinked = parts["kinked"][2]
    smooth = parts["smooth"][2]
    here = walk.joint[1]
    turned = sum(expansion.hessian_vector_product(f, here, own[1] - here) for f, own in zip(tasks.losses, walk.own))
    missed = (walk.gap[2] + alpha * eta * turned).norm()
    assert abs(kinked - smooth) <= missed + 1e-12 and missed <= kinked + smooth + 1e-12


def test_a_hessian_vector_product_is_that_of_the_full_hessian_and_of_chapter_5():
    tasks = spirals()
    f, theta = tasks.losses[0], tasks.base
    v = torch.randn(len(theta), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    product = expansion.hessian_vector_product(f, theta, v)
    assert torch.allclose(product, torch.func.hessian(f)(theta) @ v)
    assert torch.allclose(product, curvature.hessian_vector_product(f, theta, v))


def test_the_mismatches_of_an_average_cancel_and_one_task_alone_has_none():
    gradients = torch.randn(4, 6, dtype=torch.float64)
    assert torch.allclose(expansion.mismatch(gradients, 0.25).sum(0), torch.zeros(6, dtype=torch.float64), atol=1e-14)
    assert not expansion.mismatch(gradients[:1], 1.0).any()


# -- the bound -------------------------------------------------------------------------------------

def test_two_parabolas_have_a_gap_where_the_printed_bound_is_zero():
    a, b, c = 2.0, 1.5, 0.5
    tasks = parabolas((a, b), (c, -b))
    joint = expansion.descend(expansion.total(tasks, 0.5), torch.zeros(1, dtype=torch.float64), 0.1, 2)
    _, s = expansion.bendings(tasks, joint, 0.5)
    C = s[:, 2].sum().item()
    assert C == pytest.approx(b * (c - a)) and bound.printed_bound(0.5, 2, 2, a, b) == 0
    assert abs(C) <= bound.tight_bound(0.5, 2, 2, a, b)


def test_two_parabolas_have_a_gap_where_the_appendix_bound_is_zero():
    """Eq. 24 and 25 of the source have T + 1 where its theorem has T: zero at α = ⅓ for two tasks, and so below ‖C‖."""
    a, b, c = 2.0, 1.5, 0.5
    tasks = parabolas((a, b), (c, -b))
    joint = expansion.descend(expansion.total(tasks, 1 / 3), torch.zeros(1, dtype=torch.float64), 0.1, 2)
    _, s = expansion.bendings(tasks, joint, 1 / 3)
    assert bound.appendix_bound(1 / 3, 2, 2, a, b) < 1e-12 < abs(s[:, 2].sum().item())


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("alpha", [0.05, 0.3, 1 / 3, 0.5, 2 / 3, 0.8, 1.0, 1.7])
def test_the_tight_bound_holds_and_from_two_over_T_on_it_is_the_printed_one(seed, alpha):
    tasks = random_quadratics(3, 4, seed)
    base = torch.ones(4, dtype=torch.float64)
    k = 4
    joint = expansion.descend(expansion.total(tasks, alpha), base, 0.01, k)
    _, s = expansion.bendings(tasks, joint, alpha)
    H = max(torch.linalg.matrix_norm(torch.func.hessian(f)(base), 2).item() for f in tasks)
    G = max(expansion.gradient(f, theta).norm().item() for f in tasks for theta in joint[:-1])
    tight = bound.tight_bound(alpha, 3, k, H, G)
    assert s[:, k].sum(0).norm() <= tight <= bound.corrected_bound(alpha, 3, k, H, G) * (1 + 1e-12)
    printed = bound.printed_bound(alpha, 3, k, H, G)
    assert printed == pytest.approx(tight) if alpha >= 2 / 3 else printed < tight


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1 / 3, 2 / 3, 0.8, 1.7])
def test_no_gradients_make_the_mismatches_longer_than_the_tight_bound_and_some_reach_it(alpha):
    """With k = 2 and H = 1, for Hessians that turn every r_t into one direction."""
    def length(gradients):
        return expansion.mismatch(gradients, alpha).norm(dim=-1).sum()
    allowed = bound.tight_bound(alpha, 3, 2, 1.0, 1.0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        gradients = torch.randn(3, 2, generator=generator, dtype=torch.float64)
        assert length(gradients / gradients.norm(dim=1, keepdim=True)) <= allowed + 1e-12
    thirds = 2 * torch.pi / 3 * torch.arange(3, dtype=torch.float64)
    cancelling, equal = torch.stack([thirds.cos(), thirds.sin()], 1), torch.tensor([[1.0, 0.0]] * 3).double()
    assert max(length(cancelling), length(equal)).item() == pytest.approx(allowed)
    assert allowed <= bound.corrected_bound(alpha, 3, 2, 1.0, 1.0) * (1 + 1e-12)


@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.5, 1.0])
def test_an_ascent_finds_gradients_that_reach_the_tight_bound_and_none_above(alpha):
    found = bound.longest(alpha, 4)
    allowed = bound.tight_bound(alpha, 4, 2, 1.0, 1.0) / 4
    assert allowed * 0.99 < found <= allowed + 1e-12


@pytest.mark.parametrize("activation", common.NETWORKS)
@pytest.mark.parametrize("last", [0.0, 1.0])
def test_the_norms_bound_gradient_and_hessian_as_corrected_and_not_as_printed(activation, last):
    widths = (3, 4, 4, 3)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    y = torch.arange(20) % 3
    theta = networks.initial(widths, 2)
    theta[-12:] *= last  # W_L = 0 makes the product of all norms 0
    f = networks.loss_of(widths, activation, "cross-entropy", x, y)
    norms = bound_experiment.spectral_norms(theta, widths)
    reach = x.norm(dim=1).max().item()
    beta, gamma = networks.SLOPES[activation]
    G = expansion.gradient(f, theta).norm().item()
    H = torch.linalg.matrix_norm(torch.func.hessian(f)(theta), 2).item()
    assert G <= bound.gradient_bound(norms, reach, beta)
    assert H <= bound.hessian_bound(norms, reach, beta, gamma)
    if last == 0:
        assert bound.printed_gradient_bound(norms, reach, beta) == 0 < G
    if activation == "linear":
        assert bound.printed_hessian_bound(norms, reach, beta, gamma) == 0 < H


# -- other optimisers ------------------------------------------------------------------------------

@pytest.mark.parametrize("rule, make", [
    (optimisers.adam, lambda p: torch.optim.Adam(p, lr=0.01)),
    (optimisers.momentum, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9)),
    (optimisers.plain, lambda p: torch.optim.SGD(p, lr=0.01))])
def test_the_rules_are_torchs(rule, make):
    tasks = spirals()
    f = tasks.losses[0]
    theta = tasks.base.clone().requires_grad_()
    path = optimisers.path(rule, [f] * 5, tasks.base, 0.01)
    optimiser = make([theta])
    for _ in range(5):
        optimiser.zero_grad()
        f(theta).backward()
        optimiser.step()
    assert torch.allclose(path[-1], theta.detach(), rtol=1e-6)


def test_momentum_and_equal_batches_keep_the_order_other_batches_lose_it_within_an_epoch_and_adam_always():
    tasks = spirals(size=40)
    found = {name: rules.of_optimiser(tasks, name, ETAS) for name in rules.RULES}
    power = {name: steps.slopes(part.gap) for name, part in found.items()}
    end = rules.BATCHES * rules.EPOCHS
    middle = rules.BATCHES + 2
    for name in (rules.FULL, rules.MOMENTUM, rules.SAME, rules.OTHER):
        assert power[name].sel(step=end).item() == pytest.approx(2, abs=0.1), name
    assert power[rules.OTHER].sel(step=middle).item() == pytest.approx(1, abs=0.1)
    assert power[rules.ADAM].sel(step=end).item() == pytest.approx(1, abs=0.1)
    turn = found[rules.ADAM].turn.isel(eta=0)
    assert turn.sel(step=1) > 0.01, "even the first step of Adam points elsewhere"


# -- the plane -------------------------------------------------------------------------------------

def test_the_basis_of_the_plane_is_orthonormal_and_begins_with_the_first_vector():
    vectors = torch.randn(2, 6, dtype=torch.float64)
    axes = plane.basis(vectors)
    assert torch.allclose(axes @ axes.T, torch.eye(2, dtype=torch.float64), atol=1e-12)
    assert torch.allclose(axes[0], vectors[0] / vectors[0].norm())
    assert torch.allclose((vectors @ axes.T) @ axes, vectors)


def test_in_the_plane_one_step_of_task_arithmetic_is_one_of_joint_training():
    found = plane.measure(plane.Settings(samples=20, grid=3))
    one = found.sel(step=1)
    assert float(one.apart.max()) < 1e-14
    assert float(abs(one.joint - one.arithmetic).max()) < 1e-14
    along = one.joint.sel(alpha=1.0) / found.eta
    assert np.allclose(along.transpose("eta", "axis"), found.gradient), "one step goes down the sum of the losses"
    assert found.gradient[1] > 0, "which is not the first task's way"
