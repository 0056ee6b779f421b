"""Chapter 7: the toy, the search, the plane, adaptation and choices, on small networks and the stand-in."""
import re

import numpy as np
import pytest
import torch
import xarray

from lessons.kit import claims
from lessons.merging import experiment, merge, methods, panels
from lessons.merging import adaptive
from lessons.interference.experiment import adaptation, choices, comparison, plane, results, toy
from lessons import suites
from lessons.interference.experiment.comparison import Line, Settings, Sweeps
from lessons.kit.panel import settings_of
from toy_models import zoo

SMALL = Settings(held_out=30, test=40, scales=(0.1, 0.2, 0.3, 1.0, 1.4), places=(1, 2, 3))


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
    return comparison.measure(suite, SMALL).assign_attrs(comparison.attributes(suite, "quick", 0))


@pytest.fixture(scope="module")
def loaded(suite):
    return suite.load(images=40)


# -- the toy -------------------------------------------------------------------------------------------------------------------

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
    made, generator = toy.toy("one of five"), torch.Generator().manual_seed(0)
    base, merged = torch.randn(toy.OUTPUTS, toy.INPUTS, generator=generator), toy.merged(made, 0.5, "sum")[1]
    for task in range(2):
        x = torch.randn(100_000, toy.INPUTS, generator=generator) * made.seen[task]
        right = x @ (base + made.vectors[task]).T
        loss, before = ((x @ (base + vector).T - right).square().sum(1).mean() for vector in (merged, torch.zeros_like(merged)))
        assert (loss / before).item() == pytest.approx(made.errors(merged)[task].item(), rel=0.03)


def test_the_toy_shows_what_the_chapter_says():
    best = {shared: {how: min(toy.toy(shared).errors(toy.merged(toy.toy(shared), density, how)[1]).mean().item() for density in toy.DENSITIES) for how in ("ties", "mean")} for shared in toy.SEEN}
    average = {shared: toy.toy(shared).errors(toy.merged(toy.toy(shared), 1.0, "mean")[1]).mean().item() for shared in toy.SEEN}
    assert best["one of five"]["ties"] < 0.7 * average["one of five"] and best["none"]["ties"] < 0.7 * average["none"]
    assert best["all five"]["ties"] > average["all five"]
    full = toy.merged(toy.toy(), 1.0, "ties")[0]
    assert toy.conflicts(full).sum() > toy.conflicts(toy.merged(toy.toy(), 0.5, "ties")[0]).sum()


def test_centred_models_sum_to_zero_and_have_no_counters():
    states = [{"w": torch.randn(3, 2), "norm.num_batches_tracked": torch.tensor(i)} for i in range(4)]
    centred = toy.centred(states)
    assert all(state.keys() == {"w"} for state in centred) and sum(state["w"] for state in centred).abs().max() < 1e-6


# -- the comparison --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("method", comparison.SEARCHED)
def test_a_method_moves_along_a_straight_line_as_its_scale_grows(method, loaded):
    search = comparison.SEARCHES[method]
    given = {search.other: search.values[1]} if search.other else {}
    line = Line.of(method, loaded.base, loaded.finetuned, **given)
    for scale in (0.3, 2.0):
        straight, merged = line.at(scale), merge(method, loaded.base, loaded.finetuned, scale=scale, **given)
        assert all(torch.allclose(straight[key], merged[key], atol=1e-5) for key in merged)


def test_searches_name_parameters_that_their_methods_have_and_hold_the_sources_values():
    for name, search in comparison.SEARCHES.items():
        known = {parameter.name: parameter for parameter in methods()[name].parameters}
        assert "scale" in known and (search.other is None or search.other in known)
        assert all(known[search.other].check(value) == value for value in search.values)
        for settings in (kinds for profile in comparison.PROFILES.values() for kinds in profile.values()):
            scales, places = settings.scales or search.few_scales, comparison._places(search, settings)
            assert set(scales) <= set(comparison.SCALES) and set(scales) & set(search.source_scales), (name, settings)
            assert not search.other or {search.values[place] for place in places} & set(search.source_values), (name, settings)


