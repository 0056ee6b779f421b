"""Text that becomes a page."""
import numpy as np
import pytest
import xarray

from lessons.kit.page import digits, grid_table, half_up


def test_numbers_on_a_grid_become_a_table_with_a_dash_where_nothing_was_measured():
    gaps = xarray.DataArray([[0.12345, np.nan], [1.0, 2.0]], {"pair": ["<a>", "b"], "layer": [1, 2]}, ("pair", "layer"))
    page = grid_table(gaps, "{:.2f}", corner="pair", after="end")
    assert "<td>0.12</td><td>–</td>" in page.page and "<th>1</th><th>2</th>" in page.page and page.page.endswith("end")
    assert "&lt;a&gt;" in page.page and "<a>" not in page.page
    assert page.text == "<a>: 1 0.12, 2 –\nb: 1 1.00, 2 2.00"
    assert "<td style='text-align:left'></td><th>1</th>" in grid_table(gaps).page, "an empty corner is no heading"


def test_a_table_of_three_dimensions_is_refused():
    with pytest.raises(ValueError, match="two dimensions"):
        grid_table(xarray.DataArray(np.zeros((1, 1, 1)), dims=("a", "b", "c")))


@pytest.mark.parametrize("value, shown", [(-0.00125, "−0.00125"), (0.123456, "0.1235"), (12345678.0, "1.235e+07"),
                                          (-1e-9, "−1e−09"), (0.0, "0")])
def test_digits_has_few_digits_and_a_minus_sign(value, shown):
    assert digits(value) == shown


@pytest.mark.parametrize("value, shown", [(0.9135, "0.914"), (0.9315, "0.932"), (0.8455, "0.846"), (0.91349, "0.913"),
                                          (np.mean([0.1] * 3 + [0.2135]), "0.128"), (1, "1.000")])
def test_a_half_is_rounded_up_and_reads_the_same_as_a_share_and_in_per_cent(value, shown):
    assert f"{half_up(value):.3f}" == shown and f"{half_up(value):.1%}" == f"{100 * float(shown):.1f}%"
