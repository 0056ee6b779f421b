"""Chapters 9's and 10's measurements and pictures, on the stand-in and in small."""
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import data
from lessons.kit import claims
from lessons.sail import experiment, panels
from lessons.sail.algorithms import distances
from lessons.sail.experiment import (
    between,
    depth,
    digits,
    flow,
    gamma,
    gpt,
    knowledge,
    overlap,
    random_maps,
    rates,
    resnets,
    rows,
    spirals,
    table,
    theory,
    width,
)
from toy_models import MLP, abreast, growth, weights, zoo

SMALL = {spirals: spirals.Settings((-1.0, 0.0, 0.5, 1.0, 2.0), (*spirals.SOME, spirals.ALL[3])),
         gamma: gamma.Settings((-1.0, 0.0, 0.5, 1.0, 2.0),
                               ((digits.THIRDS, (digits.ONE, digits.TWO, digits.MATCHED, digits.NOTHING)),
                                (digits.INSIDE, (digits.ONE,)), (digits.HALVES, (digits.ONE,)))),
         overlap: overlap.Settings((0.0, 1.0), (0.0, 0.5, 1.0)),
         table: table.Settings((table.NEAR, table.BIGGER, table.OTHER, table.HALVES, table.ONE_RUN), (0.1, 0.4),
                               (0, 50, 100, 200)),
         width: width.Settings((width.SGD,), width.QUICK, (0, 10, 20, 100)),
         knowledge: knowledge.Settings(2, 2, (0.1, 0.6)),
         between: between.Settings(3), rates: rates.Settings((0.1, 0.4), 2),
         random_maps: random_maps.Settings(2),
         depth: depth.Settings(depth.QUICK, (0.5, 1.0), (0, 10, 20, 100)),
         rows: rows.Settings((0.5, 0.71, 1.0), (0, 20, 100)),
         theory: theory.Settings(20, (100, 1000))}


@pytest.fixture(scope="module")
def small(standin_folder_session):
    """Less of everything while this file's tests run; what is trained is kept with the other tests' models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        for module, settings in SMALL.items():
            patch.setitem(module.PROFILES, "quick", settings)
        patch.setattr(spirals, "EPOCHS", 40)
        patch.setattr(spirals, "RANDOM", 2)
        patch.setattr(digits, "EPOCHS", 2)
        patch.setattr(overlap, "EPOCHS", 2)
        yield


@pytest.fixture(autouse=True)
def folder(small, standin_folder_session, quiet_store, one_thread, monkeypatch):
    """The session's folder also inside a test."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))


@pytest.fixture(scope="module")
def sweeps(small):
    """{module: its sweep}."""
    return {module: module.run("quick", 0) for module in SMALL}


def in_both(x, y):
    """The share of x's images that are in y, too."""
    known = {row.numpy().tobytes() for row in y}
    return sum(row.numpy().tobytes() in known for row in x) / len(x)


# -- Spirals ---------------------------------------------------------------------------------------

def test_parents_of_one_arm_see_one_arm_and_those_of_one_start_begin_alike():
    one, two = (spirals.recipes_of(spirals.Setting(spirals.ARMS, start)) for start in (spirals.ONE, spirals.TWO))
    arms = [data.load("spirals", "train", **dict(recipe.options)).y.unique().tolist() for recipe in one]
    assert arms == [[0], [1]] and all(recipe.loss == "all classes" for recipe in one)
    assert one[0].seed == one[1].seed and two[0].seed != two[1].seed
    samples = spirals.recipes_of(spirals.Setting(spirals.SAMPLES, spirals.ONE))
    points = [data.load("spirals", "train", **dict(recipe.options)).x for recipe in samples]
    assert all(len(part) == 400 for part in points) and not in_both(*points)


def test_a_kept_mixture_is_the_mixture_of_the_parents(sweeps):
    setting = spirals.SOME[1]
    first, second = spirals.parents(setting)
    mixed = spirals.starts([first, second], [0.3])[0]
    kept = spirals.network_at(sweeps[spirals], str(setting), 0.3).state_dict()
    assert all(torch.allclose(kept[key], tensor, atol=1e-5) for key, tensor in mixed.items())


