"""tools/sweeps.py, which says whether a change of the code left every measured number as it was."""
import numpy as np
import xarray

from tools import sweeps


def sweep(**changed):
    values = {"gap": ("alpha", np.array([0.0, 0.1, np.nan])), "seen": ("alpha", np.array([1, 2, 3]))}
    return xarray.Dataset(values | changed, {"alpha": [0.0, 0.5, 1.0]}, {"images": "10", "digest": "a"})


def test_equal_sweeps_are_equal_whatever_code_measured_them():
    assert sweeps.differences(sweep(), sweep().assign_attrs(digest="b", module="m")) == []


def test_one_bit_a_dimension_and_an_attribute_are_noticed():
    last_bit = np.array([0.0, np.nextafter(0.1, 1), np.nan])
    assert sweeps.differences(sweep(), sweep(gap=("alpha", last_bit))) == ["gap differs by up to 1e-16 of its value"]
    assert sweeps.differences(sweep(), sweep(seen=("alpha", np.array([1, 2, 4])))) == ["seen has other values"]
    assert "gap has dimensions" in sweeps.differences(sweep(), sweep(gap=0.5))[0]
    assert sweeps.differences(sweep(), sweep().assign_attrs(images="20")) == [
        "attribute images was '10' and is '20'"]


def test_a_variable_may_have_another_name_and_none_may_be_lost():
    renamed = sweep().rename(gap="gap_mean")
    assert sweeps.differences(sweep(), renamed) == ["gap is gone", "gap_mean is new"]
    assert sweeps.differences(sweep(), renamed, {"gap": "gap_mean"}) == []


def test_folders_are_compared_sweep_by_sweep(tmp_path, capsys):
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        sweep().to_netcdf(tmp_path / name / "line-12.nc", engine="scipy")
    command = ["compare", str(tmp_path / "before"), str(tmp_path / "after")]
    assert sweeps.main(command) == 0 and capsys.readouterr().out == "line-12: equal\n"
    sweep().rename(gap="gap_mean").to_netcdf(tmp_path / "after" / "line-12.nc", engine="scipy")
    assert sweeps.main(command) == 1
    assert sweeps.main([*command, "--renamed", "line:gap=gap_mean"]) == 0
    (tmp_path / "after" / "line-12.nc").unlink()
    assert sweeps.main(command) == 1 and "is missing" in capsys.readouterr().out


def test_every_experiment_of_a_chapter_is_found_by_its_file():
    stems = sweeps.experiments("full", names=["linearity", "cart-bell", "interference"])
    assert sorted({stem.rpartition("-")[0] for stem in stems}) == ["cart-bell", "interference", "linearity"]
    assert "linearity-e5a147d4edd5" in stems, "as it is called in data/measured"