def test_the_chosen_values_are_the_best_on_held_out_images_and_reported_on_test_images(sweep, suite):
    few, many = suite.load(images=SMALL.held_out), suite.load(images=SMALL.test)
    for method in ("ties", "task_arithmetic", "cart"):
        found = results.chosen(sweep, method)
        merged = {given: merge(method, few.base, few.finetuned, **dict(given)) for given in _all_tried(method)}
        shares = {given: few.normalised(state, "held-out").mean() for given, state in merged.items()}
        assert shares[tuple(found.items())] == pytest.approx(max(shares.values()), abs=0.02)
        report = many.accuracy(merge(method, many.base, many.finetuned, **found))
        assert list(sweep.accuracy.sel(grid="wide", reported=method).values) == pytest.approx(list(report))


def _all_tried(method):
    search = comparison.SEARCHES[method]
    others = [((search.other, search.values[place]),) for place in SMALL.places] if search.other else [()]
    return [(("scale", scale), *other) for scale in SMALL.scales for other in others]


def test_the_sources_grid_is_a_part_of_what_was_tried(sweep):
    for method, search in comparison.SEARCHES.items():
        found = results.chosen(sweep, method, "source")
        assert found["scale"] in search.source_scales and (not search.other or found[search.other] in search.source_values)


def test_a_best_value_at_the_edge_is_said_unless_the_method_becomes_another_there():
    made = xarray.Dataset({"tried": (("searched", "place", "scale", "task"), np.ones((1, 5, 3, 1))), "value": (("searched", "place"), [list(comparison.SEARCHES["consensus"].values)]),
                           "place_chosen": (("grid", "searched"), [[0]]), "scale_chosen": (("grid", "searched"), [[0.2]])},
                          coords={"searched": ["consensus"], "scale": [0.1, 0.2, 0.3], "grid": ["wide"]})
    assert results.at_edge(made, "consensus") == []  # mask strength 0.1 is nearly task arithmetic
    made.place_chosen[0, 0], made.scale_chosen[0, 0] = 4, 0.3
    assert results.at_edge(made, "consensus") == ["scale", "mask_strength"]


def test_the_lead_and_its_interval_are_those_of_paired_differences(sweep):
    one, other = (sweep.accuracy.sel(grid="wide", reported=method) / sweep.own for method in ("ties", "average"))
    differences = (one - other).values
    mean, half = results.difference(sweep, "ties", "average")
    assert mean == pytest.approx(differences.mean()) and half == pytest.approx(4.3027 * differences.std(ddof=1) / 3 ** 0.5, rel=1e-3)  # Student, 2 degrees of freedom


def test_suites_together_carry_one_caption_and_name_a_stand_in(sweep):
    both = Sweeps({"a": sweep.assign_attrs(digest="1"), "b": sweep.assign_attrs(digest="2", source="CIFAR-100", source_kind="official", dataset="CIFAR-100")})
    assert both.attrs["digest"] == "1; 2" and "Not MNIST!" in panels.caption(both)


def test_an_unknown_profile_is_named():
    with pytest.raises(ValueError, match="unknown profile 'huge': choose one of quick, full"):
        comparison.suites_of("huge")


def test_every_suite_is_estimated_and_its_data_named(folder):
    shared = {recipe for suite in comparison.suites_of("full").values() for recipe in (suite.base, *suite.recipes.values()) if not zoo.path_of(recipe).exists()}
    assert f"{len(shared)} networks have to be trained" in comparison.estimate("full") and "CIFAR-100" in comparison.sources(comparison.suites_of("full"))
    assert comparison.sources(comparison.suites_of("quick")).count("stand-in for MNIST") == 1


# -- plane, adaptation, choices --------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def plane_sweep(suite):
    return plane.measure(suite, plane.Grid((0.1, 0.5), (0.0, 0.5, 1.0, 2.0), (0.0, 1.0, 2.0)), 30, 40).assign_attrs(comparison.attributes(suite, "quick", 0))


def test_the_planes_lines_are_task_arithmetic_and_cart(loaded, plane_sweep):
    base, finetuned, average = loaded.base, loaded.finetuned, merge("average", loaded.base, loaded.finetuned)
    own = Line.of("cart", base, finetuned, rank_ratio=0.5).direction
    for common, scale, method, given in ((2.0, 0.0, "task_arithmetic", {"scale": 2 / 3}), (1.0, 1.5, "cart", {"scale": 1.5, "rank_ratio": 0.5}), (1.0, 0.0, "average", {}), (0.0, 0.0, "task_arithmetic", {"scale": 0.0})):
        point, merged = plane.point(base, average, own, common, scale), merge(method, base, finetuned, **given)
        assert all(torch.allclose(point[key], merged[key], atol=1e-5) for key in merged), method
    assert (plane_sweep.share.sel(own=0.0).isel(rank_ratio=0) == plane_sweep.share.sel(own=0.0).isel(rank_ratio=1)).all()
    best = plane_sweep.best
    assert best.sel(line=plane.LINES[1], coordinate="common") == 1 and best.sel(line=plane.LINES[2], coordinate="own") == 0


