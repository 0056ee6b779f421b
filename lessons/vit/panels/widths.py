"""What views of the small ViT share: a choice of widths, and of which width a reading speaks."""
import xarray

from lessons.kit import page
from lessons.kit.noise import Difference
from lessons.kit.page import Page
from lessons.kit.view import chips


def menu(sweep: xarray.Dataset) -> dict:
    """{"width": chips}; nothing where the sweep has one width alone."""
    widths = list(map(int, sweep.width.values))
    return {"width": chips("width of the ViT", {str(width): width for width in widths}, more=True)} \
        if len(widths) > 1 else {}


def first(sweep: xarray.Dataset) -> int:
    """The width at which a view opens."""
    return int(sweep.width[0])


def asked(sweep: xarray.Dataset, **settings) -> dict:
    """Where a view answers a prediction: `settings` at the first width."""
    return settings | {name: first(sweep) for name in menu(sweep)}


def widest(sweep: xarray.Dataset) -> xarray.Dataset:
    """The part of a sweep that `reading_of_widest` speaks of."""
    return sweep.sel(width=int(sweep.width[-1]))


def difference(sweep: xarray.Dataset, a: float, b: float) -> Difference:
    """a − b, two accuracies on the sweep's test images of all tasks."""
    return Difference.of(a, b, int(sweep.attrs["test_images"]))


def reading_of_widest(sweep: xarray.Dataset, title: str, template: str, **numbers) -> Page:
    """`page.reading`; it begins with the width where the sweep has several."""
    which = "(Width {width}.) " if len(sweep.width) > 1 else ""
    return page.reading(title, which + template, width=int(sweep.width[-1]), **numbers)
