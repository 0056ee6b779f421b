"""Chapter 7: the toy, the search, the plane, adaptation and choices, on small networks and the stand-in."""
import re

import numpy as np
import pytest
import torch
import xarray

from lessons import suites
from lessons.interference import experiment, panels
from lessons.interference.experiment import adaptation, choices, comparison, plane, results, searches, toy, unraced
from lessons.interference.experiment.searches import Settings
from lessons.interference.panels import leads, library, tasks, ties
from lessons.interference.panels.methods import title_of
from lessons.kit import archive, claims
from lessons.kit import experiment as kit_experiment
from lessons.kit.chapters import ROOT
from lessons.kit.predict import predict
from lessons.kit.profiles import Profiles
from lessons.merging import adaptive, merge, methods
from lessons.merging.search import Line
from lessons.merging.weighted import fisher_information, input_products
from toy_models import zoo

SMALL = Settings(held_out=30, test=40, scales=(0.1, 0.2, 0.3, 1.0, 1.4), places=(1, 2, 3))
SMALL_GRID = plane.Settings((0.1, 0.5), (0.0, 0.5, 1.0, 2.0), (0.0, 1.0, 2.0), held_out=30, test=40)
ONE_IMAGE = 0.026  # of 40 may lie on the border
FEW_STEPS = adaptation.Settings(steps=4, lr=0.05, batch_size=8, batches=2, every=2, test=40, starts=(0.3, 1.0),
                                rank_ratio=0.1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(tmp_path_factory.mktemp("interference")))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        yield


@pytest.fixture(scope="module")
def suite(folder):
    return suites.permuted(3, size=640, width=20)


@pytest.fixture(scope="module")
def sweep(suite):
    return comparison.of_suite(suite, Profiles(quick=SMALL)).run("quick")


@pytest.fixture(scope="module")
def plane_sweep(suite):
    return plane.of_suite(suite, Profiles(quick=SMALL_GRID)).run("quick")


@pytest.fixture(scope="module")
def adapted(suite):
    def measure(settings, seed, device):
        return adaptation.measure(suite, settings, device)

    return comparison.on_suite(suite, "small", measure, Profiles(quick=FEW_STEPS)).run("quick")


@pytest.fixture(scope="module")
def loaded(suite):
    return suite.load(images=40)


# -- the toy ---------------------------------------------------------------------------------------

def as_state(tensor):
    return {"weight": tensor.clone()}


@pytest.mark.parametrize("shared", toy.SEEN)
@pytest.mark.parametrize("density", [0.0, 0.3, 0.7, 1.0])
def test_the_toys_three_steps_are_the_librarys_ties(shared, density):
    made = toy.toy(shared)
    base = torch.zeros(toy.OUTPUTS, toy.INPUTS)
    library = merge("ties", as_state(base), [as_state(vector) for vector in made.vectors], scale=1.0, density=density)
    assert torch.allclose(toy.merged(made, density, "ties")[1], library["weight"], atol=1e-6)


def test_a_density_keeps_so_many_entries_of_largest_magnitude():
    vector = torch.tensor([[3.0, -5.0, 0.5], [1.0, -2.0, 4.0]])
    assert torch.equal(toy.trimmed(vector, 0.5), torch.tensor([[3.0, -5.0, 0], [0, 0, 4.0]]))
    assert torch.equal(toy.trimmed(vector, 0.0), torch.zeros(2, 3)) and torch.equal(toy.trimmed(vector, 1.0), vector)


def test_the_toys_error_is_that_of_the_layer_on_inputs_that_the_task_sees():
    made = toy.toy("one of five")
    generator = torch.Generator().manual_seed(0)
    base = torch.randn(toy.OUTPUTS, toy.INPUTS, generator=generator)
    merged = toy.merged(made, 0.5, "sum")[1]
    for task in range(2):
        x = torch.randn(100_000, toy.INPUTS, generator=generator) * made.seen[task]
        right = x @ (base + made.vectors[task]).T
        loss = (x @ (base + merged).T - right).square().sum(1).mean()
        before = (x @ base.T - right).square().sum(1).mean()
        assert (loss / before).item() == pytest.approx(made.errors(merged)[task].item(), rel=0.03)


def test_the_toy_shows_what_the_chapter_says():
    def error(shared, density, how):
        made = toy.toy(shared)
        return made.errors(toy.merged(made, density, how)[1]).mean().item()

    ties = {shared: min(error(shared, density, "ties") for density in toy.DENSITIES) for shared in toy.SEEN}
    average = {shared: error(shared, 1.0, "mean") for shared in toy.SEEN}
    assert ties["one of five"] < 0.7 * average["one of five"] and ties["none"] < 0.7 * average["none"]
    assert ties["all five"] > average["all five"]
    full = toy.merged(toy.toy(), 1.0, "ties")[0]
    assert toy.conflicts(full).sum() > toy.conflicts(toy.merged(toy.toy(), 0.5, "ties")[0]).sum()


def test_centred_models_sum_to_zero_and_carry_their_counters():
    states = [{"w": torch.randn(3, 2), "norm.num_batches_tracked": torch.tensor(i)} for i in range(4)]
    centred = toy.centred(states)
    assert sum(state["w"] for state in centred).abs().max() < 1e-6
    assert [state["norm.num_batches_tracked"].item() for state in centred] == [0, 1, 2, 3]


def test_the_best_scale_is_the_bottom_of_the_parabola():
    made = toy.toy("one of five")
    total = made.vectors.sum(0)
    best = toy.best_scale(made, total)
    cost = {scale: made.errors(scale * total).mean().item() for scale in (best - 0.01, best, best + 0.01)}
    assert min(cost, key=cost.get) == best
    assert toy.best_scale(made, torch.zeros_like(total)) == 0
    assert torch.allclose(toy.merged(made, 1.0, "tuned sum")[1], best * total)


@pytest.mark.parametrize("shared", toy.SEEN)
def test_over_many_toys_a_tuned_way_never_costs_more(shared):
    average, tuned_sum, ties, tuned_ties = toy.draws(shared, 5).T
    assert (tuned_sum <= average + 1e-6).all() and (tuned_ties <= ties + 1e-6).all()
    first = toy.toy(shared, 0)
    assert average[0] == pytest.approx(first.errors(first.vectors.mean(0)).mean().item())
    row = panels.toy.reading_of_the_draws(5).text
    assert row.count("of the toys, ") == 3 and "1 is the pretrained layer" in row


@pytest.mark.parametrize("wins, says", [
    ((0.66, 1.0, 0.0),
     "So the draw decides in part: with its density tuned, TIES beats the average in 66% of the toys whose tasks share "
     "one of five inputs, in every toy whose tasks share none of the inputs and in no toy whose tasks share all five "
     "inputs."),
    ((1.0, 1.0, 0.0), "So it was not the draw: "), ((0.5, 0.5, 0.5), "So the draw decides: ")])
def test_the_reading_of_the_draws_answers_its_question(wins, says):
    assert panels.toy.answer_of_draws(dict(zip(toy.SEEN, wins))).startswith(says)


# -- the comparison --------------------------------------------------------------------------------

def test_the_caption_has_the_error_of_one_task_on_its_own_images(sweep):
    """On n held-out images of a task the standard error of its accuracy is at most √(0.25/n)."""
    each = int(sweep.attrs["held_out"]) // sweep.sizes["task"]
    assert f"{each:,} held-out images a task" in sweep.attrs["images"]
    assert f"at most {100 * (0.25 / each) ** 0.5:.1f} points" in panels.captioned(sweep, held_out=True)


