"""What the views of chapter 11 say at several settings of the archived full sweeps, and by which rules."""
import re

import numpy as np
import pytest
import torch

from lessons.kit import claims
from lessons.kit.noise import Difference
from lessons.kit.predict import predict
from lessons.kit.view.marks import ROLES
from lessons.linearization import experiment
from lessons.linearization.algorithms import networks
from lessons.linearization.algorithms import tangent as linear
from lessons.linearization.experiment import merging, near, rule, subsets
from lessons.linearization.panels import flow, kernel, lora, tangent
from lessons.linearization.panels import merging as arms
from lessons.linearization.panels import near as pulls
from lessons.linearization.panels import rule as rules
from lessons.linearization.panels import subsets as layers

FULL = ("full", 0)


@pytest.fixture(scope="module")
def views():
    """All seven, as they open without a prediction."""
    return {"near": pulls.near(experiment.near.run(*FULL)), "ridge": kernel.ridge(experiment.kernel.run(*FULL)),
            "sides": flow.sides(experiment.flow.run(*FULL)), "rules": rules.rules(experiment.rule.run(*FULL)),
            "subsets": layers.every_subset(experiment.subsets.run(*FULL)),
            "ranks": lora.ranks(experiment.lora.run(*FULL)), "arms": arms.arms(experiment.merging.run(*FULL))}


OPENINGS = {
    "near": "No λ makes the network clearly more linear than stopping early at the same training error",
    "ridge": "The extreme eigenvalues alone do not tell how much error is left",
    "sides": "In the end energy bounds the distance best, and no bound of the gap says anything",
    "rules": "Here, with full batches and small steps, the rule is never on and changes nothing",
    "subsets": "A small condition number is a good sign at a small σ and a bad one at a large σ",
    "ranks": "LoRA’s kernel comes near the whole one with the rank, but at low rank its networks are less linear",
    "arms": "Here, on turned digits, merged tangents beat merged networks; on permuted pixels, "
            "merged tangents beat merged networks with some numbers of tasks"}


@pytest.mark.parametrize("name", OPENINGS)
def test_a_view_opens_where_its_finding_is_seen(name, views):
    view = views[name]
    assert view.title == OPENINGS[name]
    assert len([control for control in view.controls.values() if control.kind == "chips" and not control.more]) <= 1
    assert all(len(control.texts) <= 6 for control in view.controls.values() if control.kind == "chips")
    coloured = {mark.role for mark in view.marks} - {"other", "chance", "single"}
    assert coloured == {"merged"} and all(mark.role in ROLES for mark in view.marks)


@pytest.mark.parametrize("name", OPENINGS)
def test_titles_state_no_number_and_alts_state_all_of_a_setting(name, views):
    view = views[name]
    for value in view.controls[view.slider].values:
        frame = view.draw(**view.values | {view.slider: value})
        assert not re.search(r"[0-9]", frame.title) and "nan" not in frame.alt


@pytest.mark.parametrize("name, setting, title", [
    ("near", {"setting": near.TEN_SGD},
     "Some λ makes the network more linear than stopping early does, and no less accurate"),
    ("ridge", {"half": 1e6}, "Here the extreme eigenvalues bound the error that is left closely"),
    ("ridge", {"loss": "forgotten", "half": 1.0}, "Forget the n, and you expect too little error to be left"),
    ("ridge", {"loss": "forgotten", "half": 1e6}, "At so strong a pull it hardly matters that the n is forgotten"),
    ("sides", {"lam": 0.0}, "The printed bound falls below the distance that it should bound"),
    ("sides", {"lam": 1.0}, "In the end energy bounds the distance better than the proof does, and no bound of the gap "
                            "says anything"),
    ("rules", {"start": rule.LATE}, "λ switched on late throws the error up, and the rule never switches it on"),
    ("rules", {"start": rule.ELSEWHERE}, "From here the rule is on in hardly any step, and the error jumps when it is"),
    ("subsets", {"measure": "risk"}, "At every σ, subsets with a small predicted error train further"),
    ("subsets", {"net": subsets.WIDE, "training": subsets.OWN},
     "At a large σ, subsets with a large condition number train further; at a small σ that is within the noise"),
    ("subsets", {"measure": "weights"}, "Subsets with a large number of weights train further"),
    ("arms", {"arm": "λ = 1"}, "Here merged networks of a strong λ lose to the usual ones, on both kinds of tasks"),
    ("arms", {"arm": merging.BACK},
     "Here the tangents’ τ, added in the network, lose to merged networks, on both kinds of tasks")])
