import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray

from data import store
from lessons import sweep
from lessons.sweep import COEF_BINS, cached, on_grid, summarise

NAN = float("nan")


def test_a_summary_leaves_out_samples_without_a_direction():
    summary = summarise({"gap": torch.tensor([0.0, NAN, 1.0, 2.0, 3.0, 4.0], dtype=torch.float64)})
    assert summary == {"gap_mean": 2.0, "gap_low": 1.0, "gap_high": 3.0}


def test_coef_also_gets_its_median_and_its_distribution_with_what_lies_outside_in_the_outermost_bins():
    summary = summarise({"coef": torch.tensor([-3.0, 0.501, 0.502, 0.503, 7.0], dtype=torch.float64)})
    assert summary["coef_median"] == 0.502
    assert {int(place): int(summary["coef_count"][place]) for place in np.flatnonzero(summary["coef_count"])} == {0: 1, 50: 3, 149: 1}
    assert len(summary["coef_count"]) == len(COEF_BINS) - 1


def test_summaries_go_to_their_place_on_the_grid():
    generator, alphas, layers = torch.Generator().manual_seed(0), (0.0, 0.5, 1.0), ["layer 1", "output"]
    samples = {(alpha, layer): torch.rand(7, generator=generator, dtype=torch.float64) for alpha in alphas for layer in layers}
    sweep = on_grid([summarise({"coef": values}) | {"further": values.sum().item()} for values in samples.values()], alpha=alphas, layer=layers)
    assert sweep.coef_mean.dims == sweep.further.dims == ("alpha", "layer") and sweep.coef_count.dims == ("alpha", "layer", "bin")
    for (alpha, layer), values in samples.items():
        here = sweep.sel(alpha=alpha, layer=layer)
        assert here.coef_mean.item() == pytest.approx(values.mean().item(), rel=1e-12) and here.further.item() == values.sum().item()
        middle = here.bin[here.coef_count > 0].values
        assert all(np.abs(middle - value).min() <= 0.005 + 1e-12 for value in values.numpy()) and here.coef_count.sum() == 7


def test_without_coef_there_are_no_bins():
    assert "bin" not in on_grid([summarise({"gap": torch.ones(2, dtype=torch.float64)})] * 2, layer=["a", "b"]).coords


def test_a_grid_of_another_size_is_an_error():
    with pytest.raises(ValueError, match="reshape"):
        on_grid([summarise({"gap": torch.ones(2, dtype=torch.float64)})] * 3, layer=["a", "b"])


def test_a_sweep_s_file_has_the_mode_of_an_ordinary_new_one(quiet_store, is_ordinary):
    cached("small", {}, lambda: xarray.Dataset({"a": 1.0}))
    path, = (quiet_store / "sweeps").glob("*.nc")
    assert is_ordinary(path)


def test_a_sweep_that_may_not_be_read_is_not_called_damaged(quiet_store, forbid):
    cached("small", {}, lambda: xarray.Dataset({"a": 1.0}))
    path, = (quiet_store / "sweeps").glob("*.nc")
    forbid(path)
    with pytest.raises(store.StoreError, match=f"^{path} may not be read"):
        cached("small", {}, lambda: pytest.fail("measured again"))


def test_a_flipped_bit_anywhere_in_a_sweep_is_damage_or_changes_no_value(quiet_store):
    first = cached("small", {}, lambda: xarray.Dataset({"a": ("x", [0.5, 2.0])}))
    path, = (quiet_store / "sweeps").glob("*.nc")
    whole = path.read_bytes()
    damaged = 0
    for position in range(len(whole)):
        flipped = bytes([whole[position] ^ 4])  # makes text of numbers too
        path.write_bytes(whole[:position] + flipped + whole[position + 1:])
        try:
            with warnings.catch_warnings(action="ignore"):
                found = sweep._read(path)
        except store.Damaged:
            damaged += 1
        else:
            assert found.equals(first) and found.attrs == first.attrs, position
    assert damaged > len(whole) / 2


def test_a_page_is_sound_also_where_text_gets_other_line_ends(tmp_path, monkeypatch):
    def as_on_windows(path, text, **_):
        path.write_bytes(text.replace("\n", "\r\n").encode())

    monkeypatch.setattr(Path, "write_text", as_on_windows)
    sweep._write_page("<p>é\n</p>\n", tmp_path / "page")
    assert sweep._read_page(tmp_path / "page") == "<p>é\n</p>\n"


def test_a_damaged_sweep_is_measured_again(tmp_path, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path))
    small = xarray.Dataset({"a": ("x", np.arange(50.0))}, coords={"x": list(range(50))}, attrs={"source": "none"})
    first = cached("small", {"n": 1}, lambda: small)
    path, = (tmp_path / "sweeps").glob("*.nc")
    whole = path.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1:])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            again = cached("small", {"n": 1}, lambda: small)
        assert again.equals(first), position
        if any(issubclass(warning.category, store.DataWarning) for warning in said):
            assert path.read_bytes() == whole or cached("small", {"n": 1}, lambda: None).equals(first)