def test_a_task_that_nobody_learned_gives_numbers_and_a_sentence(sweep):
    assert results.share_of(np.array([0.9, 0.05]), np.array([0.9, 0.0])) == pytest.approx([1, 0.25])
    dead = sweep.copy(deep=True)
    dead.own[0] = 0.0
    dead.own_tried[0] = 0.0
    assert np.isfinite(results.shares(dead)).all()
    assert "of 3 tasks" in panels.captioned(dead) and "has not learned" in panels.captioned(dead)
    assert panels.comparison.not_learned(dead.assign(own=dead.own * 0 + 0.9)) == ""
    for table in (panels.comparison.order({"a": dead}), panels.comparison.chosen({"a": dead})):
        assert "nan" not in table.text and "inf " not in table.text


def test_who_leads_is_told_by_intervals():
    spread = np.array([0.0, 0.1, -0.1, 0.05])
    rows = {method: 0.5 + (0.02 + spread / 10) * row for row, method in enumerate(searches.SEARCHED)}
    rows["cart"] = 0.9 + spread
    accuracy = [[rows.get(method, 0 * spread) for method in searches.REPORTED]]
    made = xarray.Dataset({"accuracy": (("grid", "reported", "task"), accuracy), "own": ("task", np.ones(4))},
                          coords={"grid": ["wide"], "reported": list(searches.REPORTED)})
    assert results.leaders(made) == ["cart"]
    made.accuracy.loc[{"reported": "ties"}] = 0.895 + 2 * spread
    assert set(results.leaders(made)) == {"cart", "ties"}


def test_table_1_has_cart_first_and_the_others_in_no_order():
    ahead = {pair: results.columns_ahead(*pair) for pair in experiment.NEIGHBOURS}
    assert ahead == {("cart", "consensus"): 6, ("consensus", "ties"): 6, ("ties", "task_arithmetic"): 4,
                     ("task_arithmetic", "average"): 5}


@pytest.mark.parametrize("method", searches.SEARCHED)
def test_a_method_moves_along_a_straight_line_as_its_scale_grows(method, loaded):
    given = searches.SEARCHES[method].at(1)
    line = Line.of(method, loaded.base, loaded.finetuned, **given)
    for scale in (0.3, 2.0):
        straight = line.at(scale)
        merged = merge(method, loaded.base, loaded.finetuned, scale=scale, **given)
        assert all(torch.allclose(straight[key], merged[key], atol=1e-5) for key in merged)


@pytest.mark.parametrize("name", searches.SEARCHES)
def test_searches_name_parameters_that_their_methods_have_and_hold_the_sources_values(name):
    search = searches.SEARCHES[name]
    known = {parameter.name: parameter for parameter in methods()[name].parameters}
    assert "scale" in known and (not search.other or search.other in known)
    assert all(known[search.other].check(value) == value for value in search.values)
    for settings in (settings for kind in comparison.PROFILES.values() for settings in kind.values()):
        grid = settings.grid_of(search)
        scales, tried = set(grid.scales), {grid.values[place] for place in grid.tried if grid.other}
        assert scales <= set(searches.SCALES) and scales & set(search.source_scales), settings
        assert not search.other or tried & set(search.source_values), settings


def test_the_chosen_values_are_the_best_on_held_out_images_and_reported_on_test_images(sweep, suite):
    few = suite.load(images=SMALL.held_out)
    many = suite.load(images=SMALL.test)
    for method in ("ties", "task_arithmetic", "cart"):
        found = results.chosen(sweep, method)
        shares = {}
        for given in _all_tried(method):
            merged = merge(method, few.base, few.finetuned, **dict(given))
            shares[given] = few.normalised(merged, "held-out").mean()
        assert shares[tuple(found.items())] == pytest.approx(max(shares.values()), abs=0.02)
        report = many.accuracy(merge(method, many.base, many.finetuned, **found))
        assert list(sweep.accuracy.sel(grid="wide", reported=method).values) == pytest.approx(list(report))


def _all_tried(method):
    search = searches.SEARCHES[method]
    others = [((search.other, search.values[place]),) for place in SMALL.places] if search.other else [()]
    return [(("scale", scale), *other) for scale in SMALL.scales for other in others]


def test_the_sources_grid_is_a_part_of_what_was_tried(sweep):
    for method, search in searches.SEARCHES.items():
        found = results.chosen(sweep, method, "source")
        assert found["scale"] in search.source_scales
        assert not search.other or found[search.other] in search.source_values


def test_a_best_value_at_the_edge_is_said_unless_the_method_becomes_another_there():
    values = [list(searches.SEARCHES["consensus"].values)]
    made = xarray.Dataset(
        {"tried": (("searched", "place", "scale", "task"), np.ones((1, 5, 3, 1))),
         "value": (("searched", "place"), values),
         "place_chosen": (("grid", "searched"), [[0]]),
         "scale_chosen": (("grid", "searched"), [[0.2]])},
        coords={"searched": ["consensus"], "scale": [0.1, 0.2, 0.3], "grid": ["wide"]})
    assert results.at_edge(made, "consensus") == []  # mask strength 0.1 is nearly task arithmetic
    made.place_chosen[0, 0] = 4
    made.scale_chosen[0, 0] = 0.3
    assert results.at_edge(made, "consensus") == ["scale", "mask_strength"]


def test_the_lead_and_its_interval_are_those_of_paired_differences(sweep):
    accuracy = sweep.accuracy.sel(grid="wide")
    one, other = (results.share_of(accuracy.sel(reported=method), sweep.own) for method in ("ties", "average"))
    differences = (one - other).values
    mean, half = results.difference(sweep, "ties", "average")
    student = 4.3027  # 2 degrees of freedom
    assert mean == pytest.approx(differences.mean())
    assert half == pytest.approx(student * differences.std(ddof=1) / 3 ** 0.5, rel=1e-3)


def test_suites_together_carry_one_caption_and_name_a_stand_in(sweep):
    other = sweep.assign_attrs(source="CIFAR-100", source_kind="official", dataset="CIFAR-100", network="ResNet-18")
    said = panels.caption({"a": other, "b": sweep})
    assert said.startswith("Not MNIST! Measured on CIFAR-100; stand-in for MNIST")
    assert "; ResNet-18; MLP 784–20–10, profile quick, seed 0, " in said
    assert said.count("40 test and 30 held-out images a task") == 1
    assert not panels.caption({"a": other}).startswith("Not")


def test_a_suites_sweep_says_on_which_tasks_and_network_it_was_measured(sweep, suite):
    about = {"suite": "Permuted MNIST, 100% of the pixels", "network": "MLP 784–20–10", "dataset": "MNIST",
             "source_kind": "stand-in", "profile": "quick", "seed": 0}
    assert {name: sweep.attrs[name] for name in about} == about
    several = comparison.of_suite(suites.several())
    assert several.source().text.count("stand-in for") == 2 and " and " in several.source().text


@pytest.fixture(scope="module")
def unraced_sweep(suite):
    return unraced.of_suite(suite, Profiles(quick=SMALL)).run("quick")