def test_training_from_a_mixture_is_training_as_the_zoo_does(sweeps):
    """θ^P at γ = 1 is the first parent: the losses kept are those of Adam from there."""
    of, (first, _) = spirals.task(), spirals.parents(spirals.SOME[0])
    network = MLP.from_state({key: tensor.double() for key, tensor in first.items()}).requires_grad_(True)
    optimiser = torch.optim.Adam(network.parameters(), lr=spirals.LR)
    losses = []
    for _ in range(6):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(of.x.double()), of.y)
        losses.append(loss.item())
        loss.backward()
        optimiser.step()
    kept = sweeps[spirals].loss.sel(setting=str(spirals.SOME[0]), gamma=1.0)
    assert float(kept.sel(epoch=0)) == pytest.approx(losses[0], rel=1e-4)
    assert float(kept.sel(epoch=5)) == pytest.approx(losses[5], rel=1e-4)


def test_matching_brings_the_second_parent_nearer(sweeps):
    apart = sweeps[spirals].apart
    two, matched = (str(spirals.Setting(spirals.SAMPLES, start)) for start in (spirals.TWO, spirals.MATCHED))
    assert apart.sel(setting=matched) < apart.sel(setting=two)


# -- parents and targets on digits -----------------------------------------------------------------

@pytest.mark.parametrize("case", digits.CASES, ids=lambda case: case.name)
def test_parents_and_target_have_data_of_their_own(case):
    sets = [digits.images(options)[0] for options in (case.first, case.second, case.target)]
    assert all(len(x) in (digits.IMAGES, 4500, digits.FEWER["size"]) for x in sets)
    assert len(digits.tested(case.test)[0]) <= digits.TEST
    if case.first.get("of") == case.target.get("of"):
        assert not in_both(sets[0], sets[2]) and not in_both(sets[1], sets[2])


def test_three_starts_and_one_pretraining():
    two, one, nothing, before = (digits.recipes_of(digits.THIRDS, start) for start in
                                 (digits.TWO, digits.ONE, digits.NOTHING, digits.PRETRAINED))
    assert len({recipe.seed for recipe in two.values()}) == 3 and len({recipe.seed for recipe in one.values()}) == 1
    assert nothing["first"].epochs == 0 < nothing["target"].epochs
    assert len({recipe.parent for recipe in before.values()}) == 1 and before["first"].parent is not None


def test_scores_after_no_step_are_those_of_the_networks():
    states = digits.random_states(0, 2)
    found = digits.retrained(states, digits.THIRDS, steps=(0, 3))
    x, y = digits.tested(digits.THIRDS.test)
    loss, accuracy = abreast.scores(abreast.stacked(states), x, y)
    assert np.allclose(found["loss"][:, 0], loss) and np.allclose(found["accuracy"][:, 0], accuracy)
    assert (found["loss"][:, 1] != found["loss"][:, 0]).all()


def test_overlaps_are_what_they_say():
    for alpha, beta in ((0.0, 0.0), (0.5, 0.5), (1.0, 0.0), (1.0, 1.0)):
        (x1, _), (x2, _) = overlap.data_of(alpha, beta)
        assert len(x1) == len(x2) == overlap.IMAGES
        assert in_both(x1, x2) == pytest.approx(alpha * (1 - beta), abs=0.01)
        bright = digits.images({"third": "bright", "size": digits.IMAGES})[0]
        assert in_both(x1, bright) == pytest.approx(beta, abs=0.01) and len(x1) == len(torch.unique(x1, dim=0))


# -- the γ of distances ----------------------------------------------------------------------------

def test_what_the_rules_propose_follows_from_the_distances(sweeps):
    part = sweeps[gamma].sel(case=digits.THIRDS.name, start=digits.ONE)
    networks = digits.networks_of(digits.THIRDS, digits.ONE)
    apart = [weights.norm(weights.subtract(networks[a], networks[b]))
             for a, b in (("first", "target"), ("second", "target"), ("first", "second"))]
    share = (apart[1] ** 2 + apart[2] ** 2 - apart[0] ** 2) / (2 * apart[2] ** 2)
    assert float(part.proposed.sel(rule="parameters")) == pytest.approx(share, rel=1e-6)
    assert float(part.proposed.sel(rule="TV")) == 0.5
    mmd, printed = (float(part.proposed.sel(rule=rule)) for rule in gamma.RULES[::3][:2])
    assert mmd + printed == pytest.approx(1)
    assert float(part.distance.sel(gamma=1.0)) == pytest.approx(apart[0], rel=1e-5)