@pytest.fixture(scope="module")
def adapted(suite, sweep):
    few = adaptation.Settings(steps=4, lr=0.05, batch_size=8, batches=2, every=2, test=40)
    return adaptation.measure(suite, few, [0.3, 1.0], 0.1).assign_attrs(comparison.attributes(suite, "quick", 0))


@pytest.mark.parametrize("method", adaptation.ADAPTED)
def test_watching_an_adaptation_changes_nothing(method, loaded, adapted):
    """The final λ and accuracy are those of the library's method, run without a trace."""
    given = {"forward": loaded.forward, "batches": loaded.unlabelled(8, 2), "steps": 4, "lr": 0.05} | ({"start": 0.3} if method == "adamerging" else {"start": 1.0, "rank_ratio": 0.1})
    merged = merge(method, loaded.base, loaded.finetuned, **given)
    origin, vectors = adaptive.plain(loaded.base, loaded.finetuned) if method == "adamerging" else adaptive.centred(loaded.base, loaded.finetuned, 0.1)
    lams = adapted.lam.sel(adapted=method)
    ours = adaptive.combined(origin, vectors, {key: torch.tensor(lams.sel(layer=key).values) for key in vectors})
    assert all(torch.allclose(ours[key], merged[key], atol=1e-5) for key in merged)
    assert list(adapted.accuracy.sel(adapted=method).values[-1]) == pytest.approx(list(loaded.normalised(merged)), abs=0.051)
    assert adapted.step.values.tolist() == [0, 2, 4] and (adapted.collapse >= 0.1).all()


@pytest.mark.parametrize("profile", adaptation.PROFILES)
def test_what_a_profile_adapts_is_among_its_suites_and_has_enough_unlabelled_images(profile):
    suites = comparison.suites_of(profile)
    for name in adaptation.SUITES[profile]:
        settings = adaptation.PROFILES[profile][suites[name].base.architecture.name]
        assert settings.batch_size * settings.batches <= settings.test and settings.steps % settings.every == 0


def test_each_choice_is_one_that_the_method_has_and_makes_two_merges(loaded, suite):
    for choice in choices.CHOICES:
        methods()[choice.method].check(choice.given | choice.one[1])
        methods()[choice.method].check(choice.given | choice.other[1])
    measured = choices.measure(suite, 40)
    assert measured.sizes["choice"] == len(choices.CHOICES) and measured.notnull().all().to_array().all()
    last = {name: measured[name].values[-1] for name in ("one", "other", "entries")}
    assert last["other"] == pytest.approx(loaded.normalised(merge("average", loaded.base, loaded.finetuned)).mean()) and last["entries"] > 0.9
    page = panels.choices(measured.assign_attrs(comparison.attributes(suite, "quick", 0)))
    assert len(page.text.splitlines()) == len(choices.CHOICES)


# -- panels, tables, claims --------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def made(sweep, plane_sweep, adapted):
    both = Sweeps({"several": sweep.assign_attrs(digest="1"), "rotated": sweep.assign_attrs(digest="2", suite="another suite")})
    return {"toy": panels.interference(), "search": panels.search(sweep), "bars": panels.bars_and_radar(both), "plane": panels.common_and_own(plane_sweep), "adaptation": panels.adapting(adapted)}


@pytest.mark.parametrize("name", ["toy", "search", "bars", "plane", "adaptation"])
def test_every_control_moves_the_picture_and_the_words(name, made):
    panel = made[name]
    for control in panel.controls:
        before = panel.values
        seen = {}
        for value in settings_of(panel.controls[control]):
            panel.set(**{control: value})
            seen[value] = panel.picture.frame["marks"]
            assert panel.alt.strip() and not panel.picture.error
        assert len(set(seen.values())) == len(seen) > 1, (name, control)
        panel.set(**before)


