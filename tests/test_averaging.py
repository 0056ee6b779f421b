import itertools

import numpy as np
import pytest
import torch
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.averaging import algorithms, experiment, panels
from lessons.averaging.algorithms import Family
from lessons.averaging.experiment import models, resnets
from lessons.averaging.experiment.models import BOLD, STRANGER
from lessons.kit import archive, claims
from lessons.kit.page import half_up
from lessons.kit.predict import predict
from lessons.linearity.algorithms import coef
from toy_models import MLP, Architecture, Recipe, weights, zoo


def small_models(count=6, widths=(12, 7, 5, 3), seed=0):
    """State dicts of random MLPs, and images for them."""
    torch.manual_seed(seed)
    return [MLP(widths).requires_grad_(False).state_dict() for _ in range(count)], torch.rand(40, widths[0])


SHARES = [None, [0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]


@pytest.mark.parametrize("shares", SHARES)
def test_shared_work_gives_the_average_that_the_plain_computation_gives(shares):
    states, x = small_models()
    family, chosen = Family(states, x), [4, 1, 2]
    plain = MLP.from_state(weights.average([states[i] for i in chosen], shares)).features(x)
    shared = family.average(chosen, None if shares is None else torch.tensor(shares))
    assert plain.keys() == shared.keys()
    for layer in plain:
        assert torch.allclose(plain[layer], shared[layer], atol=1e-6)
        assert torch.equal(family.features[layer][3], MLP.from_state(states[3]).features(x)[layer])


def test_a_family_that_keeps_outputs_alone_computes_the_same_bits():
    states, x = small_models()
    whole, small = Family(states, x), Family(states, x, outputs_alone=True)
    assert small.features.keys() == {"output"}
    shares = torch.tensor([1.5, -0.2, -0.3])
    ours, theirs = small.average([2, 0, 3], shares), whole.average([2, 0, 3], shares)
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[layer], theirs[layer]) for layer in theirs)
    assert torch.equal(small.ensemble([2, 0, 3], shares), whole.ensemble([2, 0, 3], shares))


@pytest.mark.parametrize("shares", SHARES)
def test_the_ensemble_is_the_weighted_mean_of_the_outputs(shares):
    states, x = small_models()
    logits = torch.stack([MLP.from_state(states[i])(x) for i in (4, 1, 2)])
    by_hand = sum(share * one for share, one in zip(shares or [1 / 3] * 3, logits))
    assert torch.allclose(algorithms.ensemble(logits, shares and torch.tensor(shares)), by_hand, atol=1e-6)
    assert torch.allclose(Family(states, x).ensemble([4, 1, 2], shares and torch.tensor(shares)), by_hand, atol=1e-6)


def test_stored_work_is_not_changed_by_using_it():
    states, x = small_models()
    family = Family(states, x)
    before = family.before.clone()
    features = {layer: feature.clone() for layer, feature in family.features.items()}
    family.average([0, 1, 2])
    family.ensemble([0, 1, 2])
    list(algorithms.along_an_order(family, [3, 1, 0]))
    assert torch.equal(family.before, before)
    assert all(torch.equal(family.features[layer], kept) for layer, kept in features.items())


def test_running_sums_along_an_order_agree_with_the_definitions():
    states, x = small_models()
    order = [3, 0, 5, 1]
    seen = dict(algorithms.along_an_order(Family(states, x), order))
    assert list(seen) == [2, 3, 4]
    for k, layers in seen.items():
        average = MLP.from_state(weights.average([states[i] for i in order[:k]])).features(x)
        single = [MLP.from_state(states[i]).features(x) for i in order[:k]]
        for layer, numbers in layers.items():
            features = torch.stack([one[layer] for one in single])
            gap = 1 - algorithms.cosine_avg(average[layer], features)
            base = 1 - algorithms.cosine_base(average[layer], features)
            length = coef(average[layer], features.double().mean(0))
            assert torch.allclose(numbers["gap"], gap, atol=1e-6, equal_nan=True)
            assert torch.allclose(numbers["base"], base, atol=1e-6, equal_nan=True)
            assert torch.allclose(numbers["coef"], length, atol=1e-5, equal_nan=True)


def test_cosine_avg_and_base_agree_with_loops_written_from_the_definition():
    torch.manual_seed(0)
    average, features = torch.randn(5, 4), torch.randn(3, 5, 4)

    def cos(a, b):
        return sum(p * q for p, q in zip(a, b)) / (sum(p * p for p in a) * sum(q * q for q in b)) ** 0.5

    for sample in range(5):
        rows = [features[i, sample].double().tolist() for i in range(3)]
        one = average[sample].double().tolist()
        mean = [sum(column) / 3 for column in zip(*rows)]
        base = sum(cos(one, row) for row in rows) / 3
        assert algorithms.cosine_avg(average, features)[sample].item() == pytest.approx(cos(one, mean))
        assert algorithms.cosine_base(average, features)[sample].item() == pytest.approx(base)