def test_a_mixture_of_nothing_is_measured_too(sweeps):
    part = sweeps[gamma].sel(case=digits.THIRDS.name, start=digits.NOTHING)
    assert (part.loss.sel(steps=0) > 2).all() and part.loss.notnull().all()


# -- the table -------------------------------------------------------------------------------------

def test_starts_are_the_mixtures_that_their_shares_say():
    starts, shares = table.starts_of(table.NEAR)
    parents = table.parents_of(table.NEAR)
    assert list(starts) == list(table.STARTS)
    for name, share in shares.items():
        assert share.sum() == pytest.approx(1)
        key = "layers.0.weight"
        mixed = sum(float(one) * parent[key] for one, parent in zip(share, parents))
        assert torch.allclose(starts[name][key], mixed, atol=1e-5), name
    assert sorted(shares[table.BEST]) == [0, 0, 1] and (shares[table.SEARCHED] >= 0).all()


def test_grown_parents_have_the_targets_width_and_compute_what_they_did():
    small = [zoo.get(recipe) for recipe in table.recipes_of(table.BIGGER)]
    grown = table.parents_of(table.BIGGER)
    x, _ = table.BIGGER.images("held")
    for before, state in zip(small, grown):
        assert state["layers.0.weight"].shape == (100, 196)
        assert torch.allclose(MLP.from_state(state)(x[:50].float()), before(x[:50].float()), atol=1e-5)


def test_held_out_images_are_neither_trained_nor_tested_on():
    for set_up in table.SET_UPS:
        train, held = (set_up.images(part)[0] for part in ("train", "held"))
        assert len(held) == table.HELD and len(train) == (set_up.few or table.TRAIN)
        assert not in_both(held, train)


def test_learned_maps_are_paid_for(sweeps):
    sweep = sweeps[table]
    loss = sweep.loss.sel(start=table.LIGO)
    assert loss.sel(steps=[0, 50]).isnull().all() and loss.sel(steps=[100, 200]).notnull().all()
    chosen = table.chosen(sweep)
    assert chosen.loss.sel(start=table.LIGO, steps=50).isnull().all()
    held = sweep.held_loss.sel(start=table.SAIL)
    best = held.idxmin("rate")
    assert (chosen.rate.sel(start=table.SAIL) == best).all()
    assert np.allclose(chosen.loss.sel(start=table.SAIL), sweep.loss.sel(start=table.SAIL).sel(rate=best))


def test_checkpoints_of_one_run_are_points_of_one_training():
    recipes = table.recipes_of(table.ONE_RUN)
    assert [recipe.epochs for recipe in recipes] == [digits.EPOCHS - 2, digits.EPOCHS - 1, digits.EPOCHS]
    assert len({recipe.seed for recipe in recipes}) == 1


# -- other sizes -----------------------------------------------------------------------------------

def test_numberings_change_interpolation_and_nothing_else(sweeps):
    whole, mixed = sweeps[width].numbering_accuracy.sel(direction=width.GROW).values
    assert np.ptp(whole) < 1e-9 < np.ptp(mixed)
    source, _ = width.sources()
    x = digits.images({}, "test")[0][:50].float()
    for other in (width.renumbered(source, 3), width.alike_first(source)):
        assert torch.allclose(MLP.from_state(other)(x), MLP.from_state(source)(x), atol=1e-4)
        assert not torch.equal(other["layers.0.weight"], source["layers.0.weight"])


def test_whole_units_keep_the_sources_accuracy(sweeps):
    part = sweeps[width].sel(direction=width.GROW, optimiser=width.SGD)
    for how in ("Net2Wider", "zero padding", "SVD, singular vectors"):
        assert float(part.accuracy.sel(how=how, steps=0)) == pytest.approx(float(part.source), abs=0.002)


def test_layers_that_do_nothing_keep_the_sources_accuracy(sweeps):
    at_once = sweeps[depth].accuracy.sel(start="silent", steps=0)
    assert np.allclose(at_once, sweeps[depth].source, atol=0.002)


def test_the_rows_of_a_softmax_sum_to_one():
    source = zoo.get(depth.recipes(None)[1]).state_dict()
    mixed = depth.learned_shares(depth.RESIDUAL, source, 0)
    old = [source[f"blocks.{i}.into.bias"].double() for i in range(depth.OLD)]
    system = torch.stack(old, 1)
    for i in range(depth.NEW):
        shares = torch.linalg.lstsq(system, mixed[f"blocks.{i}.into.bias"].double()).solution
        assert shares.sum() == pytest.approx(1, abs=1e-3) and (shares > 0).all()


