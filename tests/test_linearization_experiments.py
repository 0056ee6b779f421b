"""Chapter 11's measurements and pictures, on the stand-in and in small."""
import numpy as np
import pytest
import torch

import data
from lessons.linearization import experiment, panels
from lessons.linearization.algorithms import dynamics, kernel
from lessons.linearization.algorithms.finetuning import ADAM, SGD, Plan
from lessons.linearization.algorithms.networks import Net
from lessons.linearization.experiment import (
    batches,
    causes,
    common,
    flow,
    frozen,
    lengths,
    lora,
    merging,
    near,
    rule,
    subsets,
    ten,
)
from lessons.linearization.experiment import kernel as ridge
from lessons.linearization.experiment.merging import LINEAR, NETWORK, PERMUTED, POST_HOC, ROTATED, TEST
from lessons.linearization.experiment.near import EVEN_ODD, TEN_ADAM, TEN_SGD
from lessons.linearization.experiment.subsets import DEEP, NETS, WIDE
from toy_models import Recipe, weights, zoo

PIXELS = common.SIDE ** 2
FEW = {"images": 60, "pretraining": 15}
TINY_FLOW = flow.Settings(width=4, n=5, lams=(0.0, 1.0, 50.0), end=0.3, moments=5, **FEW)
TINY_LORA = lora.Settings((PIXELS, 8, 8, 1), 8, 40, draws=2, steps=20, **FEW)
SMALL = {near: near.Settings(lams=(0.0, 0.5, 2.0, 10.0, 50.0), width=6, n=6, end=0.1, size=128, test=40,
                             plans=((TEN_SGD, Plan(SGD, 0.02, 2)), (TEN_ADAM, Plan(ADAM, 1e-3, 2))), **FEW),
         causes: causes.Settings((4, 6, 8), 6, 40, (15.0, 45.0, 90.0), (2.0, 10.0), **FEW),
         flow: TINY_FLOW,
         rule: rule.Settings(TINY_FLOW, lams=(10.0, 50.0), end=0.2, moments=5),
         ridge: ridge.Settings((PIXELS, 5, 5, 1), 8, 40, (4, 5), **FEW),
         subsets: subsets.Settings(((PIXELS, 14, 12, 1), (PIXELS, 12, 12, 12, 1)), 8, (6, 3e-3), 6, **FEW),
         lora: TINY_LORA,
         batches: batches.Settings(TINY_FLOW, steps=30),
         frozen: frozen.Settings(TINY_LORA, draws=1),
         merging: merging.Settings(3, (((0, 1), (0, 2)), ((0, 1, 2),)), size=128, passes=2, lams=(0.5,), stops=(2,),
                                   width=12, held=20, test=30, alphas=(0.2, 0.5, 1.0))}


def small_start(seed):
    """In place of chapter 1's network, which the stand-in would train for seconds."""
    return Recipe.on("rotated_mnist", ten.cast.MLP_100, options={"angle": 0.0, "size": 600}, lr=0.1, epochs=1,
                     batch_size=64, seed=seed)


@pytest.fixture(scope="module")
def small(session_sweep):
    """Less of everything while this file's tests run; what is trained is kept with the other tests' models."""
    smaller = [(module.PROFILES, "quick", settings) for module, settings in SMALL.items()]
    with session_sweep(*smaller, (ten, "recipe", small_start), (ten, "LOOKED_AT", 40),
                       (merging.cast, "pretrained_mlp", small_start), (merging, "PRETRAINING_IMAGES", 600)):
        yield