def test_methods_outside_the_race_are_merged_where_held_out_images_like_them_best(suite, unraced_sweep):
    few, many = suite.load(images=SMALL.held_out), suite.load(images=SMALL.test)
    networks = list(zip(few.networks, (x for x, _ in few.held_out)))
    given = {"fisher": {"information": [fisher_information(network, x) for network, x in networks]},
             "regmean": {"products": [input_products(network, x) for network, x in networks]}}
    for method, grid in unraced.GRIDS.items():
        tried = {}
        for place in SMALL.places if grid.other else (0,):
            for scale in SMALL.scales if len(grid.scales) > 1 else ({},):
                scaled = {"scale": scale} if len(grid.scales) > 1 else {}
                merged = merge(method, few.base, few.finetuned, **given.get(method, {}), **grid.at(place), **scaled)
                share = results.share_of(few.accuracy(merged, "held-out"), few.own("held-out")).mean()
                tried.setdefault(round(share, 6), []).append(many.accuracy(merged))
        best = unraced_sweep.accuracy.sel(reported=method).values
        near = [accuracy for share in tried if share > max(tried) - 0.02 for accuracy in tried[share]]
        assert any(np.allclose(best, accuracy, atol=ONE_IMAGE) for accuracy in near), method


def test_all_methods_for_more_than_two_networks_stand_in_one_dataset(sweep, unraced_sweep):
    everything = unraced.together(sweep, unraced_sweep)
    assert set(everything.reported.values) == {name for name in methods() if "adamerging" not in name} - {"slerp"}
    assert not everything.accuracy.isnull().any()
    of_cart = [one.accuracy.sel(reported="cart", grid="wide").values for one in (everything, sweep)]
    assert (of_cart[0] == of_cart[1]).all()
    average = sweep.accuracy.sel(reported="average", grid="wide").values
    assert unraced_sweep.average.values == pytest.approx(average, abs=ONE_IMAGE)
    over = unraced.numbers({"a suite": unraced_sweep})["CART-8"]["a suite: regmean over average"]
    both = results.shares(everything).sel(reported=["regmean", "average"]).mean("task").values
    assert over == pytest.approx(both[0] - both[1], abs=2 * ONE_IMAGE)


@pytest.mark.parametrize("change, says", [
    (lambda sweep: sweep.assign_attrs(suite="another suite"),
     "the suite of the first is Permuted MNIST, 100% of the pixels, and that of the second is another suite"),
    (lambda sweep: sweep.assign_attrs(profile="full"), "the profile of the first is quick, .* second is full"),
    (lambda sweep: sweep.assign_attrs(seed=1), "the seed of the first is 0, and that of the second is 1"),
    (lambda sweep: sweep.isel(task=[0, 1]), "the same tasks, .* second has permutation 1, permutation 2$")])
def test_sweeps_that_do_not_fit_are_not_put_together(sweep, unraced_sweep, change, says):
    with pytest.raises(ValueError, match=says):
        unraced.together(sweep, change(unraced_sweep))


def test_an_unknown_profile_is_named():
    with pytest.raises(ValueError, match="unknown profile 'huge': choose one of quick, full"):
        comparison.suites_of("huge")


def test_the_networks_of_a_suite_share_their_start_and_their_outputs():
    several = comparison.suites_of("quick")["several"]
    assert {recipe.parent for recipe in several.recipes.values()} == {several.base}
    assert {recipe.architecture for recipe in several.all_recipes} == {several.base.architecture} and not several.splits


def missing_of(suites):
    return {recipe for suite in suites for recipe in suite.all_recipes if not zoo.path_of(recipe).exists()}


def test_every_suite_that_is_not_measured_is_estimated_and_its_data_named(folder, capsys):
    experiment.announce("full", seed=1)
    sources, estimate = capsys.readouterr().out.splitlines()
    missing = missing_of(comparison.suites_of("full", seed=1).values())
    assert f"{len(missing)} networks have to be trained; with the measurements" in estimate and "CIFAR-100" in sources
    experiment.announce("quick")
    assert capsys.readouterr().out.splitlines()[0].count("stand-in for MNIST") == 1


def test_every_sweep_of_the_chapter_in_the_repository_is_found_without_the_real_data(folder):
    found = set()
    for name, suite in comparison.suites_of("full").items():
        assert suite.joint_source.is_stand_in
        of_suite = [comparison.of_suite(suite), choices.of_suite(suite)]
        if suite.kind == "MLP":
            of_suite += [plane.of_suite(suite), unraced.of_suite(suite)]
        if name in adaptation.SUITES["full"]:
            of_suite.append(adaptation.of_suite(suite, of_suite[0].archived()))
        found |= {one.archived_at("full", 0) for one in of_suite if one.archived() is not None}
    assert found == set(archive.FOLDER.glob("interference*.nc"))


def test_where_the_repository_has_all_sweeps_only_the_networks_that_cells_merge_are_announced(
        folder, capsys, monkeypatch):
    missing = missing_of([comparison.suites_of("full")["several"]])
    experiment.announce("full")
    assert f"{len(missing)} networks have to be trained: about " in capsys.readouterr().out.splitlines()[1]
    monkeypatch.setattr(zoo, "has", lambda recipe: True)
    experiment.announce("full")
    assert capsys.readouterr().out.splitlines()[1] == kit_experiment.ALL_THERE


# -- plane, adaptation, choices --------------------------------------------------------------------

ON_THE_LINES = (  # a, λ, and which merge that is
    (2.0, 0.0, "task_arithmetic", {"scale": 2 / 3}),
    (1.0, 1.5, "cart", {"scale": 1.5, "rank_ratio": 0.5}),
    (1.0, 0.0, "average", {}),
    (0.0, 0.0, "task_arithmetic", {"scale": 0.0}),
)


@pytest.mark.parametrize("common, scale, method, given", ON_THE_LINES)
def test_the_planes_lines_are_task_arithmetic_and_cart(common, scale, method, given, loaded):
    base, finetuned = loaded.base, loaded.finetuned
    own = Line.of("cart", base, finetuned, rank_ratio=0.5).direction
    point = plane.point(base, merge("average", base, finetuned), own, common, scale)
    merged = merge(method, base, finetuned, **given)
    assert all(torch.allclose(point[key], merged[key], atol=1e-5) for key in merged)


def test_the_planes_best_lie_on_their_lines_and_without_an_own_part_the_rank_does_not_matter(plane_sweep):
    without = plane_sweep.share.sel(own=0.0)
    assert (without.isel(rank_ratio=0) == without.isel(rank_ratio=1)).all()
    best = plane_sweep.best
    assert best.sel(line=plane.LINES[1], coordinate="common") == 1
    assert best.sel(line=plane.LINES[2], coordinate="own") == 0


@pytest.mark.parametrize("method", adaptation.ADAPTED)
def test_watching_an_adaptation_changes_nothing(method, loaded, adapted):
    """The final λ and accuracy are those of the library's method, run without a trace."""
    given = {"forward": loaded.forward, "batches": loaded.unlabelled(8, 2), "steps": 4, "lr": 0.05}
    if method == "adamerging":
        merged = merge(method, loaded.base, loaded.finetuned, start=0.3, **given)
        origin, vectors = adaptive.plain(loaded.base, loaded.finetuned)
    else:
        merged = merge(method, loaded.base, loaded.finetuned, start=1.0, rank_ratio=0.1, **given)
        origin, vectors = adaptive.centred(loaded.base, loaded.finetuned, 0.1)
    lams = adapted.lam.sel(adapted=method)
    ours = adaptive.combined(origin, vectors, {key: torch.tensor(lams.sel(layer=key).values) for key in vectors})
    assert all(torch.allclose(ours[key], merged[key], atol=1e-5) for key in merged)
    last = list(adapted.accuracy.sel(adapted=method).values[-1])
    assert last == pytest.approx(list(results.share_of(loaded.accuracy(merged), loaded.own())), abs=0.051)
    assert adapted.step.values.tolist() == [0, 2, 4] and (adapted.collapse >= 0.1).all()