# -- other kinds -----------------------------------------------------------------------------------

def test_a_flow_and_a_gpt_are_measured_in_small(monkeypatch):
    monkeypatch.setattr(flow, "EPOCHS", 4)
    found = flow.measure(flow.Settings((0, 3)))
    assert found.loss.sel(pair=flow.RANDOM, share=0.5).notnull().all()
    assert found.loss.sel(pair=flow.RANDOM, share=0.0).isnull().all()
    kept = flow.run("quick")
    assert kept.attrs["profile"] == "full", "quick shows what the repository has"
    assert np.isfinite(list(flow.claims(kept)["SAIL-13"].values())).all()


def test_a_grown_gpt_begins_where_its_parent_is(monkeypatch):
    state = gpt.fresh((gpt.WIDTH, gpt.BLOCKS), 0)
    sets = [data.load("speeches", part, third="late", context=gpt.CONTEXT) for part in ("train", "test")]
    before = gpt._trained(state, (gpt.WIDTH, gpt.BLOCKS), sets, (0,), 0)
    for how in ("deeper, silent", "wider, Net2Wider"):
        after = gpt._trained(gpt._grown(state, how, 0), gpt.GROWN[how][:2], sets, (0,), 0)
        assert after == pytest.approx(before, rel=1e-4)


@pytest.fixture
def few_images(monkeypatch):
    """ResNets of width 8 and 16 that learned nothing, and fewer images."""
    for name, value in (("SMALL", 8), ("LARGE", 16), ("TRAIN", 160), ("HELD", 20), ("STATISTICS", 20)):
        monkeypatch.setattr(resnets, name, value)
    whole = resnets.Images.of(resnets.KNOWN)
    train, test = (replace(part, x=F.avg_pool2d(part.x, 4)) for part in (whole.train, whole.test))
    few = replace(whole, train=train, test=replace(test, x=test.x[:60], y=test.y[:60]))
    monkeypatch.setattr(resnets.Images, "of", lambda splits: few)
    small, other, large = resnets.fresh(8, 0), resnets.fresh(8, 1), resnets.fresh(16, 2)
    given = {resnets.GROW: [small], resnets.SHRINK: [large]}
    monkeypatch.setattr(resnets, "states_of", lambda set_up, *rest: given.get(set_up, [small, other]))
    monkeypatch.setattr(zoo, "get_all", lambda recipes, device: None)


def test_resnets_are_measured_in_small(few_images):
    found = resnets.measure(resnets.Settings((0, 1, 2), (0, 1)))
    known = found.loss.notnull().all("image").sum("steps")
    for start in resnets.STARTS:
        first_alone = any(start == f"{set_up}: {name}" for set_up, name in resnets.AT_FIRST_ALONE)
        sized = start.startswith((resnets.GROW, resnets.SHRINK))
        assert known.sel(start=start) == (1 if first_alone else 2 if sized else 3), start
    at_once = found.loss.isel(steps=0).mean("image")
    source, copies = (float(at_once.sel(start=f"{resnets.GROW}: {how}")) for how in (resnets.SOURCE, resnets.COPIES))
    assert copies == pytest.approx(source, rel=0.02), "copies compute what the source does"
    assert resnets.apart(found, resnets.SCRATCH, resnets.SCRATCH, 0) == (0, 0)


def test_what_is_said_of_resnets_is_what_was_kept():
    kept = resnets.run("quick")
    assert kept.attrs["profile"] == "full" and kept.sizes["image"] == 1000
    assert all(np.isfinite(list(values.values())).all() for values in resnets.claims(kept).values())
    above, error = resnets.apart(kept, f"{resnets.ONE}: {resnets.HALF}", f"{resnets.ONE}: {resnets.PARENT}", 0)
    said = panels.kinds.in_words(above, error)
    assert said in panels.kinds.apart(kept).text.splitlines()[0]
    told = panels.kinds.reading_of_resnets(kept).text
    assert f"before the first step it is {'lower' if above < -2 * error else 'higher'}, after" in told
    assert len(re.findall(r"[0-9]+", told)) <= 6 + 2, "two are the numbers of the source's figures"


