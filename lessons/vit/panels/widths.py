"""What pictures of the small ViT share: a choice of widths, of which width a reading speaks, and accuracies as dots."""
import numpy as np
import xarray

from lessons.kit import page, plotting
from lessons.kit.noise import Difference, reach
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


def bound(apart: Difference) -> str:
    """The end of a sentence about a `difference`; of one that is not news, what its ± is."""
    return "" if apart.is_news else \
        " (± is at most one standard error, so on so few images this may be noise)"


def reading_of_widest(sweep: xarray.Dataset, title: str, template: str, **numbers) -> Page:
    """`page.reading`; it begins with the width where the sweep has several."""
    which = "(Width {width}.) " if len(sweep.width) > 1 else ""
    return page.reading(title, which + template, width=int(sweep.width[-1]), **numbers)


def dots(accuracies: xarray.DataArray, names: list[str], images: int, caption: str):
    """Accuracies (width, …) of networks with these names, as dots with bars of two standard errors."""
    fig, ax = plotting.figure(height=0.8 + 0.3 * len(names))
    rows, told = np.arange(len(names))[::-1], []
    for place, width in enumerate(map(int, accuracies.width.values)):
        values, y = accuracies.sel(width=width).values, rows - 0.2 * place
        ax.errorbar(values, y, xerr=reach(values, images), color=plotting.COLOURS[place],
                    marker=plotting.MARKERS[place], linestyle="", label=f"width {width}")
        for value, height in zip(values, y):
            ax.annotate(f"{value:.0%}", (value, height), (0, 5), textcoords="offset points", ha="center", fontsize=8)
        told.append(f"Width {width}: " + ", ".join(f"{name} {value:.3f}" for name, value in zip(names, values)))
    if len(accuracies.width) > 1:
        fig.legend(*ax.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    ax.set_yticks(rows, names)
    ax.set(xlabel=plotting.ACCURACY, ylim=(-0.7, len(names) - 0.3))
    return plotting.show(fig, ". ".join(told) + ".", f"{caption} Bars: two standard errors.")