def test_how_far_an_adaptation_went(adapted):
    assert adaptation.within_reach(adapted) == 4
    assert adaptation.within_reach(adapted.assign(lr=0.2)) == 2
    assert 0 <= adaptation.at_the_border(adapted) <= 1
    said = panels.adaptation.reading({"small": adapted}).text
    assert "(step 4)" in said and "95 % interval over tasks" in said and "small, AdaMerging + CART: " not in said


def test_the_planes_lead_is_over_the_better_line(plane_sweep):
    apart, half, line = plane.lead(plane_sweep)
    means = plane_sweep.test.mean("task")
    assert apart == pytest.approx(float(means[0] - means.sel(line=line))) and means.sel(line=line) == means[1:].max()
    said = panels.plane.reading({"small": plane_sweep}).text
    assert f"{100 * abs(apart):.1f} points" in said and f"(± {100 * half:.1f})" in said
    common = float(plane_sweep.best.sel(line="anywhere", coordinate="common"))
    edge = "*" if common == plane_sweep.common.max() else ""  # the largest that was tried
    assert f"the plane: a {common:g}{edge}, " in said


def test_an_adaptation_starts_from_what_held_out_images_chose(suite, sweep):
    settings = adaptation.of_suite(suite, sweep).profiles["quick"]
    chosen = {method: results.chosen(sweep, method) for method in ("task_arithmetic", "cart")}
    assert settings.starts == (chosen["task_arithmetic"]["scale"], chosen["cart"]["scale"])
    assert settings.rank_ratio == chosen["cart"]["rank_ratio"]


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_what_a_profile_adapts_is_among_its_suites_and_has_enough_unlabelled_images(profile):
    suites = comparison.suites_of(profile)
    for name in adaptation.SUITES[profile]:
        settings = adaptation.PROFILES[suites[name].kind][profile]
        assert settings.batch_size * settings.batches <= settings.test and settings.steps % settings.every == 0


def test_each_choice_is_one_that_the_method_has_and_makes_two_merges(loaded, suite):
    for choice in choices.CHOICES:
        for parameters in choice.both:
            methods()[choice.method].check(parameters)
    measured = choices.of_suite(suite, Profiles(quick=SMALL)).run("quick")
    assert measured.sizes["choice"] == len(choices.CHOICES) and measured.notnull().all().to_array().all()
    last = measured.isel(choice=-1)
    of_average = loaded.accuracy(merge("average", loaded.base, loaded.finetuned))
    average = results.share_of(of_average, loaded.own()).mean()
    assert last.other.mean() == pytest.approx(average) and last.entries > 0.9
    lines = panels.choices.table(measured).text.splitlines()
    assert len(lines) == len(choices.CHOICES) and f"{average:.3f}" in lines[-1]
    some = panels.choices.some(measured)
    assert some.text.splitlines()[-2].startswith("CART: choice which matrices are truncated")
    by_task = (measured.other - measured.one).transpose("choice", "task").values
    level = sum(abs(row.mean()) <= results.interval(row) for row in by_task)
    assert f"for {level} of {len(choices.CHOICES)} choices" in some.text


@pytest.mark.parametrize("level, title", [(11, "All differences"), (9, "Most differences"), (4, "Many differences")])
def test_the_table_of_choices_first_says_how_many_are_within_the_noise(level, title):
    page = panels.choices.finding(level, 11, 8)
    assert f"<b>{title} in accuracy are " in page.page and f"these 8 tasks for {level} of 11 choices" in page.text


# -- panels, tables --------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def made(sweep, plane_sweep, adapted, unraced_sweep):
    both = {"several": sweep, "rotated": sweep.assign_attrs(suite="another suite")}
    everything = unraced.together(sweep, unraced_sweep)
    return {"toy": panels.toy.interference(),
            "search": panels.comparison.search(sweep),
            "bars": panels.comparison.bars_and_worst(both),
            "all methods": panels.all_methods.at_best({"several": everything, "rotated": 0.9 * everything.assign_attrs(
                suite="another suite")}),
            "plane": panels.plane.common_and_own(plane_sweep),
            "adaptation": panels.adaptation.adapting(adapted)}


@pytest.mark.parametrize("name", ["toy", "search", "bars", "all methods", "plane", "adaptation"])
def test_every_control_moves_the_picture_and_the_words(name, made):
    view = made[name]
    assert len([control for control in view.controls.values() if control.kind == "chips" and not control.more]) == 1
    for control in view.controls:
        seen = set()
        for value in view.controls[control].values:
            frame = view.draw(**view.values | {control: value})
            assert frame.title and not re.search(r"[0-9]", frame.title) and "nan" not in frame.alt
            seen.add(str(view.packed([tuple(one.values.index(value if which == control else one.value)
                                            for which, one in view.controls.items())])))
        assert len(seen) == len(view.controls[control].values) > 1, (name, control)


SUM = "a plain sum with the best λ"


def test_the_toy_opens_where_most_conflicts_are_trimmed_and_counts_them(made):
    view = made["toy"]
    assert view.title == f"Trimming helps TIES, which beats even {SUM}"
    assert "TIES: mean of the elected: 1 sign conflicts among 20" in view.alt
    assert np.isfinite(view.frame.values["conflicts"]).sum() == 1
    all_kept = view.draw(**view.values | {"density": 1.0})
    assert np.isfinite(all_kept.values["conflicts"]).sum() == 7 and np.isnan(all_kept.values["trimmed of A"]).all()
    assert np.nanmin(abs(view.frame.values["A"])) > np.nanmax(abs(view.frame.values["trimmed of A"]))


@pytest.mark.parametrize("how, mean, tuned, title", [
    ("ties", (1, 0.1, 0.3), 0.2, f"Trimming helps TIES, which beats even {SUM}"),
    ("ties", (1, 0.1, 0.3), 0.1, f"Trimming helps TIES, but {SUM} is as good"),
    ("ties", (1, 0.4, 0.4), 0.2, f"Trimming does not help TIES, and {SUM} is better"),
    ("mean", (1, 0.4, 0.4), 0.4, f"Trimming does not help the average, and {SUM} is as good"),
    ("tuned sum", (1, 0.4, 0.4), 0.4, "Trimming does not help the plain sum at its best λ")])
def test_the_toys_title_says_whether_trimming_helps(how, mean, tuned, title):
    assert panels.toy.finding_of_trimming(how, np.array(mean), tuned) == title


def test_the_search_shows_a_method_at_its_best_value_beside_the_others(made, sweep):
    view = made["search"]
    shares = results.share_of(sweep.tried, sweep.own_tried).mean("task", skipna=False)
    for method in searches.SEARCHED:
        frame = view.draw(method=method, scale=1.0, grey=panels.comparison.OTHERS)
        best = shares.sel(searched=method).max().item()
        assert np.nanmax(frame.values["this method"]) == pytest.approx(best)
        assert f"Its best is {best:.3f}, " in frame.alt
        named = [name for name in searches.SEARCHED if np.isfinite(frame.values[title_of(name)]).any()]
        assert len(named) == 1 and named != [method] and f"best for {title_of(named[0])}" in frame.alt


