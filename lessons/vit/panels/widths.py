"""What panels about the small ViT share: a menu of widths, where there is more than one."""
import xarray

from lessons.kit.panel import choice


def menu(sweep: xarray.Dataset) -> dict:
    """{"width": a menu}; nothing where the sweep has one width alone."""
    widths = list(map(int, sweep.width.values))
    return {"width": choice("width", {str(width): width for width in widths})} if len(widths) > 1 else {}


def first(sweep: xarray.Dataset) -> int:
    """The width at which a panel opens."""
    return int(sweep.width[0])


def asked(sweep: xarray.Dataset, **settings) -> dict:
    """Where a panel answers a prediction: `settings` at the first width."""
    return settings | {name: first(sweep) for name in menu(sweep)}