def test_a_difference_within_two_errors_cannot_be_told():
    assert panels.kinds.in_words(0.03, 0.02) == "+0.03 ± 0.02, which is within the noise"
    assert panels.kinds.in_words(-0.3, 0.02) == "−0.30 ± 0.02"


def test_the_bill_counts_what_a_parent_began_from_once():
    assert panels.kinds.bill() == {"alone": 320 + 240, "pair": 320 + 2 * 240, "stranger": 400, "strangers": 800}


# -- pictures --------------------------------------------------------------------------------------

def test_spirals_say_what_was_measured(sweeps):
    sweep = sweeps[spirals]
    setting = str(panels.spirals.PAIRS["both classes"])
    panel = panels.spirals.starts(sweep).set(gamma=2.0, setting=setting)
    loss = float(spirals.relative(sweep).sel(setting=setting, gamma=2.0))
    assert f"Parents: {setting}. γ = 2.00. Mean loss over training {loss:.2f} times" in panel.alt
    rows = panels.spirals.summary(sweep).text.splitlines()
    assert len(rows) == sweep.sizes["setting"] and rows[0].startswith(f"{sweep.setting.values[0]}: B alone")


def test_the_playground_is_computed_and_right():
    panel = panels.playground.line_of_two().set(condition=1, steps=10)
    said = panel.alt.split("γ = ")[1].split(",")[0]
    assert panel.alt.count(said) == 3 + len(panels.playground.STEPS), "where all directions are alike, all are one"
    panel.set(condition=100, steps=50)
    e1, e2 = (torch.tensor(error, dtype=torch.float64) for error in panels.playground.PAIRS[panel.values["pair"]])
    assert f"after 50 steps at {e2[1] / (e2[1] - e1[1]):.2f}" in panel.alt, "only the flat direction counts"


def test_theorem_1_says_probability_and_ratio(sweeps):
    panel = panels.theory.theorem_1(sweeps[theory]).set(d=2)
    assert "2 parameters" in panel.alt and f"bound is {float(sweeps[theory].worst.sel(d=2)):.3g}" in panel.alt


def test_gamma_says_losses_and_proposals(sweeps):
    sweep = sweeps[gamma]
    panel = panels.gamma.along(sweep).set(steps=100, pair=f"{digits.HALVES.name}; {digits.ONE}")
    now = sweep.loss.sel(case=digits.HALVES.name, start=digits.ONE, steps=100)
    assert f"at γ = ½ it is {float(now.sel(gamma=0.5)):.3f}" in panel.alt
    assert set(panels.gamma.pairs(sweep)) == {f"{case.name}; {start}" for case, starts in SMALL[gamma].cases
                                              for start in starts}
    shares = panels.gamma.gain_shares(sweep.sel(case=digits.THIRDS.name, start=digits.ONE), sweep)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert "Not MNIST!" in panels.gamma.nearer_is_not_lower(sweep).data
    assert len(panels.gamma.proposals(sweep).text.splitlines()) == 6


def test_the_table_says_losses_and_differences(sweeps):
    sweep = sweeps[table]
    panel = panels.table.beginnings(sweep).set(steps=50, set_up=table.HALVES.name, rate=0.4)
    loss = float(sweep.loss.sel(set_up=table.HALVES.name, start=table.UNIFORM, steps=50, rate=0.4))
    assert f"{table.UNIFORM} {loss:.3f}" in panel.alt and table.LIGO not in panel.alt, "its maps are not paid yet"
    assert table.LIGO in panel.set(steps=100).alt
    assert len(panels.table.loss_ratios(sweep).text.splitlines()) == len(SMALL[table].set_ups)
    assert len(panels.table.bill(sweep).text.splitlines()) == len(table.STARTS)


def test_widths_and_depths_say_accuracies_and_losses(sweeps):
    panel = panels.width.maps(sweeps[width])
    panel.set(numbering=7, setting=f"interpolation, {width.SHRINK}")
    mixed = sweeps[width].numbering_accuracy.sel(direction=width.SHRINK).values[1, 7]
    assert "in order 7, strongest units gives" in panel.alt and f"interpolation {mixed:.3f}" in panel.alt
    panel = panels.depth.layers(sweeps[depth]).set(row_sum=0.5, network=depth.RESIDUAL)
    loss = float(sweeps[depth].loss.sel(network=depth.RESIDUAL, start="interpolation, rows sum to 0.5", steps=0))
    assert f"rows sum to 0.5 have loss {loss:.3f} at once" in panel.alt