@pytest.mark.parametrize("there, title", [
    (0.5, "With the λ that suits task arithmetic, TIES is clearly worse"),
    (0.57, "With the λ that suits task arithmetic, TIES is a little worse"),
    (0.59, "TIES loses nothing beyond the noise with any other method’s λ")])
def test_the_title_of_the_search_says_what_anothers_scale_costs(there, title):
    assert panels.comparison.finding_of_scales("ties", "task_arithmetic", 0.6, there, 0.01) == title


def of_race(leads):
    """A sweep in which methods are ahead of the average by these leads, all others by none, within some noise."""
    noise = np.array([0.01, -0.01, 0.02, -0.02])
    rows = [0.5 + leads.get(method, 0) + (noise if method != "average" else 0) for method in searches.REPORTED]
    accuracy = [[np.broadcast_to(row, 4) for row in rows]]
    return xarray.Dataset({"accuracy": (("grid", "reported", "task"), accuracy), "own": ("task", np.ones(4))},
                          coords={"grid": ["wide"], "reported": list(searches.REPORTED)})


@pytest.mark.parametrize("leads, title", [
    ({}, "All methods are within the noise of the plain average"),
    ({"ties": -0.3}, "No method beats the plain average"),
    ({"ties": 0.3}, "Only one method beats the plain average by more than the noise"),
    ({"ties": 0.3, "cart": 0.2}, "Some methods beat the plain average, and TIES is the best of them"),
    ({"ties": 0.3, "cart": 0.3}, "Some methods beat the plain average, but which one is first is within the noise"),
    (dict.fromkeys(searches.SEARCHED, 0.3),
     "All methods beat the plain average, but which one is first is within the noise")])
def test_the_title_of_the_race_goes_by_intervals_over_tasks(leads, title):
    assert panels.comparison.finding_of_race(of_race(leads), "wide") == title


def test_the_race_marks_what_cannot_be_told_from_the_chosen_method(made, sweep):
    view = made["bars"]
    frame = view.draw(method="ties", suite="several", grid="wide")
    means, _ = frame.values["within the noise"]
    for method, mean in zip(view.controls["method"].values, means):
        lead, half = results.difference(sweep, "ties", method)
        assert np.isfinite(mean) == (abs(lead) <= half)
    of_average = results.shares(sweep).sel(reported="average")
    assert f"Average {of_average.mean():.3f} ({of_average.min():.3f})" in frame.alt


def test_the_panel_of_all_methods_draws_the_interval_of_the_difference_from_the_chosen_one(made, sweep, unraced_sweep):
    everything = unraced.together(sweep, unraced_sweep)
    frame = made["all methods"].draw(method="cart", suite="several")
    for method in map(str, everything.reported.values):
        lead, half = results.difference(everything, method, "cart")
        low, high = frame.values[f"interval of {method}"][0]
        mean = results.shares(everything).sel(reported=method).mean().item()
        assert (low, high) == pytest.approx((mean - half, mean + half))
        assert f"{title_of(method)} {mean:.3f} ± {half:.3f}" in frame.alt
        within = frame.alt.split("Within the noise of CART: ")[1]
        assert (title_of(method) in re.split(", |\\.$", within)) == (abs(lead) <= half and method != "cart")


def test_the_panel_of_all_methods_needs_two_tasks(sweep, unraced_sweep):
    everything = unraced.together(sweep, unraced_sweep)
    with pytest.raises(ValueError, match="alone has one task, but a 95 % interval over tasks needs two at least"):
        panels.all_methods.at_best({"several": everything, "alone": everything.isel(task=[0])})


def test_every_interval_of_the_panel_of_all_methods_lies_on_its_axis_whatever_networks_have_learned(
        sweep, unraced_sweep):
    everything = unraced.together(sweep, unraced_sweep)
    unlearned = everything.assign(own=0.1 * everything.own)
    view = panels.all_methods.at_best({"a suite of one's own": unlearned})
    assert results.shares(unlearned).max() > panels.all_methods.MOST
    assert "so no method is called the best" in view.draw(method="average", suite="a suite of one's own").title
    across = view.charts[0].x
    for method in view.controls["method"].values:
        frame = view.draw(method=method, suite="a suite of one's own")
        bars = [ends for name, (ends, _) in frame.values.items() if name.startswith("interval of")]
        assert across.low <= np.min(bars) and np.max(bars) <= across.high


@pytest.mark.parametrize("leads, title", [
    ({}, "Which method gives the best merged network is within the noise"),
    ({"ties": 0.3}, "TIES gives the best merged network"),
    ({"emr": 0.3, "ties": 0.2}, "TIES gives the best merged network"),
    ({"ties": 0.3, "cart": 0.3}, "Which method gives the best merged network is within the noise")])
def test_the_title_of_the_panel_of_all_methods_goes_by_intervals_over_tasks(leads, title):
    assert panels.all_methods.finding(of_race(leads)) == title


def test_the_race_asks_for_the_worst_task_of_the_average_and_hides_every_mark_that_tells_it(sweep):
    guess = predict("how much?")
    view = panels.comparison.bars_and_worst({"several": sweep}, guess)
    worst = results.shares(sweep).sel(reported="average").min().item()
    assert guess.truth == pytest.approx(worst) and guess.at == {"suite": "several", "grid": "wide"}
    left = {mark.name for mark in view.marks if mark.parts} - set(view.hides)
    assert left == {"storage"}, "the line between two kinds of methods"


@pytest.mark.parametrize("best, cart, plain, off, title", [
    (0.7, 0.6, 0.5, True, "The best merge goes beyond the average and keeps something of each task’s own"),
    (0.7, 0.5, 0.6, False, "The best merge lies on neither line"),
    (0.61, 0.6, 0.5, True, "The best merge is within the noise of the best of CART"),
    (0.61, 0.5, 0.6, True, "The best merge is within the noise of the best of task arithmetic"),
    (0.61, 0.6, 0.6, True, "The best merge is within the noise of those of CART and of task arithmetic")])
def test_the_title_of_the_plane_compares_its_best_with_both_lines(best, cart, plain, off, title):
    mean = np.array([best, cart, plain])
    assert panels.plane.finding_of_plane(np.stack([mean, mean - 0.02, mean + 0.02]), off) == title


def test_the_plane_shows_the_best_scale_for_every_a_and_both_lines(made, plane_sweep):
    frame = made["plane"].draw(common=1.0, rank_ratio=0.5)
    table = plane_sweep.share.sel(rank_ratio=0.5).transpose("own", "common").values
    assert list(frame.values["best λ"]) == list(table.max(0)) and list(frame.values["λ = 0"]) == list(table[0])
    assert f"On CART's line, a = 1, it is {table[:, 2].max():.3f}" in frame.alt


@pytest.mark.parametrize("first, last, entropy, says", [
    (0.5, 0.3, 0.1, "makes the predictions more certain, and less often right"),
    (0.3, 0.5, 0.1, "makes the predictions more certain, and more often right"),
    (0.5, 0.51, 0.1, "makes the predictions more certain, but the change in accuracy is within the noise"),
    (0.5, 0.3, 1.0, "does not make the predictions more certain")])
def test_the_title_of_the_adaptation_says_what_certainty_did(first, last, entropy, says):
    spread = np.array([0.0, 0.02, -0.02])
    part = xarray.Dataset({"accuracy": (("step", "task"), [np.full(3, first), last + spread]),
                           "entropy": ("step", [1.0, entropy])})
    assert panels.adaptation.finding_of_adapting("AdaMerging", part) == f"AdaMerging {says}"