def test_the_panels_fit_on_a_page_of_their_own(made, tmp_path):
    for name, panel in made.items():
        assert np.prod([len(settings_of(control)) for control in panel.controls.values()]) <= 2000, name
    assert made["bars"].save_html(tmp_path / "page.html").stat().st_size > 10_000


def test_the_full_profiles_search_panel_fits_on_a_page():
    assert len(comparison.SCALES) * 5 * len(comparison.SEARCHED) <= 2000


def test_tables_say_what_was_chosen_and_who_is_ahead(sweep):
    both = Sweeps({"several": sweep})
    table, order = panels.chosen(both), panels.order(both)
    assert f"λ {results.chosen(sweep, 'cart')['scale']:g}" in table.text and "CART" in order.text
    scales = [results.chosen(sweep, method)["scale"] for method in comparison.SEARCHED]
    assert f"from {min(scales):g} to {max(scales):g}, a factor of {max(scales) / min(scales):.0f}" in table.text
    assert " > ".join(results.title_of(method) for method in results.order(sweep)) in order.text
    assert all(name in panels.registry().text for name in methods())


def test_the_ledgers_intervals_are_over_seeds(monkeypatch):
    monkeypatch.setattr(claims, "measured", lambda: {"CART-8": {"several: cart over consensus": [0.01, 0.02, 0.03], "ResNet split 8: cart over consensus": [-0.02, -0.02, -0.02]}})
    first = panels.order_in_the_ledger().text.splitlines()[0]
    assert re.search(r"several \+2\.0 ± 2\.5", first) and "split 8 -2.0 ± 0.0" in first


def test_the_ledgers_adaptation_is_told_by_suite_and_method(monkeypatch):
    numbers = {"split 8: with CART over without": [0.005, 0.011], "split 8: with CART over without, in intervals": [0.2, -1.2]}
    for method in adaptation.ADAPTED:
        ledger = {", at first": [0.9, 0.95], ", in the end": [0.91, 0.93], ", entropy at first": [0.8, 0.8],
                  ", entropy in the end": [0.71, 0.68], ", collapse in the end": [0.2, 0.2]}
        numbers |= {f"split 8: {method}{name}": values for name, values in ledger.items()}
    monkeypatch.setattr(claims, "measured", lambda: {"CART-9": numbers})
    first, *_, note = panels.adaptation_in_the_ledger().text.splitlines()
    assert first.startswith("split 8, AdaMerging: ") and "0.900 … 0.950" in first and "in nats -0.12 … -0.09" in first
    assert "in points -2.0 … +1.0" in first and first.endswith(" 20%")
    assert "on split 8 +0.5 … +1.1 points, which 1 of 2 seeds tell from 0" in note


def test_an_empty_ledger_is_said(monkeypatch):
    monkeypatch.setattr(claims, "measured", dict)
    assert "no numbers yet" in panels.adaptation_in_the_ledger().text


def test_the_claims_numbers_come_back_by_name(monkeypatch, sweep, plane_sweep, adapted):
    found = experiment.numbers(Sweeps({"several": sweep}), {"several": plane_sweep}, {"several": adapted})
    assert found["CART-8"]["several: cart over average"] == pytest.approx(results.difference(sweep, "cart", "average")[0])
    assert found["CART-9"]["several: with CART over without"] == pytest.approx((adapted.accuracy.mean("task")[1, -1] - adapted.accuracy.mean("task")[0, -1]).item())
    monkeypatch.setattr(comparison, "suites_of", lambda profile, seed: {"several": suites.permuted(3, size=640, width=20)})
    monkeypatch.setattr(comparison, "run", lambda *_: sweep.assign_attrs(digest="1"))
    monkeypatch.setattr(plane, "run", lambda *_: plane_sweep)
    monkeypatch.setattr(adaptation, "run", lambda *_: adapted)
    assert set(experiment.claims(experiment.run("quick", 0))["CART-8"]) == set(found["CART-8"])


@pytest.mark.slow  # trains and searches one suite in full
@pytest.mark.real
def test_measuring_a_suite_again_confirms_the_ledger(real_data, real_folder_session, monkeypatch):
    """Rotated MNIST alone, in full, seed 0: all suites take minutes."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(real_folder_session))
    sweeps = Sweeps({"rotated": comparison.run(comparison.suites_of("full")["rotated"], "full", 0)})
    assert claims.confirmed(experiment.numbers(sweeps)) == []
