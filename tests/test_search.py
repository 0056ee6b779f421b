"""Choosing on held-out images, against loops written out."""
import numpy as np
import pytest
import torch
import xarray

from lessons.kit import sweep
from lessons.merging import merge, search
from lessons.merging.search import Grid

TASKS = ("one", "two", "three")
GRIDS = {"average": Grid("average"),
         "sums": Grid("task_arithmetic", (0.1, 0.5, 1.0)),
         "TIES": Grid("ties", (0.5, 1.0), "density", (0.1, 0.4, 0.9), places=(0, 2)),
         "CART": Grid("cart", (1.0, 2.0), "rank_ratio", (0.3, 0.6))}


@pytest.fixture(scope="module")
def states():
    """θ₀ and three state dicts that were moved from it."""
    generator = torch.Generator().manual_seed(0)

    def state():
        return {"weight": torch.randn(6, 5, generator=generator), "bias": torch.randn(6, generator=generator)}

    base = state()
    return base, [{key: base[key] + 0.3 * tensor for key, tensor in state().items()} for _ in TASKS]


@pytest.fixture(scope="module")
def score(states):
    """Merged weights -> how near they are to each of the three, rounded, so that some are equally good."""
    def of(merged):
        return [round(1 - float((merged["weight"] - state["weight"]).square().mean()), 2) for state in states[1]]
    return of


def parameters_of(grid):
    """Every point of a grid, λ running fastest: (place, λ, what `merge` is given)."""
    for place in grid.tried:
        for scale in grid.scales:
            given = {"scale": scale} if grid.method != "average" else {}
            yield place, scale, given | ({grid.other: grid.values[place]} if grid.other else {})


@pytest.mark.parametrize("each", [map, lambda function, items: [function(item) for item in items]])
def test_every_point_of_every_grid_is_scored_and_nothing_else(states, score, each):
    found = search.searched(score, search.anew(*states), GRIDS, TASKS, 120, each)
    held = np.full((4, 3, 4, 3), np.nan)
    value = np.full((4, 3), np.nan)
    scales = [0.1, 0.5, 1.0, 2.0]
    for row, grid in enumerate(GRIDS.values()):
        for place, scale, given in parameters_of(grid):
            held[row, place, scales.index(scale)] = score(merge(grid.method, *states, **given))
            value[row, place] = given.get(grid.other, np.nan)
    assert found.held.dims == ("searched", "place", "scale", "task") and list(found.scale.values) == scales
    assert np.array_equal(found.held, held, equal_nan=True) and np.array_equal(found.value, value, equal_nan=True)
    assert list(found.searched.values) == list(GRIDS) and list(found.task.values) == list(TASKS)
    assert search.rests_on(found) == "Parameters were chosen on 120 held-out examples."


def test_what_is_tuned_is_merged_where_the_mean_over_tasks_is_highest(states, score):
    merges = search.anew(*states)
    found = search.searched(score, merges, GRIDS, TASKS, 120)
    tuned = search.tuned(found, GRIDS, merges)
    for name, grid in GRIDS.items():
        top, chosen = -np.inf, None
        for _, _, given in parameters_of(grid):
            mean = np.mean(score(merge(grid.method, *states, **given)))
            if mean > top:
                top, chosen = mean, given
        expected = merge(grid.method, *states, **chosen)
        assert all(torch.equal(tuned[name][key], tensor) for key, tensor in expected.items()), name


def test_a_line_is_what_merging_anew_gives_but_for_rounding(states):
    for method, parameters in (("ties", {"density": 0.4}), ("task_arithmetic", {}), ("cart", {"rank_ratio": 0.5})):
        line, anew = (merges(*states)(method, **parameters) for merges in (search.on_lines, search.anew))
        for scale in (0.0, 0.7, 3.0):
            for key, tensor in anew(scale).items():
                assert torch.allclose(line(scale)[key], tensor, atol=1e-5)


def test_a_method_that_is_on_a_line_is_merged_twice_whatever_the_number_of_scales(states, score, monkeypatch):
    calls = []
    monkeypatch.setattr(search, "merge", lambda *states, **given: calls.append(given) or merge(*states, **given))
    grid = {"TIES": Grid("ties", (0.1, 0.2, 0.5, 1.0), "density", (0.1, 0.4))}
    search.searched(score, search.on_lines(*states), grid, TASKS, 1)
    assert len(calls) == 2 * 2


def test_the_best_is_the_first_of_the_highest_in_the_order_that_is_asked_for():
    scores = [[0.1, 0.7, np.nan], [0.7, 0.2, 0.3]]
    held = xarray.DataArray([scores, np.flip(scores)], dims=("task", "rank", "lam"),
                            coords={"task": [0, 1], "rank": [0.1, 0.2], "lam": [1.0, 2.0, 3.0]})
    by_rank, by_lam = search.best(held, "rank", "lam"), search.best(held, "lam", "rank")
    assert list(by_rank["rank"].values) == [0.1, 0.1] and list(by_rank["lam"].values) == [2.0, 3.0]
    assert list(by_lam["rank"].values) == [0.2, 0.2] and list(by_lam["lam"].values) == [1.0, 2.0]
    of_each_rank = search.best(held, "lam")["lam"]
    assert of_each_rank.dims == ("task", "rank") and list(of_each_rank.values.ravel()) == [2.0, 1.0, 3.0, 2.0]
    assert float(held.sel(task=0).sel(search.best(held.sel(task=0), "rank", "lam"))) == 0.7
    assert list(held.sel(by_rank).values) == list(held.sel(by_lam).values) == [0.7, 0.7]


def test_nothing_tried_is_no_choice():
    with pytest.raises(ValueError, match="NaN"):
        search.best(xarray.DataArray([np.nan, np.nan], dims="lam"), "lam")


def test_a_caption_says_how_many_held_out_examples_a_choice_rests_on(tmp_path):
    assert search.rests_on(xarray.Dataset()) == ""
    for counts, said in (((4000, 4000), "4,000"), ((4000, 500), "500 to 4,000")):
        sweep.write(xarray.Dataset(attrs=search.resting_on(*counts)), tmp_path / "kept.nc")
        of = search.rests_on(sweep.read(tmp_path / "kept.nc"))
        assert of == f"Parameters were chosen on {said} held-out examples."
    several = (xarray.Dataset(attrs=search.resting_on(*counts)) for counts in ((4000,), (4000, 500)))
    assert search.rests_on(*several).endswith("on 500 to 4,000 held-out examples.")