def test_the_adaptation_asks_for_the_accuracy_in_the_end(adapted):
    guess = predict("how much?")
    view = panels.adaptation.adapting(adapted, guess)
    last = adapted.accuracy.mean("task").sel(adapted="adamerging").values[-1]
    assert guess.truth == pytest.approx(last) and f"in the end {last:.3f}" in view.alt
    assert set(view.hides) == {mark.name for mark in view.marks if mark.parts}, "no curve while it asks"


def test_the_views_fit_on_a_page_of_their_own(made, tmp_path):
    for name, view in made.items():
        assert np.prod([len(control.values) for control in view.controls.values()]) <= 2000, name
    assert made["bars"].save_html(tmp_path / "page.html").stat().st_size > 10_000


def test_the_views_of_the_full_profile_open_where_the_chapter_says():
    suite = comparison.suites_of("full", 0)["several"]
    merges, planes = comparison.run(suite, "full", 0), plane.run(suite, "full", 0)
    assert panels.comparison.search(merges).title == "With the λ that suits task arithmetic, TIES is clearly worse"
    assert panels.comparison.bars_and_worst({"several": merges}).title == \
        "Some methods beat the plain average, but which one is first is within the noise"
    view = panels.plane.common_and_own(planes)
    assert view.title == "The best merge goes beyond the average and keeps something of each task’s own"
    assert view.values == {"common": 3.0, "rank_ratio": 0.02}


def test_tables_say_what_was_chosen_and_who_is_ahead(sweep):
    table = panels.comparison.chosen({"several": sweep})
    order = panels.comparison.order({"several": sweep})
    assert f"λ {results.chosen(sweep, 'cart')['scale']:g}" in table.text and "CART" in order.text
    scales = [results.chosen(sweep, method)["scale"] for method in searches.SEARCHED]
    low, high = min(scales), max(scales)
    scale, count = panels.comparison.shared_scale(sweep)
    assert f"a λ between {low:g} and {high:g} on " in table.text and f"at most {count} on " in table.text
    assert f"(λ = {scale:g}) stay at their own best" in table.text
    leaders = results.leaders(sweep)
    assert all(title_of(method) in order.text for method in leaders) and "6 of 6 columns" in order.text
    assert ("is the best" in order.text) == (len(leaders) == 1)
    assert all(name in panels.library.registry().text for name in methods())


# -- still pictures and short readings -------------------------------------------------------------

def alt_of(figure):
    return re.search(r'alt="([^"]*)"', figure.data)[1]


def test_there_is_an_image_of_every_task(suite):
    alt = alt_of(panels.tasks.images({"permuted": suite, "split": suites.split(3)}))
    assert all(task in alt for task in suite.tasks) and "split" not in alt
    turned = next(iter(suites.rotated().recipes.values()))
    assert tasks._first_image(turned).shape == (28, 28), "of one image alone, whatever the size of the data set"


def test_accuracies_are_drawn_by_task_whatever_dress_they_come_in(suite):
    drawn = panels.tasks.by_task(["x", "y"], {tasks.OWN: np.array([0.9, 0.8]), "mine": torch.tensor([0.25, 0.5])})
    assert "x: the task&#39;s own network 0.90, mine 0.25; y:" in alt_of(drawn)
    lines = panels.ties.against("λ", (0.5, 1), {"mean": [torch.tensor(0.25), 0.5]})
    assert "mean: 0.25 at 0.5, 0.50 at 1" in alt_of(lines)


def test_disputed_weights_and_lost_entries_are_counted():
    stack = torch.tensor([[1.0, -2.0, 0.0, 3.0], [-3.0, -1.0, 0.0, 1.0]])
    assert ties.disputes(stack, toy.elected(stack)) == pytest.approx((1 / 4, 1 / 6))
    assert ties.disputes(torch.zeros(2, 3), torch.zeros(3)) == (0, 0)
    many = stack.repeat(1, 20)
    assert "density 0.2: 25% of all weights are disputed, and 17% of the kept entries lose" in alt_of(
        panels.ties.votes({0.2: (many, toy.elected(many))}))


def test_the_toys_table_marks_where_signs_differ():
    made = toy.toy()
    assert f"the signs differ in {toy.conflicts(made.vectors).sum()} of 20 weights" in alt_of(
        panels.toy.two_task_vectors())


@pytest.mark.parametrize("leads, title, says", [
    ((0.1, 0.0), "Whether TIES helped depended on what the tasks shared", "better than the plain sum by 0.10"),
    ((-0.1, 0.1), "Whether TIES helped depended on what the tasks shared", "worse than the plain sum by 0.10"),
    ((0.0, 0.01), "TIES compared with the plain sum in the same way, whatever the tasks shared", "within the noise")])
def test_the_reading_of_the_draws_goes_by_the_lead_of_ties(leads, title, says):
    page = panels.toy.lead_in_words({shared: (lead, 0.02) for shared, lead in zip(toy.SEEN, leads)})
    assert title in page.page and says in page.text


def test_over_the_draws_ties_is_better_without_shared_inputs_and_worse_with_all():
    text = panels.toy.reading_of_the_lead().text
    assert "shared none of the inputs, TIES was better" in text and "shared all five inputs, TIES was worse" in text
    assert "one of five inputs, TIES was within the noise" in text
    assert all(f"{shared}: plain average" in alt_of(panels.toy.costs_of_draws(20)) for shared in toy.SEEN)


def test_over_the_draws_the_mean_of_the_winners_costs_more_than_the_vote():
    """Where both tasks see all inputs, every way at its best density and λ."""
    def cost(made, way):
        merges = [way(torch.stack([toy.trimmed(vector, density) for vector in made.vectors]))
                  for density in toy.DENSITIES]
        return min(made.errors(toy.best_scale(made, merge) * merge).mean().item() for merge in merges)

    def sum_of_those(stack):
        return (stack * (stack * toy.elected(stack) > 0)).sum(0)

    ways = (lambda stack: stack.sum(0), sum_of_those, toy.mean_of_those)
    costs = np.array([[cost(toy.toy("all five", seed), way) for way in ways] for seed in range(100)])
    plain, voted, averaged = costs.mean(0)
    assert plain + 0.01 < voted < plain + 0.06 < averaged
    assert averaged - voted > 1.5 * (voted - plain)


def test_over_the_draws_trimming_removes_leftovers_and_cuts_what_was_learned():
    """Conflicts among a hundred toys, whole and at density 0.5: those of leftovers, and of what both tasks need."""
    counts = np.zeros((2, 2))
    for seed in range(100):
        made = toy.toy("one of five", seed)
        needed = (made.seen.sum(0) == 2)[None]
        for row, density in enumerate((1.0, 0.5)):
            clash = toy.conflicts(torch.stack([toy.trimmed(vector, density) for vector in made.vectors]))
            counts[row] += (clash & ~needed).sum().item(), (clash & needed).sum().item()
    leftovers, needed = counts[1] / counts[0]
    assert leftovers < 0.2 and needed > 0.4


@pytest.mark.parametrize("accuracies, says", [
    ((0.1, 0.63, 0.7), "Most entries are hardly needed"), ((0.1, 0.2, 0.7), "Many entries are needed")])