def test_the_title_of_a_setting_is_what_the_sweep_says(name, setting, title, views):
    view = views[name]
    assert view.draw(**view.values | setting).title == title


@pytest.mark.parametrize("early, accuracy, title", [
    ([0.4, 0.4, 0.34], [0.8, 0.8, 0.8],
     "No λ makes the network clearly more linear than stopping early at the same training error"),
    ([0.4, 0.4, 0.5], [0.8, 0.8, 0.6],
     "Where λ makes the network more linear than stopping early does, it is less accurate"),
    ([0.4, 0.4, 0.5], [0.8, 0.8, 0.79],
     "Some λ makes the network more linear than stopping early does, and no less accurate")])
def test_what_lambda_is_said_to_do(early, accuracy, title):
    gaps = np.array([0.4, 0.4, 0.3])
    assert pulls.finding_of_lam(gaps, np.array(early), np.array(accuracy), np.full(3, 0.8), 2000) == title


@pytest.mark.parametrize("far, bent, title", [
    ([1.0, 0.5, 0.1], [[0.9, 0.8], [0.8, 0.8], [0.4, 0.6]],
     "LoRA’s kernel comes near the whole one with the rank, but at low rank its networks are less linear"),
    ([1.0, 0.5, 0.1], [[0.9, 0.8], [0.8, 0.8], [0.7, 0.6]],
     "LoRA’s kernel comes near the whole one with the rank, but its networks are less linear"),
    ([1.0, 0.5, 0.1], [[0.9, 0.4], [0.8, 0.8], [0.7, 0.6]],
     "LoRA’s kernel comes near the whole one with the rank"),
    ([0.3, 0.3, 0.2], [[np.nan, 0.4], [0.8, 0.8], [0.7, 0.6]],
     "That LoRA’s kernel comes nearer the whole one is within the noise, and its networks are less linear")])
def test_what_lora_is_said_to_do(far, bent, title):
    assert lora.finding_of_lora(np.array(far), np.full(3, 0.1), np.array(bent), 0.5) == title


@pytest.mark.parametrize("turned, permuted, title", [
    ([9, 9], [9, 9], "Here merged tangents beat merged networks, on both kinds of tasks"),
    ([9, 1], [-9, 1], "Here, on turned digits, merged tangents beat merged networks with some numbers of tasks; on "
                      "permuted pixels, merged tangents lose to merged networks with some numbers of tasks"),
    ([9, -9], [1, 1], "Here, on turned digits, merged tangents beat merged networks or lose to them, depending on the "
                      "number of tasks; on permuted pixels, merged tangents are within the noise of merged networks")])
def test_what_an_arm_is_said_to_do(turned, permuted, title):
    leads = {family: [Difference(lead / 100, 0.02) for lead in of_family]
             for family, of_family in zip(merging.FAMILIES, (turned, permuted))}
    assert arms.finding_of_arm("tangents", leads) == title


@pytest.mark.parametrize("orders, title", [
    ([0.9, 0.0, -0.9],
     "A small condition number is a good sign at a small σ and a bad one at a large σ"),
    ([0.9, -0.9, 0.9], "Whether subsets with a small condition number train further or less far depends on σ"),
    ([0.9, 0.9, 0.9], "At every σ, subsets with a small condition number train further"),
    ([-0.9, -0.9, -0.9], "Subsets with a large condition number train further at every σ"),
    ([0.9, 0.1, 0.0], "At some σ, subsets with a small condition number train further; at others that is within "
                      "the noise"),
    ([0.1, 0.1, 0.0], "What the condition number tells of training is within the noise")])
def test_what_correlations_are_called(orders, title):
    assert layers.finding_of_orders(np.array(orders), 15, "condition") == title


def test_the_near_view_has_the_gaps_of_all_lambdas_and_those_of_stopping(views):
    sweep = experiment.near.run(*FULL)
    values = views["near"].frame.values
    end = near.relative(sweep).sel(setting=near.EVEN_ODD).isel(moment=-1)
    assert values["with λ"] == pytest.approx(end.values)
    apart = [near.beside_stopping(sweep, near.EVEN_ODD, lam) for lam in sweep.lam.values[1:]]
    assert values["with λ"][1:] - values["stopped early"][1:] == pytest.approx(apart)