@given(seed=st.integers(0, 1000), k=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_pairs_predict_the_deviation_of_a_quadratic_exactly(seed, k):
    generator = torch.Generator().manual_seed(seed)
    hessian = torch.randn(3, 4, 4, generator=generator, dtype=torch.float64)
    slope = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    points = torch.randn(k, 4, generator=generator, dtype=torch.float64)
    shares = torch.rand(k, generator=generator, dtype=torch.float64)
    shares /= shares.sum()

    def f(theta):
        return torch.einsum("i,nij,j->n", theta, hessian, theta) + slope @ theta + 1

    def deviation(alpha):
        return f(alpha @ points) - sum(a * f(point) for a, point in zip(alpha, points))

    halfway = torch.zeros(k, k, 3, dtype=torch.float64)
    for i, j in itertools.permutations(range(k), 2):
        alpha = torch.zeros(k, dtype=torch.float64)
        alpha[[i, j]] = 0.5
        halfway[i, j] = deviation(alpha)
    assert torch.allclose(algorithms.predicted_from_pairs(halfway, shares), deviation(shares), atol=1e-9)
    equal = algorithms.predicted_from_pairs(torch.ones(k, k), torch.full((k,), 1 / k))
    assert equal.item() == pytest.approx(2 * (1 - 1 / k), rel=1e-5)


def test_the_remainder_of_the_second_order_prediction_falls_with_the_third_power():
    """On a smooth function that is no quadratic: a tenth of the distance, a thousandth of the error."""
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(4, 5, generator=generator, dtype=torch.float64)
    inner = torch.randn(6, 5, generator=generator, dtype=torch.float64)
    shares = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    eye = torch.eye(4, dtype=torch.float64)

    def error(scale):
        def f(point):
            return torch.tanh(inner @ (1 + scale * point))

        def deviation(alpha):
            return f(alpha @ points) - sum(a * f(point) for a, point in zip(alpha, points))

        halfway = torch.zeros(4, 4, 6, dtype=torch.float64)
        for i, j in itertools.permutations(range(4), 2):
            halfway[i, j] = deviation((eye[i] + eye[j]) / 2)
        return (algorithms.predicted_from_pairs(halfway, shares) - deviation(shares)).norm().item()

    assert 300 < error(0.1) / error(0.01) < 3000


def test_the_counterexample_satisfies_ctl_for_all_pairs_and_not_for_three():
    numbers = experiment.mixes.lemma_2_fails()
    assert numbers["pairs_deviate"] <= 1e-7 and numbers["three_deviate"] == pytest.approx(1 / 3)
    states, x = algorithms.sleeping_unit(), torch.ones(1, 1)
    for alpha in np.linspace(0, 1, 21):
        middle = MLP.from_state(weights.average([states[0], states[2]], [alpha, 1 - alpha])).features(x)
        assert middle["layer 1"].flatten().tolist() == pytest.approx([alpha, 0, 1 - alpha])
        assert middle["output"].item() == 0


def test_the_picture_of_the_counterexample_says_in_which_share_of_the_triangle_the_unit_is_on():
    mixes = np.random.default_rng(0).dirichlet(np.ones(3), 100_000)
    share = (1 - 2 * (mixes ** 2).sum(1) > 0).mean()
    assert f"in {share:.0%} of the triangle" in panels.triangle.sleeping().data


def test_average_with_shares_is_a_convex_combination_and_says_what_is_wrong_with_others():
    a = {"w": torch.tensor([1.0, 3.0]), "num_batches_tracked": torch.tensor(4)}
    b = {"w": torch.tensor([5.0, 3.0]), "num_batches_tracked": torch.tensor(9)}
    assert weights.average([a, b], [0.25, 0.75])["w"].tolist() == [4.0, 3.0]
    assert weights.average([a, b], torch.tensor([1.0, 0.0]))["w"].tolist() == [1.0, 3.0]
    assert weights.average([a, b], [0.5, 0.5])["num_batches_tracked"] == 4
    for shares in ([0.5, 0.6], [1.5, -0.5], [1.0], [float("nan"), 1.0]):
        with pytest.raises(ValueError, match="shares must be 2 numbers, none negative, that sum to 1, not"):
            weights.average([a, b], shares)


def test_regression_of_an_exact_line_and_of_nothing():
    x = np.arange(5.0)
    line = algorithms.regression(x, 3 - 2 * x)
    assert line["slope"] == pytest.approx(-2)
    assert line["intercept"] == pytest.approx(3)
    assert line["r2"] == pytest.approx(1)
    with pytest.raises(ValueError, match="three points that differ"):
        algorithms.regression(np.ones(5), x)
    assert np.corrcoef(algorithms.without(x ** 2, x), x)[0, 1] == pytest.approx(0, abs=1e-12)


def test_what_only_follows_a_third_thing_does_not_remain():
    """The test that the partial R² can fail: two numbers that share a cause and nothing else."""
    generator = np.random.default_rng(0)
    cause = generator.normal(size=2000)
    a, b = cause + generator.normal(size=(2, 2000)) * 0.3
    assert algorithms.regression(a, b)["r2"] > 0.7
    assert algorithms.regression(algorithms.without(a, cause), algorithms.without(b, cause))["r2"] < 0.01


def test_what_several_numbers_explain_is_taken_away_with_their_squares():
    generator = np.random.default_rng(1)
    known = generator.normal(size=(500, 2))
    rest = generator.normal(size=500)
    y = 3 + known @ [1.0, -2.0] + 0.5 * known[:, 0] ** 2 + rest
    left = algorithms.remains(y, np.column_stack([known, known ** 2]))
    assert np.corrcoef(left, rest)[0, 1] > 0.99
    assert np.corrcoef(algorithms.remains(y, known), rest)[0, 1] < 0.9
    assert np.allclose(algorithms.remains(y, known[:, :1]), algorithms.without(y, known[:, 0]))


def test_the_error_of_a_paired_difference_counts_only_where_the_two_differ():
    a = np.array([True] * 90 + [False] * 10)
    b = np.array([False] * 4 + [True] * 88 + [False] * 8)
    apart, error = algorithms.paired(a, b)
    assert apart == pytest.approx(0.02)
    assert error == pytest.approx(np.sqrt((6 / 100 - 0.02 ** 2) / 100))
    assert algorithms.paired(a, a) == (0.0, 0.0)


def test_the_paired_error_is_the_spread_over_other_images():
    generator = np.random.default_rng(0)
    found = []
    for _ in range(400):
        luck = generator.random(500)
        found.append(algorithms.paired(luck < 0.9, (luck < 0.87) ^ (generator.random(500) < 0.02)))
    apart, errors = np.array(found).T
    assert np.std(apart) == pytest.approx(errors.mean(), rel=0.15)


@given(seed=st.integers(0, 1000), count=st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_a_greedy_soup_starts_with_the_best_and_is_never_worse_on_held_out_data(seed, count):
    generator = np.random.default_rng(seed)
    table = {}
    for size in range(1, count + 1):
        for chosen in itertools.combinations(range(count), size):
            table[chosen] = round(generator.random(), 1)
    held_out = [table[(i,)] for i in range(count)]
    soup = algorithms.greedy_soup(held_out, lambda chosen: table[tuple(sorted(chosen))])
    assert held_out[soup[0]] == max(held_out)
    assert len(set(soup)) == len(soup)
    grown = [table[tuple(sorted(soup[:size]))] for size in range(1, len(soup) + 1)]
    assert grown == sorted(grown)


def test_hyper_parameters_are_spread_alike_for_every_seed_and_differ_between_them():
    first, second = (models.recipes(seed)["finetuned"] for seed in (0, 1))
    for made in (first, second):
        assert sorted(recipe.lr for recipe in made) == sorted(models.LEARNING_RATES)
        assert sorted(recipe.epochs for recipe in made) == sorted(models.EPOCHS)
        assert sorted(recipe.batch_size for recipe in made) == sorted(models.BATCH_SIZES)
        assert len({recipe.key for recipe in made}) == 20
    assert [recipe.epochs for recipe in first] != [recipe.epochs for recipe in second]
    assert models.recipes(0)["finetuned"] == first
    assert models.name_of(first[0], 1).startswith("model 1: lr 0.02, ")
    assert models.name_of(first[0], 22).startswith("the stranger: ")


def test_an_unknown_profile_is_named():
    for function in (experiment.run, resnets.run, experiment.announce):
        with pytest.raises(ValueError, match="unknown profile 'huge': choose one of quick, full"):
            function("huge")


def test_the_chapter_says_what_it_has_to_train_and_on_what(capsys):
    experiment.announce("quick")
    data, to_train = capsys.readouterr().out.splitlines()
    assert data.startswith("stand-in for MNIST") and "turned by 45°" in data
    assert to_train == "23 of 23 MLPs have to be trained: about 20 s on two cores, once."
    experiment.announce("full")
    assert "ResNets" not in capsys.readouterr().out
    experiment.announce("full", with_resnets=True)  # the repository has their sweep
    assert "ResNets" not in capsys.readouterr().out
    with archive.anew():
        experiment.announce("full", with_resnets=True)
    assert "The ResNets at the end need 1,094 training steps" in capsys.readouterr().out


@pytest.fixture(scope="module")
def sweep(session_sweep):
    """On fewer images than the chapter's, which change no sentence."""
    small = experiment.Settings(test_images=200, soup_images=300, orders=2, lemma_images=30, draws=3)
    with session_sweep((experiment.PROFILES, "quick", small)):
        yield experiment.run("quick", 0)


def test_the_sweep_holds_what_the_definitions_say(sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    networks = models.networks(0)
    states = [network.state_dict() for network in networks]
    x, y = models.test_images(experiment.PROFILES["quick"].test_images)
    an_image = 2 / len(y)  # rounding may tip one

    def accuracy(logits):
        return (logits.argmax(1) == y).double().mean().item()

    for number in (0, 500, 1139):
        triple = sweep.member.values[number]
        plain = accuracy(MLP.from_state(weights.average([states[i] for i in triple]))(x))
        together = accuracy(sum(networks[i](x) for i in triple))
        assert sweep.average_accuracy.values[number] == pytest.approx(plain, abs=an_image)
        assert sweep.ensemble_accuracy.values[number] == pytest.approx(together, abs=an_image)
    pair = sweep.pair_member.values[17]
    bold = MLP.from_state(weights.average([states[20], *(states[i] for i in pair)]))
    assert sweep.outlier_average.sel(outlier=BOLD).values[17] == pytest.approx(accuracy(bold(x)), abs=an_image)
    corner = sweep.triangle_average.sel(first=1.0, second=0.5).values[0]
    assert corner == pytest.approx(sweep.accuracy.values[sweep.triangle_member.values[0, 0]])
    assert (sweep.sel(size=1).greedy_size == 1).all()
    assert (sweep.greedy_size <= sweep["size"]).all()
    equal = sweep.sel(kind="equal", models=2)
    assert np.allclose(equal.predicted, equal.deviation, rtol=1e-3)


def test_soups_and_their_gains_are_those_of_networks_built_plainly(sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    states = [network.state_dict() for network in models.networks(0)]
    x, y = models.test_images(experiment.PROFILES["quick"].soup_images)
    best = sorted(range(20), key=lambda i: -sweep.held_out_accuracy.values[i])

    def right(chosen):
        return (MLP.from_state(weights.average([states[i] for i in chosen]))(x).argmax(1) == y).numpy()

    here = sweep.sel(guest="nobody", size=20)
    gain, error = algorithms.paired(right(best), right(best[:1]))
    assert here.uniform_gain.item() == pytest.approx(gain, abs=2 / len(y))
    assert here.uniform_gain_error.item() == pytest.approx(error, rel=0.1)
    assert here.uniform.item() - here.best_single.item() == pytest.approx(here.uniform_gain.item())
    with_bold = sweep.sel(guest=BOLD, size=3)
    assert with_bold.uniform.item() == pytest.approx(right([20, *best[:2]]).mean(), abs=2 / len(y))


def test_halves_of_the_images_make_up_the_whole(sweep):
    assert np.allclose(sweep.half_average.mean("half"), sweep.average_accuracy)
    assert np.allclose(sweep.half_ensemble.mean("half"), sweep.ensemble_accuracy)
    assert np.allclose(sweep.half_alone[:20].mean("half"), sweep.accuracy[:20])
    best = sweep.accuracy.values[sweep.member.values].max(1)
    assert np.allclose(sweep.above_best, sweep.average_accuracy - best)


def test_two_ways_that_share_nothing_but_their_members_do_not_remain(sweep):
    """The test that the finding can fail: averages and ensembles of other triples' luck."""
    generator = np.random.default_rng(0)
    own = sweep.half_alone.values[sweep.member.values].mean(1)  # (triple, half)
    luck = {name: (("triple", "half"), own + 0.01 * generator.normal(size=(1140, 2)))
            for name in ("half_average", "half_ensemble")}
    found = experiment.triples.explained(sweep.assign(luck))
    assert found["other images"] < 0.02 and found["itself"] < 0.02
    alike = sweep.assign(half_ensemble=sweep.half_average)
    found = experiment.triples.explained(alike)
    assert found["other images"] == pytest.approx(found["itself"])


def test_a_walk_passes_through_the_model_and_away_from_it(sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    bold = models.networks(0)[20].state_dict()
    start = zoo.get(models.recipes(0)["pretrained"]).state_dict()
    there = experiment.walks._at(start, bold, weights.norm(weights.subtract(bold, start)))
    assert all(torch.allclose(there[key], bold[key], atol=1e-5) for key in bold)
    near = experiment.walks._at(start, bold, 4.0)
    assert weights.norm(weights.subtract(near, start)) == pytest.approx(4.0, rel=1e-4)
    assert weights.cosine(weights.subtract(near, start), weights.subtract(bold, start)) == pytest.approx(1, abs=1e-5)
    assert (sweep.walk_gap >= 0).all() and (np.diff(sweep.walk_apart.sel(walker=BOLD)) > 0).all()


@pytest.mark.parametrize("gain, error, begins", [
    (0.001, 0.001, "Its difference from the best single model is +0.1 ± 0.1 points, which is within the noise."),
    (0.01, 0.001, "Its difference from the best single model is +1.0 ± 0.1 points. "),
    (-0.01, 0.001, "Its difference from the best single model is −1.0 ± 0.1 points. ")])
def test_a_soup_within_two_errors_of_the_single_model_is_no_news(gain, error, begins, sweep):
    other = sweep.assign(greedy_gain=xarray.full_like(sweep.greedy_gain, gain),
                         greedy_gain_error=xarray.full_like(sweep.greedy_gain_error, error))
    assert begins in panels.soups.reading_of_the_soups(other).text


def test_on_the_ledgers_seeds_averages_are_ahead_of_their_members_and_close_behind_ensembles():
    """In points: at least one above the mean of the members, and at most half a one below the ensemble."""
    ledger = claims.measured()["CTL-7"]
    assert min(ledger["average_over_members"]) >= 0.01
    assert len(ledger["ensemble_over_average"]) == 10
    assert min(ledger["ensemble_over_average"]) > 0 and max(ledger["ensemble_over_average"]) <= 0.005


@pytest.fixture(scope="module")
def archived():
    """The sweep in the repository, of seed 0 on 10,000 test images."""
    return experiment.MLPS.archived("full", 0)


def test_no_average_of_three_of_the_twenty_is_worse_than_its_worst_member(archived):
    worst = archived.accuracy.values[archived.member.values].min(1)
    assert len(worst) == 1140 and (archived.average_accuracy.values > worst).all()


def test_all_twenty_together_are_less_accurate_than_the_best_of_them(archived):
    """By more than two standard errors, beside the one that is best on held-out data."""
    together = archived.sel(guest="nobody", size=20)
    for way in ("uniform", "soup_ensemble"):
        assert together[f"{way}_gain"] < -2 * together[f"{way}_gain_error"] < 0


def test_the_bold_one_spoils_averages_even_when_it_is_pulled_back(archived):
    """To a distance at which the twenty lie. The average falls behind the ensemble, and the other one's does not."""
    assert archived.distance[:20].min() < 4 < archived.distance[:20].max()
    near = archived.sel(length=4.0)
    lost = near.walk_ensemble - near.walk_average
    assert lost.sel(walker=BOLD) > 0.03 and abs(lost.sel(walker=experiment.walks.OF_THE_TWENTY)) < 0.01


def test_the_reading_of_the_walks_says_what_the_gap_means_for_accuracies(archived):
    lost = 100 * (archived.walk_ensemble - archived.walk_average).sel(walker=BOLD)
    usual = experiment.walks.OF_THE_TWENTY
    text = panels.walks.reading_of_the_walks(archived).text
    assert text.startswith("Left, at distance 4, the gap is ")
    assert "At distance 20 both gaps are larger. But a larger gap need not mean" in text
    assert f"its average is {lost.sel(length=4.0).item():.1f} points below the ensemble. So it is not the" in text
    assert "the bold one alone is clearly less accurate than the other" in text
    alike = archived.assign(walk_alone=archived.walk_alone.where(archived.length > 4, 0.9))
    assert "and so may accuracy" not in panels.walks.reading_of_the_walks(alike).text
    good = archived.walk_ensemble.where(archived.walker != usual, 0.99)
    assert "need not mean" not in panels.walks.reading_of_the_walks(archived.assign(walk_ensemble=good)).text
    ahead = archived.assign(walk_average=archived.walk_ensemble + 0.01)
    assert "points below the ensemble" not in panels.walks.reading_of_the_walks(ahead).text
    level = archived.assign(walk_gap=archived.walk_gap.where(archived.length < 20, 0.0))
    assert "At distance 20" not in panels.walks.reading_of_the_walks(level).text


def test_the_best_member_is_called_hard_to_beat_where_it_is(archived):
    says = "rarely beats the best"
    assert says in panels.triples.reading_of_the_best(archived).text
    assert says not in panels.triples.reading_of_the_best(archived.assign(above_best=-archived.above_best)).text


def test_the_best_is_called_hard_to_tell_from_noise_where_it_is(archived):
    """A share p of the triples clearly ahead, where noise alone would give one of 2.3 %."""
    for share, says in ((0.02, True), (0.1, False), (0.0, False)):
        ahead = np.arange(1140) < round(share * 1140)
        other = archived.assign(above_best=archived.above_best.copy(data=np.where(ahead, 0.1, -0.1)))
        text = panels.triples.reading_of_the_best(other).text
        assert ("would come out clearly ahead in about 2.3% of comparisons. So these few" in text) == says


@pytest.mark.parametrize("other, itself, larger, verdict", [
    (0.33, 0.34, "hardly larger", "What is missing to 1 is mostly the noise of the images"),
    (0.34, 0.34, "not larger", "What is missing to 1 is mostly the noise of the images"),
    (0.90, 0.95, "hardly larger", "So 0.90 is nearly all that these images can show."),
    (0.50, 0.90, "larger", "a part of what is missing to 1 is a difference between the two ways")])
def test_what_is_missing_is_called_noise_where_a_way_agrees_with_itself_no_better(other, itself, larger, verdict,
                                                                                  sweep, monkeypatch):
    numbers = {"members in full": 0.93, "other images": other, "itself": itself}
    monkeypatch.setattr(panels.triples, "explained", lambda sweep: numbers)
    text = panels.triples.reading_of_what_else(sweep).text
    assert f"R² is {larger}: {itself:.2f}" in text and verdict in text
    assert ("That sounds small." in text) == (other < 0.5)
    assert ("mostly the noise" in text) == ("mostly the noise" in verdict)


def test_the_second_run_reads_the_same_numbers_from_disk(sweep, standin_folder_session, monkeypatch, capsys):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    monkeypatch.setattr(models, "networks", None)  # measuring calls it, and would fail
    assert experiment.run("quick", 0).equals(sweep)
    experiment.announce("quick", 0)
    assert "All MLPs that the zoo keeps for this chapter are there" in capsys.readouterr().out


def test_the_claims_are_numbers_of_the_sweep(sweep):
    found = experiment.claims(sweep)
    average, ensemble = sweep.average_accuracy.values, sweep.ensemble_accuracy.values
    own = sweep.accuracy.values[sweep.member.values].mean(1)
    assert found["CTL-7"]["slope"] == pytest.approx(np.polyfit(average, ensemble, 1)[0])
    assert found["CTL-7"]["r2"] == pytest.approx(np.corrcoef(average, ensemble)[0, 1] ** 2)
    assert found["CTL-7"]["r2_beyond_members"] == pytest.approx(_partial_r2(average, ensemble, own))
    assert found["CTL-7"]["r2_least_without_one_model"] == pytest.approx(_least_r2_without_one(sweep))
    assert found["CTL-8"]["gap_most"] == sweep.gap_mean.max().item()
    growth = sweep.deviation.sel(kind="equal", models=20) / sweep.pair_deviation
    assert found["CTL-9"]["growth_at_20"] == pytest.approx(growth.mean().item())


def _partial_r2(a, b, known):
    """Of what least squares on `known` leaves of a and b."""
    inputs = np.column_stack([np.ones(len(known)), known])
    outputs = np.column_stack([a, b])
    rest = outputs - inputs @ np.linalg.lstsq(inputs, outputs, rcond=None)[0]
    return np.corrcoef(rest.T)[0, 1] ** 2


def _least_r2_without_one(sweep):
    found = []
    for model in range(20):
        kept = [number for number, members in enumerate(sweep.member.values) if model not in members]
        assert len(kept) == 969  # triples of 19
        average, ensemble = sweep.average_accuracy.values[kept], sweep.ensemble_accuracy.values[kept]
        found.append(np.corrcoef(average, ensemble)[0, 1] ** 2)
    return min(found)


def test_every_frame_of_the_scatter_names_its_three_models(sweep):
    panel = panels.triples.all_triples(sweep)
    ranked = np.argsort(sweep.average_accuracy.values, kind="stable")
    assert panel.controls["triple"].values == list(range(1, 1141))
    for rank in (1, 400, 1140):
        panel.set(triple=rank)
        chosen = ranked[rank - 1]
        names = [str(sweep.name.values[i]) for i in sweep.member.values[chosen]]
        assert all(name in panel.alt and name in panel.frame.key[-1][1] for name in names)
        average, ensemble = sweep.average_accuracy.values[chosen], sweep.ensemble_accuracy.values[chosen]
        assert f"Averaged weights {average:.4f}, logits ensemble {ensemble:.4f}" in panel.alt
        values = panel.frame.values
        assert (values["averaged weights"][0][0], values["ensemble"][0][0]) == (average, ensemble)
        assert sorted(sweep.accuracy.values[sweep.member.values[chosen]]) == values["members"][0].tolist()
        middle = 100 * sweep.average_accuracy.values.mean(), 100 * sweep.ensemble_accuracy.values.mean()
        assert values["chosen"][:, 0] == pytest.approx((100 * average - middle[0], 100 * ensemble - middle[1]))


def test_the_dots_of_the_scatter_are_the_settings_of_its_slider(sweep):
    panel = panels.triples.all_triples(sweep)
    cloud, picks = panel.frame.values["triples"], {mark.name: mark for mark in panel.marks}["triples"].picks
    assert picks == ("triple",) and cloud.shape == (2, 1140)
    assert (np.diff(cloud[0]) >= 0).all() and np.allclose(panel.controls["triple"].at, cloud[0])
    assert np.allclose(panel.set(triple=42).frame.values["chosen"][:, 0], cloud[:, 41])


@pytest.mark.parametrize("r2, slope, title", [
    (0.96, 0.99, "The better the averaged weights of a triple, the better its ensemble, point for point"),
    (0.96, 0.80, "The better the averaged weights of a triple, the better its ensemble"),
    (0.70, 0.99, "The better the averaged weights of a triple, the better its ensemble, more or less"),
    (0.70, -0.5, "The better the averaged weights of a triple, the worse its ensemble"),
    (0.20, 0.99, "The averaged weights of a triple tell little about its ensemble")])
def test_the_title_of_the_scatter_follows_its_line(r2, slope, title):
    assert panels.triples.finding_of_triples({"r2": r2, "slope": slope}) == title


def test_the_question_about_a_slope_is_answered_by_the_scatter(sweep):
    guess = predict("by how many points?", low=-1.0, high=2.0)
    view = panels.triples.all_triples(sweep, guess)
    assert guess.truth == pytest.approx(experiment.claims(sweep)["CTL-7"]["slope"])
    x, y = view.frame.values["regression line"]
    assert np.diff(y) / np.diff(x) == pytest.approx(guess.truth)
    assert {mark.name for mark in view.marks} - {"mean", "guess"} == set(view.spec["hides"])


@pytest.mark.parametrize("models", [2, 9, 20])
def test_the_panels_against_k_say_the_sweeps_numbers(models, sweep):
    here = sweep.sel(models=models)
    alt = panels.features.of_the_average(sweep).set(models=models, layer="layer 2").alt
    assert all(f"{value:.4f}" in alt for value in (*here.gap_mean.values, *here.base_mean.values))
    assert all(f"coef {value:.3f}" in alt for value in here.coef_mean.values)
    panel = panels.mixes.deviation_against_models(sweep)
    alt = panel.set(models=models, layer="output", kind="random").alt
    part = here.sel(kind="random", layer="output")
    assert f"{part.deviation.item():.4f}" in alt
    assert f"{part.predicted.item():.4f}" in alt
    assert f"{part.agreement.item():.3f}" in alt
    assert f"output {(part.deviation / part.pair_deviation).item():.2f}; predicted" in alt


@pytest.mark.parametrize("measured, predicted, title", [
    ([1, 1.2, 1.3, 1.2], [1, 1.1, 1.2, 1.1], "The error does not add up from model to model, and pairs nearly"),
    ([1, 1.2, 1.3, 1.2], [1, 0.5, 0.6, 0.7], "The error does not add up from model to model, but pairs do not"),
    ([1, 1.5, 2.5, 5], [1, 1.5, 2.5, 5], "The error grows from model to model, nearly as pairs foretell"),
    ([1, 1.5, 2.5, 5], [1, 1.3, 1.6, 1.9], "The error grows from model to model, but pairs do not foretell it")])
def test_the_title_of_the_mixes_says_whether_errors_add_up_and_whether_pairs_tell(measured, predicted, title):
    bound = 2 * (1 - 1 / np.array([2, 3, 5, 20]))
    assert panels.mixes.finding_of_growth(*np.array([measured, predicted]), bound).startswith(title)


def test_the_question_about_twenty_models_is_answered_by_the_view(sweep):
    guess = predict("how many times as long?", high=5.0)
    view = panels.mixes.deviation_against_models(sweep, guess)
    asked = sweep.sel(kind="equal", models=20, layer="output")
    assert guess.truth == pytest.approx((asked.deviation / asked.pair_deviation).item())
    assert view.frame.values["measured"][-1] == pytest.approx(guess.truth)
    assert {mark.name for mark in view.marks} - {"two models", "guess", "models"} == set(view.spec["hides"])


GAP = np.array([[0.001, 0.001], [0.001, 0.002]])  # (models, layers)


@pytest.mark.parametrize("base, title", [
    (0.02, "Averaged weights have nearly the averaged features, in every layer"),
    (0.008, "Averaged weights have nearly the averaged features in layer 1, not in every layer"),
    (0.002, "Averaged weights do not have the averaged features, in any layer")])
def test_the_title_of_the_features_says_in_which_layers_the_gap_is_small(base, title):
    assert panels.features.finding_of_features(["layer 1", "output"], GAP, np.full((2, 2), base)) == title


def test_the_chart_of_the_features_has_the_sweeps_numbers(sweep):
    view = panels.features.of_the_average(sweep)
    everywhere = (sweep.gap_mean / sweep.base_mean).max().item() < panels.features.CLOSE
    assert view.title.endswith(", in every layer") == everywhere
    view.set(models=5, layer="layer 2")
    here = sweep.sel(models=5).gap_mean.values
    assert np.allclose(view.frame.values["average, to the mean"][0], here)
    assert np.allclose(view.frame.values["to the mean"], sweep.gap_mean.sel(layer="layer 2"))


def test_the_triangle_says_the_sweeps_numbers_at_its_corners_and_inside(sweep):
    panel = panels.triangle.mixes_of_three(sweep)
    for three, alpha, rest in itertools.product(sweep.three.values, (0.0, 0.25, 1.0), (0.0, 0.5)):
        panel.set(three=str(three), alpha=alpha, rest=rest)
        here = sweep.sel(three=three, first=alpha, second=rest)
        average, ensemble = here.triangle_average.item(), here.triangle_ensemble.item()
        assert f"averaged weights {average:.3f}, ensemble {ensemble:.3f}" in panel.alt
    corners = [sweep.sel(three=three, first=1.0).triangle_average.values for three in sweep.three.values]
    assert all(np.ptp(corner) == 0 for corner in corners), "the first model alone, whatever is left of nothing"
    assert experiment.triangle.mix_of(0.2, 0.25).tolist() == pytest.approx([0.2, 0.2, 0.6])


def test_the_triangle_lies_on_its_side_with_every_measured_mix_in_its_place(sweep):
    view = panels.triangle.mixes_of_three(sweep)
    grid = sweep.first.values
    steps = panels.triangle._STEPS
    for place, (alpha, rest) in enumerate(itertools.product(grid, grid)):
        x, y = view.frame.values["mixes"][:, place]
        assert (x, y) == pytest.approx((alpha, (1 - alpha) * (rest - 0.5)))
    here = sweep.sel(three=view.values["three"])
    lost = 100 * (here.triangle_ensemble - here.triangle_average).values
    cells = view.frame.values["points lost"]
    assert np.allclose(cells[:, 0][::steps], lost[0, ::-1], atol=0.01), "without the first, the second alone above"
    assert np.isfinite(cells[:, -1]).sum() == 1 and np.nanmax(cells) <= lost.max() + 0.01
    view.set(alpha=grid[2], rest=grid[3])
    assert view.frame.values["here"][:, 0] == pytest.approx(view.frame.values["mixes"][:, 2 * len(grid) + 3])


@pytest.mark.parametrize("middle, together, title", [
    (0.95, 0.95, "No mix of these weights is surely worse than the ensemble"),
    (0.80, 0.95, "Mixing these weights digs a hole, an ensemble of the same three has none"),
    (0.92, 0.95, "Mixing these weights is worse than an ensemble of the same three"),
    (0.80, 0.86, "Mixing these weights is worse than an ensemble of the same three")])
def test_the_title_of_the_triangle_says_whether_averaging_digs_a_hole(middle, together, title):
    average, ensemble = np.full((3, 3), 0.95), np.full((3, 3), 0.95)
    average[2] = ensemble[2] = 0.92
    average[1], ensemble[1] = middle, together
    assert panels.triangle.finding_of_mixes(average, ensemble, 2000) == title


def test_the_question_about_the_bold_one_is_answered_by_the_triangle(sweep):
    guess = predict("which share?")
    view = panels.triangle.mixes_of_three(sweep, guess)
    here = sweep.sel(three="the bold one and the two best", first=guess.at["alpha"], second=0.5)
    assert guess.truth == here.triangle_average.item() and guess.at["alpha"] == pytest.approx(1 / 3, abs=1e-4)
    assert view.frame.values["averaged weights"][4] == guess.truth


def test_the_soup_panel_says_the_sweeps_numbers(sweep):
    panel = panels.soups.of_the_best(sweep)
    for guest, size in itertools.product(experiment.soups.GUESTS, (1, 7, 20)):
        here = sweep.sel(guest=guest, size=size)
        panel.set(guest=guest, size=size)
        assert f"uniform {here.uniform.item():.4f}, greedy {here.greedy.item():.4f}" in panel.alt
        gains = [here[f"{soup}_gain"].item() for soup in ("uniform", "soup_ensemble", "greedy")]
        assert all(f"{gain:+.4f}" in panel.alt for gain in gains)
        drawn = panel.frame.values["uniform soup"][size - 1]
        assert np.isnan(drawn) or drawn == pytest.approx(100 * gains[0])


@pytest.mark.parametrize("uniform, greedy, error, title", [
    (-0.01, 0, 0.001, "The uniform soup falls behind the best single model, the greedy one keeps up"),
    (-0.01, 0.01, 0.001, "The uniform soup falls behind the best single model, the greedy one gets ahead"),
    (-0.01, -0.01, 0.001, "The uniform soup falls behind the best single model, and so does the greedy one"),
    (0.01, 0.01, 0.001, "The uniform soup gets ahead of the best single model, and so does the greedy one"),
    (0.01, -0.01, 0.01, "The uniform soup keeps up with the best single model, and so does the greedy one"),
    (0.0, 0.0, 0.0, "The uniform soup keeps up with the best single model, and so does the greedy one")])
def test_the_title_of_the_soups_says_by_two_errors_which_soup_pays(uniform, greedy, error, title, sweep):
    gains = {"uniform_gain": uniform, "greedy_gain": greedy, "uniform_gain_error": error, "greedy_gain_error": error}
    other = sweep.assign({name: xarray.full_like(sweep[name], value) for name, value in gains.items()})
    assert panels.soups.finding_of_soups(other.sel(guest="nobody")) == title
    assert panels.soups.finding_of_soups(other.sel(guest=BOLD)) == title.replace("The", "With the bold one, the", 1)


def test_a_soup_that_lies_below_the_axis_is_a_gap_and_is_named(sweep):
    low = sweep.assign(uniform_gain=sweep.uniform_gain.where(sweep["size"] != 3, -0.5))
    frame = panels.soups.of_the_best(low).frame
    assert np.isnan(frame.values["uniform soup"][2]) and ("", "below the axis: k = 3") in frame.key


def _left_over(sweep):
    return experiment.claims(sweep)["CTL-7"]["r2_beyond_members"]


def _pulled_back(sweep):
    return sweep.walk_gap.sel(walker=BOLD, length=4.0).item()


FIGURES = {panels.walks.nearer_and_farther: lambda sweep: f"pulled back to 4: {_pulled_back(sweep):.4f}",
           panels.triples.what_remains: lambda sweep: f"R² {_left_over(sweep):.3f}",
           panels.outliers.alone_and_in_triples: lambda sweep: f"{sweep.distance[:20].max().item():.1f} from the pre",
           panels.features.figure_17: lambda sweep: f"{sweep.gap_mean.sel(models=[5, 10]).max().item():.4f}"}


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_say_the_sweeps_numbers_and_name_the_stand_in(figure, sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    page = figure(sweep).data
    assert "Not MNIST!" in page
    alt = page.partition(' alt="')[2].partition('"')[0]
    assert FIGURES[figure](sweep) in alt


def test_readings_hold_the_sweeps_numbers(sweep):
    r2 = experiment.claims(sweep)["CTL-7"]["r2"]
    assert f"R² = {r2:.3f}" in panels.triples.reading_of_figure_4(sweep).text
    assert f"{sweep.gap_mean.max().item():.4f}" in panels.features.reading_of_figure_5(sweep).text
    beyond = panels.triples.reading_of_what_remains(sweep).text
    assert beyond.endswith(f"what remains is {_left_over(sweep):.2f}.")
    guests = panels.soups.reading_of_the_guests(sweep).text
    assert f"as low as {half_up(sweep.uniform.sel(guest=BOLD)[1:].min().item()):.3f}" in guests
    assert f"{sweep.attrs['soup_images']:,} test images" in panels.soups.measured_on(sweep).text
    soups = panels.soups.reading_of_the_soups(sweep)
    over = 100 * sweep.greedy_over_uniform.sel(guest="nobody", size=20).item()
    assert f"is more accurate than the uniform one by {over:.1f} ± " in soups.text
    assert soups._repr_html_().startswith("<p><b>Which soup?</b> The greedy soup of all twenty")
    above, behind = (sweep.above_best > 0).mean().item(), (sweep.above_best < -2 * sweep.above_best_error).mean().item()
    best = panels.triples.reading_of_the_best(sweep).text
    assert f"In {above:.0%} of the triples it was." in best and f"clearly behind in {behind:.0%}" in best
    explained = experiment.triples.explained(sweep)
    for page in (panels.triples.what_else(sweep), panels.triples.reading_of_what_else(sweep)):
        assert f"{explained['other images']:.2f}" in page.text
    near = sweep.walk_gap.sel(walker=BOLD, length=4.0).item()
    assert f"{near:.4f} for the bold one" in panels.walks.reading_of_the_walks(sweep).text
    speed = {"plain": 0.01, "shared": 0.001, "ratio": 10.0}
    assert "397,600 multiplications" in panels.speed.reading_of_the_speed(speed).text
    lost = 100 * (sweep.outlier_average.sel(outlier=STRANGER).mean() - sweep.average_accuracy.mean()).item()
    farther = (sweep.distance[20] / sweep.distance[:20].mean()).item()
    said = panels.outliers.reading_of_the_outliers(sweep).text
    assert f"({lost:+.1f})".replace("-", "−") in said and f"in units of the twenty’s mean {farther:.1f}" in said


def test_readings_say_whether_the_source_is_right(sweep):
    """The same sweep with ensembles that follow the averages or nothing, and with small gaps and large ones."""
    follows = 0.05 + 0.9 * sweep.average_accuracy
    nothing = sweep.ensemble_accuracy.copy(data=np.random.default_rng(0).random(1140))
    small = 0.1 * sweep.base_mean
    large = 0.2 * sweep.base_mean
    for agree, ensemble, gap in ((True, follows, small), (False, nothing, large)):
        other = sweep.assign(ensemble_accuracy=ensemble, gap_mean=gap)
        for reading in (panels.triples.reading_of_figure_4, panels.features.reading_of_figure_5):
            assert reading(other).text.startswith("Agrees: " if agree else "Does not agree here: ")


def titled(page):
    return page._repr_html_().partition("</b>")[0].removeprefix("<p><b>")


def test_the_two_ways_are_called_nearly_as_good_where_they_are(sweep):
    own = experiment.triples.members_mean(sweep)
    for ahead, behind, title in ((0.02, 0.002, "Averaged weights were nearly as good as the ensemble."),
                                 (0.02, 0.010, "The ensemble was ahead of averaged weights."),
                                 (0.001, 0.002, "What does combining give?")):
        average = sweep.average_accuracy.copy(data=own + ahead)
        other = sweep.assign(average_accuracy=average, ensemble_accuracy=average + behind + 0.001 * own)
        assert titled(panels.triples.reading_of_the_two_ways(other)) == title


def test_distance_and_direction_give_the_two_away_where_they_do():
    near, far = list(np.linspace(1, 5, 20)), [20.0, 19.0]
    for lost, title in (([0.5] * 20 + [9.0, 13.0], "The distance gives the two away."),
                        ([0.5] * 20 + [0.4, 13.0], "Does the distance give the two away?")):
        page = panels.outliers.reading_of_the_suspects(near + far, lost)
        assert titled(page) == title and "The twenty lie at most 5.0 away" in page.text
    for bold, title in ((0.3, "The two went elsewhere."), (0.7, "Where did they go?")):
        page = panels.outliers.reading_of_the_arrows([1.0, *np.linspace(0.6, 0.9, 19), bold, 0.0])
        assert titled(page) == title and "cosines of 0.60 to 0.90" in page.text
    drawn = panels.outliers.arrows(near + far, [1.0, *np.linspace(0.6, 0.9, 19), 0.3, 0.0])
    assert "20.0 long with 0.30" in drawn.data


def test_the_lessons_readings_have_the_sweeps_numbers(sweep):
    accuracies = np.array([half_up(accuracy) for accuracy in sweep.accuracy.values])
    within = (accuracies[20:] >= accuracies[:20].min()).all() and (accuracies[20:] <= accuracies[:20].max()).all()
    two = panels.models.reading_of_the_two(sweep)
    assert f"the stranger with {accuracies[21]:.1%}" in two.text or f"the stranger has {accuracies[21]:.1%}" in two.text
    assert titled(two).startswith("Their accuracies do not give") == within
    third = sweep.sel(three="the bold one and the two best", second=0.5).isel(first=len(sweep.first) // 3)
    mixes = panels.triangle.reading_of_the_mixes(sweep)
    assert f"averaged weights have {half_up(third.triangle_average.item()):.1%}" in mixes.text
    for gap in (0.1, 0.2):
        page = panels.features.reading_of_equation_1(sweep.assign(gap_mean=gap * sweep.base_mean))
        assert ("have nearly the averaged" in titled(page)) == (gap < panels.features.CLOSE)
        assert f"at most {gap:.0%} of the baseline" in page.text
    over = 100 * sweep.greedy_over_uniform.sel(guest="nobody", size=20).item()
    assert f"the greedy soup was {abs(over):.1f} points" in panels.soups.reading_of_the_greedy_one(sweep).text
    growth = (sweep.deviation.sel(kind="equal", models=20, layer="output") / sweep.pair_deviation.sel(layer="output"))
    assert f"is {growth.item():.2f} times as long" in panels.mixes.reading_of_the_growth(sweep).text
    assert f"deviates {growth.item():.2f} times as much" in panels.mixes.reading_of_the_prediction(sweep).text


@given(count=st.integers(2, 5), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_the_first_layer_of_an_average_is_the_relu_of_the_mean(count, seed):
    states, x, before = first_layers(count, seed)
    of_average = MLP.from_state(weights.average(states)).features(x)["layer 1"]
    assert torch.allclose(of_average, before.mean(0).relu(), atol=1e-12)
    assert torch.equal(algorithms.first_layer_of_average(before), before.mean(0).relu())


@given(count=st.integers(2, 5), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_the_mean_of_the_features_is_larger_only_where_units_are_on_in_some_networks(count, seed):
    states, x, before = first_layers(count, seed)
    of_average = MLP.from_state(weights.average(states)).features(x)["layer 1"]
    features = torch.stack([MLP.from_state(state).features(x)["layer 1"] for state in states])
    in_some = (features > 0).any(0) & (features <= 0).any(0)
    assert in_some.any() and not in_some.all()
    larger = features.mean(0) - of_average
    assert larger[~in_some].abs().max() < 1e-12 and larger[in_some].min() > 0


def first_layers(count, seed):
    """State dicts of random MLPs, images for them, and (models, samples, units), what the first layers compute before
    their ReLU."""
    states, x = small_models(count, seed=seed)
    states, x = [{key: one.double() for key, one in state.items()} for state in states], x.double()
    before = [torch.nn.functional.linear(x, state["layers.0.weight"], state["layers.0.bias"]) for state in states]
    return states, x, torch.stack(before)


def test_the_first_layer_is_known_and_its_mean_is_too_large():
    before = torch.tensor([[[2.0, -1.0], [1.0, 3.0]], [[-4.0, 1.0], [1.0, 1.0]]])
    real, mean = torch.relu(before.mean(0)), torch.relu(before).mean(0)
    page = panels.two_ways.reading_of_the_first_layer(real, mean)
    assert "too large at 50% of all pairs of unit and image, and nowhere too small" in page.text
    assert "too small at 50.0%" in panels.two_ways.reading_of_the_first_layer(mean, real).text
    assert "differ from the real ones by at most 0e+00" in panels.two_ways.first_layer(real, real, mean).data


def test_the_soups_picture_tells_what_was_taken():
    held_out = [0.9 - 0.01 * place for place in range(22)]
    page = panels.soups.cooking(held_out, [0, 3], lambda chosen: float(np.mean([held_out[i] for i in chosen])))
    assert page.data.count("left out") >= 20 and "0.900 taken, 0.895 left out" in page.data


def test_resnets_are_for_full_alone():
    with archive.anew():  # whatever the repository keeps of them
        assert resnets.run("quick") is None
    assert "full" in panels.resnets.ten_triples(None).text
    assert panels.resnets.reading_of_the_gap(None, None).text == ""
    assert panels.resnets.reading_of_the_level(None).text == ""


def test_resnet_triples_on_a_tiny_setting():
    tiny = Architecture.of("ResNet18", width=2, num_classes=100)
    options = {"splits": (1,), "size": 60}
    parent = Recipe.on("split_cifar100", tiny, options=options, lr=0.05, epochs=1, batch_size=30)
    recipes = [parent.finetune(seed=seed) for seed in (1, 2, 3)]
    measured = resnets.of_recipes(recipes, statistics_images=50)
    assert dict(measured.sizes) | {"triple": 1, "model": 3, "layer": 9} == dict(measured.sizes)
    for name in ("average_accuracy", "ensemble_accuracy", "inherited_accuracy"):
        assert 0 <= measured[name].item() <= 1
    assert zoo.path_of(recipes[0]).exists()
    assert (measured.gap_mean <= measured.base_mean).all()
    about = {"source": "a stand-in", "source_kind": "stand-in", "dataset": "CIFAR-100", "network": "ResNet-18",
             "profile": "full", "seed": 0}
    mlps = xarray.concat([measured.mean("triple").assign_coords(models=3)], "models")
    told = panels.resnets.reading_of_the_gap(measured, mlps)
    assert f"to {measured.gap_mean.max().item():.4f} over the blocks" in told.text and "Which gap" in str(told.page)
    level = panels.resnets.reading_of_the_level(measured)
    assert titled(level) == "How good are the triples?"  # one triple alone, of networks that learned nothing
    assert f"The five alone have {measured.accuracy.mean().item():.1%} on average" in level.text
    page = panels.resnets.ten_triples(measured.assign_attrs(about)).data
    assert "Not CIFAR-100!" in page
    assert f"{measured.gap_mean.max().item():.3f} over the layers" in page