def test_shuffled_weights_are_the_same_numbers_and_know_nothing(sweeps):
    state = digits.random_states(0, 1)[0]
    mixed = knowledge.shuffled(state, 0)
    assert mixed.keys() == state.keys() and any(not torch.equal(mixed[key], state[key]) for key in state)
    assert all(torch.equal(mixed[key].flatten().sort()[0], state[key].flatten().sort()[0]) for key in state)
    assert all(mixed[key].shape == state[key].shape for key in state)
    sweep = sweeps[knowledge]
    loss = sweep.loss.isel(rate=0).sel(case=digits.HALVES.name, steps=50)
    gain, control = (float(loss.sel(start=knowledge.RANDOM) - loss.sel(start=start))
                     for start in (knowledge.PARENT, knowledge.SHUFFLED))
    assert knowledge.claims(sweep)["SAIL-5"]["unknowing_digits_50"] == pytest.approx(control / gain)
    assert f"{control / gain:.0%} with “digits”" in panels.knowledge.reading_of_knowledge(sweep).text
    assert "Not MNIST!" in panels.knowledge.without(sweep).data
    own = sweep.loss.sel(case=digits.THIRDS.name, start=knowledge.SHUFFLED, steps=50).min().item()
    assert f"{own:.2f} from its shuffled weights" in panels.knowledge.reading_of_own_rates(sweep).text


def test_a_side_that_is_fitted_to_the_other_undoes_it():
    """Without ReLUs the network computes what it did; interpolated in both, it does not."""
    state = {key: tensor.double() for key, tensor in MLP((5, 8, 8, 3)).state_dict().items()}

    def linear(state):
        x = torch.eye(5, dtype=torch.float64)
        for layer in range(3):
            x = x @ state[f"layers.{layer}.weight"].T + state[f"layers.{layer}.bias"]
        return x
    above, units, usual = (between.widened(state, 16, how) for how in (between.ABOVE, between.UNITS, between.USUAL))
    assert above["layers.1.weight"].shape == (16, 16)
    for fitted in (above, units):
        torch.testing.assert_close(linear(fitted), linear(state))
    assert (linear(usual) - linear(state)).abs().max() > 0.05
    assert torch.equal(above["layers.0.weight"], usual["layers.0.weight"])
    assert torch.equal(units["layers.2.weight"], usual["layers.2.weight"])


def test_the_controls_of_width_agree_with_the_experiment_on_width(sweeps):
    """The first order and the first rate are those of `width`, up to what an accuracy of float32 can differ."""
    usual = sweeps[between].accuracy.sel(how=between.USUAL).values
    orders = sweeps[width].numbering_accuracy.sel(direction=width.GROW).values[1]
    np.testing.assert_allclose(usual, orders[:3], atol=0.002)
    part = sweeps[width].accuracy.sel(direction=width.GROW, optimiser=width.SGD, steps=100)
    for how in (width.SCRATCH, rates.BETWEEN):
        trained = float(sweeps[rates].accuracy.sel(how=how, rate=0.1)[0])
        assert trained == pytest.approx(float(part.sel(how=how)), abs=0.01)
    lost, ahead = between.claims(sweeps[between])["SAIL-8"], rates.claims(sweeps[rates])["SAIL-8"]
    assert lost["between_lost"] == pytest.approx(float(sweeps[between].accuracy[0, 0]) - usual.min())
    mean = sweeps[rates].accuracy.mean("order")
    copies = mean.sel(how=rates.COPIES)
    assert ahead["lead_own_rates"] == pytest.approx(float(copies.max() - mean.sel(how=width.SCRATCH).max()))
    assert ahead["lead_larger"] == pytest.approx(float((copies - mean.sel(how=rates.LARGER)).sel(rate=0.1)))
    assert f"between {usual.min():.1%} and {usual.max():.1%}" in panels.between.reading_of_fitting(sweeps[between]).text
    assert f"{100 * ahead['lead_one_rate']:.0f} points ahead of scratch" in \
        panels.rates.reading_of_rates(sweeps[rates]).text
    for picture in (panels.between.orders(sweeps[between]), panels.rates.by_rate(sweeps[rates]),
                    panels.tasks.thirds(sweeps[gamma]), panels.table.lead(sweeps[table])):
        assert "Not MNIST!" in picture.data and "nan" not in picture.data.split("src=")[0]