def test_the_reading_of_trimming_says_how_much_is_enough(accuracies, says):
    page = ties.reading_of_trimming((0.0, 0.2, 1.0), accuracies)
    assert says in page.page and "of 70 points" in page.text


def test_disputes_are_compared_with_those_of_unrelated_vectors():
    assert ties.unrelated(8, 1.0) == pytest.approx(1 - 2 * 0.5 ** 8)
    drawn = torch.randn(8, 50_000, generator=torch.Generator().manual_seed(0))
    stack = torch.stack([toy.trimmed(vector, 0.2) for vector in drawn])
    assert ties.disputes(stack, toy.elected(stack))[0] == pytest.approx(ties.unrelated(8, 0.2), abs=0.01)
    text = ties.reading_of_disputes({0.2: (stack, toy.elected(stack))}).text
    assert "about as many disputes (31%)" in text
    same = stack[:1].repeat(8, 1)
    assert "other shares" in ties.reading_of_disputes({0.2: (same, toy.elected(same))}).text


@pytest.mark.parametrize("merged, pretrained, says", [
    ((0.8, 0.2), (0.7, 0.1), "although it lost the largest share of its kept entries (100%). A possible reason"),
    ((0.8, 0.2), (0.1, 0.7), "although it lost the largest share of its kept entries (100%)."),
    ((0.2, 0.8), (0.7, 0.1), "the task “y”, which lost 0% of its kept entries.")])
def test_the_reading_of_the_votes_says_whether_they_explain_which_task_is_kept(merged, pretrained, says):
    stack = torch.tensor([[1.0, -1.0], [-2.0, 2.0]])
    accuracies = {"merged": merged, "own": (0.9, 0.9), "pretrained": pretrained}
    text = ties.reading_of_votes(["x", "y"], stack, toy.elected(stack), accuracies).text
    assert says in text and ("reason" in text) == (pretrained[0] == 0.7 and merged[0] == 0.8)


def test_the_map_and_the_table_have_every_method():
    alt, rest = alt_of(panels.library.overview()), panels.library.not_raced().text
    assert all(method.short in alt for method in methods().values())
    assert all((method.title in rest) == (name not in searches.REPORTED) for name, method in methods().items()
               if name not in ("cart", "adamerging"))  # which are parts of other titles
    assert "Passthrough" in rest
    raced = panels.library.raced().text
    assert {line.split(":")[0].rstrip("*") for line in raced.splitlines()} == {
        methods()[name].short for name in set(searches.REPORTED) - set(library.KNOWN)}
    assert raced.count("*: ") == len(searches.STORING)
    assert {name: library.dropped(methods()[name]) for name in ("average", "ties", "adamerging_cart")} == {
        "average": library.NOTHING, "ties": library.ENTRIES, "adamerging_cart": library.DIRECTIONS}
    assert set(library.MERGEKIT) <= set(methods()) - set(searches.REPORTED)