def test_the_answer_waits_for_the_guess(views):
    assert set(views["near"].hides) == {"with λ", "stopped early"}
    guess = predict("How many points?", low=-20, high=20)
    view = arms.arms(experiment.merging.run(*FULL), guess)
    best = merging.by_count(experiment.merging.run(*FULL)).accuracy.sel(family=merging.ROTATED).isel(count=-1)
    assert guess.truth == pytest.approx(100 * float(best.sel(arm=merging.LINEAR) - best.sel(arm=merging.NETWORK)))
    assert {"gain", "arm"} <= set(view.hides)


@pytest.fixture(scope="module")
def finetuned():
    """A network that has learned nothing, its weights before and after a step, and the digits that it is shown."""
    net = networks.Net((196, 5, 1), "tanh")
    theta_0, x = net.initial(0), torch.rand(6, 196, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return net, theta_0, theta_0 + net.initial(1), x, torch.tensor([1.0, -1, 1, -1, -1, 1], dtype=torch.float64)


def test_the_straight_line_is_the_tangent_and_the_bends_are_in_order(finetuned):
    net, theta_0, theta, x, y = finetuned
    view = tangent.along(*finetuned)
    line_of = linear.tangent(lambda there: net(there, x)[:, 0], theta_0)
    bends = []
    for number in view.controls["number"].values:
        half = view.draw(share=0.5, number=number)
        there = theta_0 + 0.5 * (theta - theta_0)
        assert half.values["network"][10] == pytest.approx(float(net(there, x)[number, 0]))
        assert half.values["tangent"][10] == pytest.approx(float(line_of(there)[number]))
        enlarged = half.values["network, enlarged"], half.values["tangent, enlarged"]
        assert np.min(enlarged) == 0 and np.max(enlarged) == 1
        assert np.diff(enlarged[1]) == pytest.approx(np.diff(enlarged[1])[0]), "the tangent is no straight line"
        whole = view.draw(share=1.0, number=number).values
        bends.append(abs(whole["network"][-1] - whole["tangent"][-1]))
        assert f"the target is {float(y[number]):+.0f}." in half.alt and not re.search("[0-9]", half.title)
    assert bends == sorted(bends, reverse=True)


def test_near_the_start_the_network_cannot_be_told_from_its_tangent(finetuned):
    view = tangent.along(*finetuned)
    assert view.controls["share"].value == 1.0 and view.title == "Here the network has clearly left its tangent"
    assert len(view.frame.values["network"]) == len(view.controls["share"].values)  # so its live value is the slider's
    for share in (0.05, 0.0):
        assert view.set(share=share).title == "Here you can hardly tell the network from its tangent"
    assert view.frame.values["network, enlarged"] == pytest.approx(view.frame.values["tangent, enlarged"], abs=0.01)


def test_the_picture_of_the_kernel_tells_classes_apart(finetuned):
    *_, x, y = finetuned
    K = 1.0 + 3 * torch.eye(6, dtype=torch.float64) + torch.outer(y, y)
    page = tangent.matrix(K, x, y).data
    assert "3 even digits first, then 3 odd ones" in page and "are between 0 and 5." in page
    assert "is 5 on the diagonal. Elsewhere it is 2 within a class and 0 between classes." in page


def test_the_gaps_of_a_quadratic_grow_fourfold_and_the_reading_says_so():
    theta_0, theta = torch.zeros(2, dtype=torch.float64), torch.full((2,), 0.6, dtype=torch.float64)

    def f(weights):
        return weights + weights ** 2
    way = tangent.way(f, linear.tangent(f, theta_0), theta_0, theta)
    assert way.wrong[1:] / way.wrong[:-1] == pytest.approx(4)
    said = tangent.reading_of_gaps(way).text
    assert "A factor near four" in said and "later terms" not in said and "too much to call" in said
    guess = predict(tangent.question(way))
    view = tangent.gaps(way, guess)
    assert guess.truth == pytest.approx(way.gap[-1]) and {"wrong", "gap"} <= set(view.hides)
    assert np.isnan(view.frame.values["gap so far"][-1])


def test_a_line_that_is_the_tangent_is_told_from_one_that_is_not():
    trained = torch.tensor([0.1, -0.4, 0.9], dtype=torch.float64)
    lines = {"your formula": trained + 1e-9, "the network": trained + 0.3}
    view = tangent.fit(trained, lines)
    assert "the same outputs" in view.title and "different" in view.draw(other="the network").title
    assert tangent.reading_of_fit(trained, lines).text == (
        "Your formula gave what training the tangent gave, up to rounding. "
        "For the network, the largest difference was 0.30.")


def test_the_readings_of_the_lesson_say_what_the_full_sweeps_say():
    sweep, merged = experiment.near.run(*FULL), experiment.merging.run(*FULL)
    assert "no λ was clearly better" in pulls.reading_of_the_pull(sweep).text
    for setting in (near.TEN_SGD, near.TEN_ADAM):
        assert "the one that stopped early" in pulls.reading_of_ten_digits(sweep, setting).text
    of_causes = pulls.reading_of_causes().text
    assert "more linear than from random ones on all 10 seeds" in of_causes
    assert "So what had been learned is not needed for it" in of_causes
    assert "on 5 of 6 seeds" in of_causes and "next to nothing" in of_causes
    merging = arms.reading_of_merging(merged).text
    assert merging.startswith("With 8 tasks, merged tangents were better") and "on permuted pixels short" in merging
    assert arms.reading_of_length(merged).text.startswith("On permuted pixels it was not.")
    assert arms.reading_of_need(merged).text.startswith("Networks did not have to be near")


def test_mini_batches_switch_the_rule_on_in_some_steps():
    """On the ledger's seeds; so it was on seeds 20 to 29, which nobody had looked at."""
    ledger = claims.measured()["LFT-2"]
    assert min(ledger["on_batches"]) > 0 and max(ledger["batches_over_plain"]) < 1
    assert max(ledger["on_random"]) == 0 and max(ledger["on_by_all"]) <= 0.02
    assert min(ledger["on_large"]) == 0 < max(ledger["on_large"])
    told = rules.reading_of_when(experiment.batches.run(*FULL)).text
    assert "The weights stayed nearer" in told and "the training error was larger" in told


def test_beside_stopping_early_strong_pulls_have_the_smaller_gap():
    """Ten digits with SGD, on the ledger's six seeds, and with Adam in the kept sweep. (Weak pulls have no sign of
    their own: larger in full, smaller in quick.)"""
    strong = claims.measured()["LFT-11"]["sgd_taylor_beside_stopping_strong"]
    assert len(strong) == 6 and max(strong) < 0
    lams, gaps, early, *_ = pulls._at_the_end(experiment.near.run(*FULL), near.TEN_ADAM)
    assert lams[-1] == 50 and gaps[-1] < early[-1]


def test_with_a_frozen_lora_bends_the_network_no_less():
    """The bound was set on the ledger's seeds. In quick it held on seeds 20 to 29, which nobody had looked at."""
    assert min(claims.measured()["LFT-14"]["frozen_over_tuned"]) >= 0.9
    assert "So the product is not why the network bends." in lora.reading_of_frozen(experiment.frozen.run(*FULL)).text


def test_what_the_strongest_pull_costs_is_within_the_noise_on_even_or_odd_only():
    assert "may be noise" in pulls.reading_of_the_cost(experiment.near.run(*FULL)).text


def test_tangents_and_stopping_early_are_ahead_on_these_seeds():
    """On the ledger's six seeds, which is what lesson 11 says."""
    leads = arms.leads_on_the_seeds()
    ahead = {row: int((values > 0).sum()) for row, values in leads.items()}
    assert ahead == {"tangents, on turned digits": 5, "tangents, on permuted pixels": 6,
                     "stopped early, on turned digits": 1, "stopped early, on permuted pixels": 6}
    tangents, stopped = (leads[f"{who}, on permuted pixels"] for who in ("tangents", "stopped early"))
    assert (stopped > tangents).sum() == 5
    assert "angents, on turned digits: 5;" in arms.reading_of_the_seeds().text
    assert "permuted pixels: +1.5, +3.1" in arms.on_the_seeds().data