def test_controls_of_random_maps_have_the_size_of_what_they_replace(sweeps):
    grown, = random_maps.starts_of(random_maps.PROJECTION, 0, 1)
    for replaced in (random_maps.NORMS, random_maps.VALUES):
        other = random_maps.control(grown, replaced)
        for key, tensor in grown.items():
            assert other[key].norm() == pytest.approx(tensor.norm().item(), rel=1e-5)
            assert abs(torch.cosine_similarity(other[key].flatten(), tensor.flatten(), 0)) < 0.8, "another one"
        values, of_grown = (torch.linalg.svdvals(state["layers.1.weight"].double()) for state in (other, grown))
        assert torch.allclose(values, of_grown, rtol=1e-4, atol=1e-5) is (replaced == random_maps.VALUES)
    for replaced in (random_maps.FIRST, random_maps.REST):
        other = random_maps.control(grown, replaced)
        kept = [torch.equal(other[f"layers.{layer}.weight"], grown[f"layers.{layer}.weight"]) for layer in range(3)]
        assert kept == ([True, False, False] if replaced == random_maps.FIRST else [False, True, True])
    x, _ = digits.images({"first": width.FIRST, "size": width.SIZE})
    by_outputs = random_maps.control(grown, random_maps.OUTPUTS, x=x)
    sizes = [(x @ state["layers.0.weight"].double().T + state["layers.0.bias"].double()).square().mean().sqrt()
             for state in (grown, by_outputs)]
    assert sizes[1] == pytest.approx(sizes[0].item(), rel=1e-5)
    assert by_outputs["layers.1.weight"].norm() == pytest.approx(grown["layers.1.weight"].norm().item(), rel=1e-5)
    usual = sweeps[width].accuracy.sel(direction=width.GROW, optimiser=width.SGD)
    for how in (random_maps.PROJECTION, random_maps.SVD):
        of_draws = sweeps[random_maps].accuracy.sel(how=how)
        np.testing.assert_allclose(of_draws[0], usual.sel(how=how, steps=[0, 20, 100]), atol=0.01)
    numbers = random_maps.claims(sweeps[random_maps])["SAIL-8"]
    mean = sweeps[random_maps].accuracy.sel(steps=20).mean("draw")
    assert numbers["random_svd_ahead_norms_20"] == pytest.approx(float(
        mean.sel(how=random_maps.SVD) - mean.sel(how=f"{random_maps.SVD}, {random_maps.NORMS}")))
    at_once, _, end = sweeps[random_maps].accuracy.sel(how=random_maps.SVD).mean("draw").values
    told = panels.width.beside_random(sweeps[random_maps]).text
    assert f"SVD as printed: at once {at_once:.3f}, " in told and f"100 steps {end:.3f}" in told


def test_a_sum_scales_the_last_layer_of_a_block_or_all_of_it(sweeps):
    state = depth.source(depth.RESIDUAL)
    whole, step = (growth.depth.stack_of(rows.deepened(state, form, 0.5))[1] for form in (rows.WHOLE, rows.STEP))
    for block, made in ((whole, 0.5), (step, 1.0)):
        old = growth.depth.stack_of(growth.deepen(state, depth.NEW, "interpolation"))[1]
        for name, share in (("into.weight", made), ("into.bias", made), ("out.weight", 0.5), ("out.bias", 0.5)):
            torch.testing.assert_close(block[name], share * old[name])
    part = sweeps[depth].sel(network=depth.RESIDUAL)
    for row_sum in (0.5, 1.0):
        usual = part.loss.sel(start=panels.depth.with_sum(row_sum), steps=[0, 20, 100])
        found = sweeps[rows].loss.sel(row_sum=row_sum)
        np.testing.assert_allclose(found.sel(form=rows.STEP), usual, rtol=1e-4)
        assert np.allclose(found.sel(form=rows.WHOLE), usual, rtol=1e-4) is (row_sum == 1)
    numbers = rows.claims(sweeps[rows])["SAIL-9"]
    losses = sweeps[rows].loss.sel(form=rows.WHOLE, steps=0)
    assert numbers["whole_root_over_one_0"] == pytest.approx(float(losses[1] - losses[2]))
    assert numbers["whole_best_0"] == float(losses.row_sum[int(losses.values.argmin())])
    panel = panels.depth.layers(sweeps[depth], sweeps[rows]).set(row_sum=0.5, network=depth.RESIDUAL)
    assert f"multiplied, loss at once: 0.5: {float(losses[0]):.3f}, 0.71" in panel.alt
    assert "multiplied, loss at once" not in panel.set(network=depth.PLAIN).alt