def test_what_the_race_leaves_out_has_in_mergekit_the_names_of_the_guide():
    guide = (ROOT / "docs" / "which-method.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in guide.splitlines() if line.startswith("| `")]
    names = {here.split("`")[1]: set(re.findall(r"`(\w+)`", mergekit)) for mergekit, _, here in rows if "`" in here}
    assert {name: set(texts.split(", ")) for name, texts in library.MERGEKIT.items()} == {
        name: names[name] for name in library.MERGEKIT}


@pytest.mark.parametrize("several, rotated, title, says", [
    ((0.1, 0.1, 0.1, 0.1), (0.1, 0.1, 0.1, 0.1), "CART was ahead of every method of Table 1 on all suites",
     "On Rotated MNIST and several data sets, CART was ahead of all four."),
    ((0.1, 0.1, 0.1, 0.1), (0.0, -0.1, 0.0, 0.1), "Whether CART was first depended on the tasks",
     "On Rotated MNIST, CART was ahead of the average, behind TIES and within the noise of Consensus and task "
     "arithmetic."),
    ((0.0, 0.1, 0.1, 0.1), (0.0, 0.0, 0.0, 0.0), "CART was first on no suite", "within the noise of all four")])
def test_the_reading_of_the_leads_goes_by_intervals(several, rotated, title, says):
    table = {"rotated": {rival: (lead, 0.05) for rival, lead in zip(leads.RIVALS, rotated)},
             "several": {rival: (lead, 0.05) for rival, lead in zip(leads.RIVALS, several)}}
    page = leads.reading_of(table)
    assert title in page.page and says in page.text


def test_the_leads_are_those_of_the_ledger():
    numbers, table = claims.measured()["CART-8"], leads.leads()
    values = np.array(numbers["several: cart over ties"])
    assert table["several"]["ties"] == pytest.approx((values.mean(), results.interval(values)))
    assert f"several data sets: over Consensus {100 * table['several']['consensus'][0]:+.1f}" in alt_of(
        leads.over_seeds())
    assert "Whether CART was first depended on the tasks" in leads.reading().page
    assert leads.verdict(*table["split 20"]["ties"]) == leads.AHEAD and sum(map(len, table.values())) == 20


@pytest.mark.parametrize("several, rotated, title", [
    (0.1, 0.1, "In this run, a merge off both lines was better"),
    (0.1, 0.01, "In this run, a merge off both lines was measurably better only on several"),
    (0.1, 0.0, "In this run, a merge off both lines was not better on every suite"),
    (-0.1, 0.01, "In this run, no merge off both lines was measurably better")])
def test_the_reading_of_the_plane_goes_by_intervals(several, rotated, title):
    page = panels.plane.best_in_words({"several": (several, 0.05), "rotated": (rotated, 0.05)})
    assert f"<b>{title}.</b>" in page.page and ("within the noise" in page.text) == (rotated < 0.05)


def test_the_reading_of_the_plane_says_where_its_best_is_on_a_line():
    page = panels.plane.best_in_words({"several": (0.0, 0.0), "rotated": (0.1, 0.05)})
    assert "On several, the best merge of the plane was on the better of the two lines. On rotated" in page.text


def test_the_plane_asks_for_its_highest_and_hides_all_but_the_lines(plane_sweep):
    guess = predict(panels.plane.question(plane_sweep))
    view = panels.plane.common_and_own(plane_sweep, guess)
    opens = float(plane_sweep.best.sel(line=plane.LINES[0], coordinate="rank_ratio"))
    assert guess.truth == pytest.approx(plane_sweep.share.sel(rank_ratio=opens).max().item())
    assert guess.at == {"rank_ratio": opens}
    assert {mark.name for mark in view.marks if mark.parts} - set(view.hides) == {"CART", "task arithmetic"}
    assert "θ₀" in alt_of(panels.plane.directions())


def test_the_plane_says_what_the_ledgers_seeds_say(monkeypatch):
    assert panels.plane.over_seeds() == ("On average over ten seeds in profile full, it was better on both, by 7 "
                                         "points on several data sets and by 2 on Rotated MNIST.")
    numbers = {f"{name}: plane over both lines": [-0.1, 0.1] for name in ("several", "rotated")}
    monkeypatch.setattr(claims, "measured", lambda: {"CART-8": numbers})
    assert "not measurably better on both suites" in panels.plane.over_seeds()
    monkeypatch.setattr(claims, "measured", dict)
    assert panels.plane.over_seeds() == ""


def test_the_averages_logits_are_compared_with_those_of_the_tasks_networks(loaded):
    spreads = plane.spreads(loaded)
    average = merge("average", loaded.base, loaded.finetuned)
    merged, own = (loaded.forward(state, loaded.test[0][0], 0).detach() for state in (average, loaded.finetuned[0]))
    assert next(iter(spreads.values())) == pytest.approx((merged.std(1, correction=0).square().mean()
                                                          / own.std(1, correction=0).square().mean()).sqrt().item())
    drawn = panels.plane.logits({"x": 0.2, "y": 0.9}).data
    assert "On each of the 2 tasks" in drawn and "x 0.20; y 0.90" in drawn
    assert "On 1 of the 2 tasks" in panels.plane.logits({"x": 0.2, "y": 1.1}).data


# -- the ledger ------------------------------------------------------------------------------------

def test_the_ledgers_intervals_are_over_seeds(monkeypatch):
    numbers = {"several: cart over consensus": [0.01, 0.02, 0.03],
               "ResNet split 8: cart over consensus": [-0.02, -0.02, -0.02]}
    monkeypatch.setattr(claims, "measured", lambda: {"CART-8": numbers})
    first = panels.comparison.order_in_the_ledger().text.splitlines()[0]
    assert re.search(r"several data sets \+2\.0 ± 2\.5", first) and "8 tasks -2.0 ± 0.0" in first


def test_the_ledgers_adaptation_is_told_by_suite_and_method(monkeypatch):
    suite = "ResNet split 8"
    numbers = {f"{suite}: with CART over without": [0.005, 0.011],
               f"{suite}: with CART over without, in intervals": [0.2, -1.2],
               "ViT adamerging_gained": [-0.05, -0.09], "ViT adamerging_cart_gained": [-0.1, 0.01]}
    for method in adaptation.ADAPTED:
        ledger = {", at first": [0.9, 0.95], ", in the end": [0.91, 0.93], ", entropy at first": [0.8, 0.8],
                  ", entropy in the end": [0.71, 0.68], ", collapse in the end": [0.2, 0.2]}
        numbers |= {f"{suite}: {method}{name}": values for name, values in ledger.items()}
    monkeypatch.setattr(claims, "measured", lambda: {"CART-9": numbers})
    first, _, note, lead, _ = panels.adaptation.in_the_ledger().text.splitlines()
    assert first.startswith("CIFAR-100, 8 tasks, AdaMerging: ") and "0.900 … 0.950" in first
    assert "in nats −0.12 … −0.09" in first and "in points −2.0 … +1.0" in first and first.endswith(" 20%")
    assert "over 2 seeds: with AdaMerging −9.0 … −5.0, with AdaMerging + CART −10.0 … +1.0." in note
    assert lead.startswith("CIFAR-100, 8 tasks: seeds 2, ahead by, in points +0.5 … +1.1, ")
    assert "+0.8 ± 3.8, verdict within the noise" in lead and lead.endswith("1 of 2")


def test_the_ledgers_leads_go_by_way_of_task_arithmetic_where_it_has_none_itself(monkeypatch):
    numbers = {"several: ties over task_arithmetic": [0.01, 0.03],
               "several: task_arithmetic over average": [0.04, 0.02],
               "rotated: task_arithmetic over average": [0.0, 0.0]}
    monkeypatch.setattr(claims, "measured", lambda: {"CART-8": numbers})
    text = panels.comparison.order_in_the_ledger().text
    line = next(line for line in text.splitlines() if line.startswith("TIES − Average"))
    assert "several data sets +5.0 ± 0.0" in line and "Rotated MNIST –" in line
    assert "On Rotated MNIST, task arithmetic and the average have the same accuracy on every seed" in text


def test_on_the_ledgers_seeds_the_plane_is_ahead_of_both_lines_and_by_less_on_the_rotations():
    several, rotated = (np.array(claims.measured()["CART-8"][f"{name}: plane over both lines"])
                        for name in ("several", "rotated"))
    assert len(several) == len(rotated) == 10
    assert all(leads.mean() > results.interval(leads) for leads in (several, rotated))
    assert several.mean() > 2 * rotated.mean()


def test_an_empty_ledger_is_said(monkeypatch):
    monkeypatch.setattr(claims, "measured", dict)
    assert "no numbers yet" in panels.adaptation.in_the_ledger().text
    assert "no numbers yet" in panels.comparison.order_in_the_ledger().text
    assert "no numbers yet" in leads.over_seeds().text and "no numbers yet" in leads.reading().text


def test_the_claims_numbers_come_back_by_name(sweep, plane_sweep, adapted):
    found = experiment.numbers({"several": sweep}, {"several": plane_sweep}, {"several": adapted})
    eight, nine = found["CART-8"], found["CART-9"]
    assert eight["several: cart over average"] == pytest.approx(results.difference(sweep, "cart", "average")[0])
    assert eight["several: best a"] == plane_sweep.best.sel(line="anywhere", coordinate="common").item()
    first, last = adapted.accuracy.mean("task").sel(adapted="adamerging").values[[0, -1]]
    assert nine["several: adamerging, at first"] == first and nine["several: adamerging lost"] == first - last
    with_cart = adapted.accuracy.mean("task").sel(adapted="adamerging_cart").values[-1]
    assert nine["several: with CART over without"] == pytest.approx(with_cart - last)
    assert experiment.numbers({"several": sweep}).keys() == {"CART-8"}


def test_the_ledgers_collections_give_every_number_that_a_verdict_needs(monkeypatch, sweep, plane_sweep, adapted,
                                                                        unraced_sweep):
    monkeypatch.setattr(comparison, "run", lambda *_: sweep)
    monkeypatch.setattr(plane, "run", lambda *_: plane_sweep)
    monkeypatch.setattr(adaptation, "run", lambda *_: adapted)
    names = [one.name for one in experiment.LEDGER]
    assert names == ["interference", "interference-resnets", "interference-more-tasks"]
    monkeypatch.setattr(unraced, "run_all", lambda suites, *_: dict.fromkeys(suites, unraced_sweep))
    given = [one.measure("full", 0) for one in (*experiment.LEDGER, *unraced.LEDGER)]
    for id in ("CART-8", "CART-9"):
        names = [name for numbers in given for name in numbers.get(id, {})]
        asked = {one.number for one in claims.ledger()[id].conditions}
        kept = set(claims.measured()[id])
        of_vits = {name for name in asked | kept if name.startswith("ViT ")}  # chapter 12 measures them
        assert len(names) == len(set(names)) and asked - of_vits <= set(names)
        assert kept - of_vits == {name for name in names if claims.ledger()[id].keeps(name)}


@pytest.mark.slow  # trains nine networks
@pytest.mark.real
def test_methods_that_store_something_per_task_keep_most_of_the_accuracy(real_data, real_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(real_folder_session))
    several = comparison.suites_of("quick")["several"].load()
    for method, given in searches.STORING.items():
        shares = several.normalised(merge(method, several.base, several.finetuned, **given))
        assert shares.mean() > 0.8
        if method == "cart_indexing":
            assert abs(shares.mean() - 1) < 0.03


@pytest.mark.slow  # trains and searches one suite in full
@pytest.mark.real
def test_measuring_a_suite_again_confirms_the_ledger(real_data, real_folder_session, monkeypatch):
    """Rotated MNIST alone, in full, seed 0: all suites take minutes."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(real_folder_session))
    sweeps = {"rotated": comparison.run(comparison.suites_of("full")["rotated"], "full", 0)}
    assert claims.confirmed(experiment.numbers(sweeps)) == []