@pytest.fixture(autouse=True)
def folder(small, standin_folder_session, quiet_store, one_thread, monkeypatch):
    """The session's folder also inside a test."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))


@pytest.fixture(scope="module")
def sweeps(small):
    """{module: its sweep}."""
    return {module: module.run("quick", 0) for module in (*SMALL, lengths)}


def flow_task():
    return flow.task_of(TINY_FLOW, 0)


# -- what is measured ------------------------------------------------------------------------------

def test_the_front_door_says_which_data_and_how_long_it_takes(capsys, monkeypatch):
    monkeypatch.setattr(near.EXPERIMENT.__class__, "is_there", lambda self, profile, seed: False)
    experiment.announce("quick", 0)
    first, second = capsys.readouterr().out.splitlines()
    assert first == str(data.source("rotated_mnist", angle=0.0)) and "at most 30 s" in second


def test_a_start_is_rounded_to_float32_and_another_seed_sees_other_digits():
    net = Net((PIXELS, 4, 1))
    one, other = (common.task(net, 5, 45.0, seed, test=5, images=60, steps=15) for seed in (0, 1))
    assert torch.equal(one.theta_0, one.theta_0.float().double())
    assert not torch.equal(one.x, other.x) and torch.equal(one.x_test, other.x_test)
    assert set(one.y.tolist()) <= {1.0, -1.0}
    first = data.load("rotated_mnist", "train", angle=45.0, first=common.BEFORE, size=5)
    assert torch.equal(one.y > 0, first.y % 2 == 0)


def test_pretraining_learns():
    net = Net((PIXELS, 4, 1))
    x, y = common.digits(0.0, 0, 60)
    before, after = (dynamics.error(net, theta, x, y) for theta in (net.initial(0), common.pretrained(net, 0, 60, 15)))
    assert after < before


def test_with_no_pull_and_no_steps_there_is_no_gap_and_with_lambda_eta_1_nothing_moves(sweeps):
    sweep = sweeps[near]
    still = sweep.sel(setting=TEN_SGD, lam=50.0)
    assert float(still.eta) * 50.0 == pytest.approx(1) and (still.distance < 1e-12).all()
    assert np.isnan(near.relative(still.expand_dims("setting"))).all()
    assert near.left(sweep).sel(setting=TEN_SGD, lam=50.0).values == pytest.approx(1)
    moved = sweep.sel(setting=[EVEN_ODD, TEN_SGD], lam=[0.0, 0.5, 2.0, 10.0]).distance.isel(moment=-1)
    assert (moved.diff("lam") < 0).all(), "a stronger pull keeps nearer"


def test_the_trained_tangent_of_even_or_odd_is_gradient_descent_on_the_tangent():
    """The closed form that the experiment uses, against a tangent that is trained step by step."""
    settings = SMALL[near]
    net = Net((PIXELS, settings.width, settings.width, 1))
    task = common.task(net, settings.n, 45.0, 0, 10, images=60, steps=15)
    found = near.even_odd.measure(task, (0.0, 5.0), 0.02, (1.0,), 10)
    trace = net.trace(task.theta_0, task.x)
    for number, lam in enumerate((0.0, 5.0)):
        u = torch.zeros_like(task.theta_0)
        for _ in range(int(found["steps"][0])):
            gradient = trace.back(2 * (trace.outputs + trace.along(u) - task.y[:, None]))
            u = dynamics.step(u, torch.zeros_like(u), gradient, float(found["eta"]), lam)
        answers = net.trace(task.theta_0, task.x_test)
        wanted = (answers.outputs + answers.along(u))[:, 0]
        assert torch.allclose(found["trained_answer"][number, 0], wanted, atol=1e-8)
        assert found["linear_distance"][number, 0] == pytest.approx(u.norm().item(), rel=1e-6)


def test_stopping_early_is_read_off_the_walk_without_a_pull(sweeps):
    sweep = sweeps[near]
    plain = sweep.sel(setting=TEN_SGD, lam=0.0)
    share = float(near.left(sweep).sel(setting=TEN_SGD, lam=0.0).isel(moment=3))
    wanted = float((plain.taylor_gap / plain.move).sel(points="test").isel(moment=3))
    assert near.stopped_early(sweep, TEN_SGD, share) == pytest.approx(wanted)
    assert np.isnan(near.stopped_early(sweep, TEN_SGD, 1e-9)), "never was there"


def test_pairs_the_wrong_way_round():
    assert near.wrong_way([3.0, 2.0, 1.0]) == 0 and near.wrong_way([1.0, 2.0, 3.0]) == 3
    gaps, divergences = ([near.wrong_way(rows[name][::-1]) for rows in near.REPORTED.values()]
                         for name in ("gap", "kl"))
    assert gaps == [5, 4] and divergences == [7, 3], "the slides' own table"
    assert all(near.wrong_way(rows["distance"][::-1]) == 0 for rows in near.REPORTED.values())


def test_causes_are_compared_when_a_fifth_is_left(sweeps):
    sweep = sweeps[causes]
    free = [name for name in sweep.case.values if not name.startswith("λ")]  # so small a network never gets so far
    assert (sweep.left.sel(case=free) <= causes.LEFT).all()
    assert list(sweep.case.values) == list(causes.cases(SMALL[causes]))


def test_the_flow_and_its_bounds_belong_together(sweeps):
    sweep = flow.with_bounds(sweeps[flow])
    later = sweep.isel(t=slice(1, None))
    for name in ("proved", "integral", "energy"):
        assert (later[f"distance_{name}"] >= later.distance * (1 - 1e-9)).all(), name
    pulled = later.isel(lam=slice(1, None))
    assert (pulled.gap_right >= pulled.gap * (1 - 1e-9)).all()
    assert (pulled.gap_inside >= pulled.gap * (1 - 1e-9)).all() and (pulled.gap_inside <= pulled.gap_right).all()
    assert (later.gap_trivial >= later.gap * (1 - 1e-9)).all()
    assert (sweep.lemma <= 1 + 1e-9).all() and 0.9 < float(sweep.order) < 1.1
    assert np.allclose(sweep.distance.isel(t=0), 0) and (sweep.residual.isel(t=0) == sweep.residual[0, 0]).all()


def test_the_largest_singular_value_and_the_curvature_are_reached():
    task = flow_task()
    theta = task.theta_0[None]
    J = torch.func.jacrev(lambda weights: task.net(weights, task.x)[:, 0])(task.theta_0)
    assert flow.slope(task, theta).item() == pytest.approx(torch.linalg.matrix_norm(J, 2).item())
    found = flow.curvature(task, theta).item()
    generator = torch.Generator().manual_seed(1)
    tried = []
    for _ in range(200):
        v = torch.randn(theta.shape, generator=generator, dtype=torch.float64)
        tried.append(flow._bent(task, theta, v / v.norm()).norm().item())
    assert found > 2 * max(tried), "a search finds more than chance"


def test_the_rule_is_never_on_from_its_start_and_the_harmless_pull_stays_near(sweeps):
    sweep = sweeps[rule]
    start = sweep.sel(start=rule.FROM_START)
    assert (start.first_on.sel(rule=rule.PRINTED) == 0).all() and (start.apart.sel(rule=rule.PRINTED) < 1e-3).all()
    assert (start.first_on.sel(rule=rule.CONSTANT) == 1).all()
    end = start.isel(moment=-1).distance
    assert (end.sel(rule=rule.HARMLESS) < end.sel(rule=rule.NONE)).all()
    assert float(sweep.error.sel(start=rule.ELSEWHERE).isel(moment=0).std()) == pytest.approx(0, abs=1e-9)


def test_ridge_regression_is_the_tangent_trained_to_the_end(sweeps):
    sweep = sweeps[ridge]
    assert (sweep.agrees < 1e-6).all()
    assert (sweep.mistaken.sel(loss="mean") > 1e-3).all()
    assert float(sweep.mistaken.sel(loss="sum", mistake="n forgotten")) < 1e-6, "a sum has no n"
    n = SMALL[ridge].small[1]
    assert float(sweep.printed_top / sweep.top) == pytest.approx(n)


def test_areas_are_the_error_that_is_left(sweeps):
    kappa, shares = panels.kernel._of(sweeps[ridge], 2)
    for sigma in (0.1, 10.0):
        area = panels.kernel.heights_of(kappa, shares, sigma).mean()
        assert area == pytest.approx(float(kernel.risk(kappa, shares, sigma) / shares.sum()), abs=0.01)


def test_every_subset_of_layers_is_there_once_and_frozen_layers_stay(sweeps):
    assert len(subsets.subsets(4)) == 15 and len(set(subsets.subsets(8))) == 255
    sweep = sweeps[subsets]
    assert [len(subsets.only(sweep, name).subset) for name in NETS] == [7, 15]
    net = Net((PIXELS, 6, 5, 1), "ReLU")
    task = common.task(net, 8, 45.0, 0, 5, images=60, steps=15)
    masks = torch.stack([subsets.networks.by_layers(net, chosen) for chosen in ((0,), (1, 2))])
    for trained in (subsets.adam(task, masks, 3, 1e-2), subsets.descended(task, masks, 3, torch.full((2, 1), 1e-3))):
        moved = trained != task.theta_0
        assert not (moved & (masks == 0)).any() and (moved & (masks == 1)).any(1).all()


def test_pairs_and_rules_agree_with_brute_force(sweeps):
    sweep = sweeps[subsets]
    deep = subsets.only(sweep, DEEP)
    every = subsets.subsets(4)
    pick = every[int(sweep.picked.sel(net=DEEP, rule="most weights", chosen=2))]
    assert len(pick) == 2 and 0 in pick, "the first layer has most weights"
    losses = deep.loss.sel(training=subsets.ADAM).values
    others = [losses[number] for number, chosen in enumerate(every) if len(chosen) == 2 and chosen != pick]
    wanted = np.mean(np.array(others) < losses[every.index(pick)])
    assert float(sweep.better.sel(net=DEEP, rule="most weights", chosen=2)) == pytest.approx(wanted)
    for name, layers in ((WIDE, 3), (DEEP, 4)):
        pairs = subsets.pairs(sweep, name)
        assert len(pairs.pair) == layers * 2 ** (layers - 1) - layers
        assert (pairs.low <= pairs.ratio * (1 + 1e-9)).all() and (pairs.ratio <= pairs.high).all()
        assert (pairs.penalised < 1).all()


def test_the_condition_number_turns_its_order_with_sigma_and_the_predicted_error_does_not(sweeps):
    here = subsets.only(sweeps[subsets], WIDE)
    assert subsets.condition(here, 1e9).values == pytest.approx(1, abs=1e-3)
    large = subsets.order(here, "condition", subsets.SAME, subsets.SIGMAS[-1])
    by_largest = subsets.order(here, "kappa_max", subsets.SAME)
    assert large == pytest.approx(by_largest, abs=0.2), "κ(K + σI) is κ_max/σ there"


def test_lora_of_rank_0_is_the_whole_matrices(sweeps):
    whole = sweeps[lora].sel(rank=lora.WHOLE)
    assert (whole.apart < 1e-12).all() and np.allclose(whole.cosine, 1)
    assert (sweeps[lora].apart.sel(rank=64).mean() < sweeps[lora].apart.sel(rank=1).mean())


# -- merging ---------------------------------------------------------------------------------------

def test_merged_tangents_answer_as_theta_0_plus_the_sum_of_their_steps():
    settings = SMALL[merging]
    family = merging.family(ROTATED, settings, 0)
    theta_0 = weights.flatten(zoo.get(family.base).state_dict()).double()
    vectors = merging._trained(family, settings, theta_0, 0)
    tried = merging._tried(family, settings, theta_0)
    linear, network = (merging._answers(family, theta_0, vectors, arm, tried) for arm in (LINEAR, NETWORK))
    tau = vectors[LINEAR][[0, 2]].sum(0)
    x = tried[1][TEST].x
    trace = family.net.trace(theta_0.float(), x)
    wanted = trace.outputs + 0.7 * trace.along(tau.float())
    assert torch.allclose(linear((0, 2), 0.7, 1, TEST), wanted, atol=1e-3)
    wanted = family.net((theta_0 + 0.7 * vectors[NETWORK][[0, 2]].sum(0)).float(), x)
    assert torch.allclose(network((0, 2), 0.7, 1, TEST), wanted, atol=1e-4)


def test_short_vectors_are_short_and_shares_are_of_the_single_networks(sweeps):
    sweep = sweeps[merging]
    for family in (ROTATED, PERMUTED):
        here = sweep.length.sel(family=family)
        assert (here.sel(arm=["λ = 0.5", "2 steps"]) < float(here.sel(arm=NETWORK))).all()
        assert float(here.sel(arm=POST_HOC)) == float(here.sel(arm=NETWORK))
    ratio = (sweep.accuracy / sweep.single).sel(part=TEST)
    assert float(abs(ratio.mean() - sweep.normalised.sel(part=TEST).mean())) < 0.5
    best = merging.chosen(sweep)
    held = sweep.accuracy.sel(part=merging.HELD)
    assert (held.sel(alpha=best.alpha) == held.max("alpha")).all()
    assert list(merging.by_count(sweep)["count"].values) == [2, 3]
    assert merging.images_of(sweep, 2) == 3 * 30 and merging.images_of(sweep, 3) == 3 * 30


# -- pictures --------------------------------------------------------------------------------------

def every_view(sweeps):
    return (panels.near.near(sweeps[near]), panels.kernel.ridge(sweeps[ridge]), panels.flow.sides(sweeps[flow]),
            panels.rule.rules(sweeps[rule]), panels.subsets.every_subset(sweeps[subsets]),
            panels.lora.ranks(sweeps[lora]), panels.merging.arms(sweeps[merging]))


def test_every_view_names_the_stand_in_and_has_few_enough_settings_for_a_page(sweeps):
    for view in every_view(sweeps):
        assert "Not MNIST!" in view.caption and "nan" not in view.alt
        assert np.prod([len(control.values) for control in view.controls.values()]) <= 2000


def test_near_says_distance_and_gap(sweeps):
    sweep = sweeps[near]
    view = panels.near.near(sweep).set(lam=2.0, setting=TEN_SGD)
    at = sweep.sel(lam=2.0, setting=TEN_SGD, moment=1.0)
    gap = float(at.taylor_gap.sel(points="test"))
    assert f"the network is {float(at.distance):.3f} away" in view.alt
    assert f"Taylor gap on test images {gap:.3f}, which is {gap / float(at.move.sel(points='test')):.3f}" in view.alt
    assert "Nothing has moved" in view.set(lam=50.0).alt


def test_ridge_says_what_is_left_and_that_n_shifts_it(sweeps):
    view = panels.kernel.ridge(sweeps[ridge]).set(half=1.0, loss="sum", subset=6)
    kappa, shares = panels.kernel._of(sweeps[ridge], 6)
    left = float(kernel.risk(kappa, shares, 1.0) / shares.sum())
    assert f"{left:.3g} of the training error is left" in view.alt
    n = SMALL[ridge].n
    assert f"so σ = {n:.3g}." in view.set(loss="mean").alt and "so σ = 1." in view.set(loss="forgotten").alt


def test_the_bounds_say_when_the_printed_one_is_violated(sweeps):
    sweep = flow.with_bounds(sweeps[flow])
    view = panels.flow.sides(sweeps[flow])
    for lam in map(float, sweep.lam.values):
        for t in map(float, sweep.t.values[1:]):
            at = sweep.sel(lam=lam, t=t)
            violated = bool(at.distance_printed < at.distance)
            assert ("is violated" in view.set(lam=lam, t=t).alt) is violated


def test_the_rule_says_how_often_it_is_on(sweeps):
    view = panels.rule.rules(sweeps[rule]).set(start=rule.ELSEWHERE)
    part = sweeps[rule].sel(start=rule.ELSEWHERE, lam=50.0, rule=rule.PRINTED)
    steps = round(float(part.moment[-1] / part.eta))
    later = (float(part.share_on[-1]) * (steps + 1) - float(part.share_on[0])) / steps
    assert f"regulariser on in {later:.2%} of the steps from the second on" in view.alt


def test_every_subset_says_the_rank_correlations(sweeps):
    view = panels.subsets.every_subset(sweeps[subsets]).set(sigma=1e4, measure="risk", net=WIDE, training=subsets.OWN)
    order = subsets.order(subsets.only(sweeps[subsets], WIDE), "risk", subsets.OWN, 1e4)
    assert f"{WIDE} network, predicted training error" in view.alt and f"of layers: {order:+.2f};" in view.alt


def test_lora_and_merging_say_their_numbers(sweeps):
    view = panels.lora.ranks(sweeps[lora]).set(rank=16)
    assert f"is {float(sweeps[lora].apart.sel(rank=16).mean()):.3f}, their cosine" in view.alt
    view = panels.merging.arms(sweeps[merging]).set(family=PERMUTED, alpha=1.0)
    group = sweeps[merging].accuracy.sel(family=PERMUTED, arm=NETWORK, alpha=1.0, part=TEST).isel(group=-1)
    assert f"α = 1.00: accuracy {float(group):.3f} with the networks' τ" in view.alt


def test_readings_and_tables_say_what_the_sweeps_hold(sweeps):
    of = subsets.claims(sweeps[subsets])
    added = panels.subsets.reading_of_adding(sweeps[subsets]).text
    assert f"{of['LFT-9']['pairs']:.0f} times a layer was added" in added
    assert f"it is {of['LFT-12']['wide_large']:+.2f} and" in panels.subsets.reading_of_the_signs(sweeps[subsets]).text
    assert len(panels.subsets.signs_table(sweeps[subsets]).text.splitlines()) == 6
    assert len(panels.subsets.rules_table(sweeps[subsets]).text.splitlines()) == 2 * len(sweeps[subsets].rule)
    of = lora.claims(sweeps[lora])["LFT-14"]
    assert f"the power {of['apart_power']:.2f} of the rank" in panels.lora.reading_of_lora(sweeps[lora]).text
    nobody = sweeps[lora].assign(left=sweeps[lora].left * 0 + 1)
    assert panels.lora.reading_of_lora(nobody).text.endswith("The networks ran out of steps at nearly all ranks.")
    of = flow.claims(sweeps[flow])["LFT-4"]
    bounds = panels.flow.reading_of_the_bounds(sweeps[flow]).text
    assert f"in {of['printed_violated_share']:.0%} of the moments" in bounds
    assert len(panels.flow.ball_table(sweeps[flow]).text.splitlines()) == 2
    assert len(panels.kernel.closed_form_table(sweeps[ridge]).text.splitlines()) == 2
    assert "times larger, because it lacks 1/n" in panels.kernel.reading_of_the_bounds(sweeps[ridge]).text
    table = panels.near.lambda_table(sweeps[near], TEN_ADAM).text.splitlines()
    assert table[0].startswith("distance ‖θ − θ₀‖: λ = 0 ") and len(table) == len(panels.near.ROWS)
    assert len(panels.near.causes_table(sweeps[causes]).text.splitlines()) == len(sweeps[causes].case)
    hump = float(sweeps[near].trained_gap.sel(setting=EVEN_ODD, points="train").isel(moment=-1)[1])
    assert f", {hump:.3f}," in panels.near.reading_of_the_hump(sweeps[near]).text
    assert "CoLA: 3.4 for the distance" in panels.near.reading_of_the_source().text
    apart = panels.near._apart_from_stopping(sweeps[near], EVEN_ODD, "trained").mean()
    side = "smaller" if apart > 0 else "larger"
    of_stopping = panels.near.reading_of_early_stopping(sweeps[near]).text
    assert f"its relative trained gap {abs(float(apart)):.3f} {side}" in of_stopping
    at = sweeps[near].sel(setting=TEN_ADAM, points="test").isel(moment=-1)
    falls = float(at.distance[0] / at.distance[-1])
    assert f"This gives {falls:.1f} for the distance" in panels.near.reading_of_adam(sweeps[near]).text
    arms = panels.merging.arms_table(sweeps[merging]).text.splitlines()
    assert len(arms) == len(sweeps[merging].arm)
    assert "With 3 tasks, merged tangents were" in panels.merging.reading_of_merging(sweeps[merging]).text


def test_questions_have_their_answers(sweeps):
    from lessons.kit.predict import predict
    guess = predict(panels.near.question(sweeps[near]))
    view = panels.near.near(sweeps[near], guess)
    guess.commit(0.3)
    at = sweeps[near].sel(setting=EVEN_ODD, lam=panels.near.ASKED["lam"], moment=1.0)
    assert guess.truth == pytest.approx(float(near.relative(at))) and view.values == guess.at
    guess = predict(panels.kernel.question(sweeps[ridge]))
    panels.kernel.ridge(sweeps[ridge], guess)
    guess.commit(0.2)
    kappa, shares = panels.kernel._of(sweeps[ridge], 6)
    assert guess.truth == pytest.approx(float(kernel.risk(kappa, shares, 1.0) / shares.sum()))
    guess = predict("In what share of the steps?")
    panels.rule.rules(sweeps[rule], guess)
    assert guess.truth == float(sweeps[rule].first_on.sel(start=rule.FROM_START, rule=rule.PRINTED).isel(lam=-1))
    guess = predict(panels.merging.question(sweeps[merging]), low=-20, high=20, step=0.5)
    panels.merging.arms(sweeps[merging], guess)
    best = merging.by_count(sweeps[merging]).accuracy.sel(family=ROTATED, count=3)
    guess.commit(1.0)
    points = 100 * float(best.sel(arm=LINEAR) - best.sel(arm=NETWORK))
    assert guess.truth == pytest.approx(points)


def test_with_full_batches_the_walk_without_a_regulariser_is_gradient_descent(sweeps):
    sweep = sweeps[batches]
    assert float(sweep.on.sel(way=batches.FULL)) == 0
    task = flow_task()
    theta, eta = task.theta_0, common.step_size(task, batches.SMALL)
    for _ in range(SMALL[batches].steps):
        theta = theta - eta * dynamics.error_and_gradient(task.net, theta, task.x, task.y)[1]
    assert float(sweep.plain_distance.sel(way=batches.FULL)) == pytest.approx(float((theta - task.theta_0).norm()))


def test_frozen_directions_stay_and_a_step_is_made_as_long(sweeps):
    sweep = sweeps[frozen]
    sweep = sweep.isel(rank=[1, 2])  # at rank 1 so small a network diverges
    assert (sweep.A_moved > 0).all()
    assert np.allclose(sweep.moved.sel(way=frozen.STRETCHED), sweep.moved.sel(way=frozen.BOTH))
    settings, task = SMALL[frozen].task, common.task(Net(TINY_LORA.widths, "ReLU"), 8, lora.ANGLE, 0, 40, **{
        "images": FEW["images"], "steps": FEW["pretraining"]})
    A = frozen.low_rank.drawn(task.net, 1, 0)
    held = lora.trained(task, A, 1e-3, settings.steps, freeze=True)
    assert held["A_moved"] == 0 and lora.trained(task, A, 1e-3, settings.steps)["A_moved"] > 0


def test_tables_of_the_controls_have_a_row_a_way_and_say_who_ran_out_of_steps(sweeps):
    told = panels.rule.when_table(sweeps[batches]).text
    assert all(way in told for way in batches.WAYS)
    few = sweeps[frozen].assign(left=sweeps[frozen].left + 1)
    assert "ran out of steps" in panels.lora.reading_of_frozen(few).text
    enough = sweeps[frozen].assign(left=sweeps[frozen].left * 0)
    assert "At rank 4 the relative Taylor gap was" in panels.lora.reading_of_frozen(enough).text
    assert "whole step" in panels.lora.frozen_table(enough).text and "–" in panels.lora.frozen_table(few).text


def test_claims_of_all_experiments_are_those_of_the_source(sweeps):
    found = experiment.claims(*(sweeps[module] for module in (near, causes, lengths, flow, rule, ridge, subsets,
                                                         lora)))
    assert list(found) == [f"LFT-{number}" for number in range(1, 15)]
    odd = {name: value for numbers in found.values() for name, value in numbers.items() if not np.isfinite(value)}
    assert odd.keys() <= {"printed_high_least", "eta_median"}, odd


def test_controls_are_as_long_as_pretrained_weights_and_have_learned_nothing():
    net = Net((3, 4, 1), "tanh")
    pretrained, random = net.initial(1) * 3, net.initial(2)
    starts = lengths.starts_of(net, pretrained, random)
    for name in (lengths.AS_LONG, lengths.SHUFFLED):
        parts = zip(starts[name].split(net.sizes), pretrained.split(net.sizes), random.split(net.sizes))
        for layer, trained, drawn in parts:
            assert layer.norm() == pytest.approx(trained.norm())
            same = torch.allclose(layer, drawn * (trained.norm() / drawn.norm()))
            assert same if name == lengths.AS_LONG else torch.equal(layer.sort().values, trained.sort().values)