def test_every_panel_has_few_enough_settings_for_a_page(sweeps):
    for panel in (panels.spirals.starts(sweeps[spirals]), panels.playground.line_of_two(),
                  panels.theory.theorem_1(sweeps[theory]), panels.gamma.along(sweeps[gamma]),
                  panels.table.beginnings(sweeps[table]), panels.width.maps(sweeps[width]),
                  panels.depth.layers(sweeps[depth])):
        assert np.prod([len(control.values) for control in panel.controls.values()]) <= 2000


def test_readings_and_stills_hold_the_sweeps_numbers(sweeps):
    assert f"{spirals.claim_10(sweeps[spirals])['strangers_half']:.2f} from two" in \
        panels.spirals.reading_of_figure_8(sweeps[spirals]).text
    assert f"{theory.claim_3(sweeps[theory])['indefinite']:.0%} are indefinite" in \
        panels.theory.reading_of_many_parents(sweeps[theory]).text
    assert f"is {gamma.claim_4(sweeps[gamma])['cost_mmd']:.3f} nats above" in \
        panels.gamma.reading_of_the_formula(sweeps[gamma]).text
    assert f"by {overlap.claim_6(sweeps[overlap])['spike_least']:.3f}" in \
        panels.overlap.reading_of_figure_2c(sweeps[overlap]).text
    assert "Not MNIST!" in panels.overlap.curves(sweeps[overlap]).data
    assert f"between {width.claim_8(sweeps[width])['orders_low']:.2f} and" in \
        panels.width.reading_of_equation_8(sweeps[width]).text
    assert f"rows that sum to ½ {depth.claim_9(sweeps[depth])['residual_half_0']:.2f}" in \
        panels.depth.reading_of_equation_9(sweeps[depth]).text
    loss = table.claim_11(sweeps[table])["sail_100"]
    assert f"SAIL {loss:.3f}" in panels.table.reading_of_table_2(sweeps[table]).text


def test_what_is_in_full_alone_says_so():
    for draw in (panels.kinds.text, panels.kinds.points, panels.kinds.photographs, panels.kinds.apart,
                 panels.kinds.reading_of_resnets, panels.kinds.without_labels):
        assert "Measured in profile “full” alone" in repr(draw(None))


def test_the_front_door_says_which_data_and_how_much_there_is_to_train(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path))
    experiment.announce("quick", 0)
    first, second = capsys.readouterr().out.splitlines()
    assert first == str(data.source("small_mnist")) and "networks have to be trained: about 50 s" in second


# -- the ledger ------------------------------------------------------------------------------------

def test_the_chapter_measures_every_number_that_its_verdicts_need(sweeps):
    found = experiment.claims(*(module.claims(sweep) for module, sweep in sweeps.items()))
    numbers = [f"SAIL-{number}" for number in (*range(1, 12), 14)]
    assert list(found) == numbers, "in their order"
    for id, values in found.items():
        assert all(np.isfinite(value) for value in values.values()), id
        assert any(condition.number in values for condition in claims.ledger()[id].conditions), id


def test_a_learning_rate_is_no_rounded_number(small):
    """0.1 in single precision changed losses in the eighth digit."""
    states, case = digits.random_states(0, 2), digits.THIRDS
    plain, exact = (digits.retrained(states, case, (0, 3), lr=lr)["loss"]
                    for lr in (0.1, torch.tensor([0.1, 0.1], dtype=torch.float64)))
    assert np.array_equal(plain, exact)


@pytest.mark.parametrize("module", [width, depth])
def test_a_number_is_taken_after_the_steps_that_its_name_says(module):
    """Not after the last, which are 300 in the kept sweep."""
    sweep = module.EXPERIMENT.archived().copy(deep=True)
    sweep.accuracy.loc[{"steps": 100}] = 0.123
    (numbers,) = module.claims(sweep).values()
    assert sum(name.endswith("_100") for name in numbers) > 3
    assert all(bool(value == 0.123) is name.endswith("_100") for name, value in numbers.items())


def test_an_empty_sample_is_no_data_set():
    with pytest.raises(ValueError, match="nothing to compare"):
        distances.squared_mmd(torch.zeros(0, 3), torch.ones(2, 3), distances.gaussian(1.0))
