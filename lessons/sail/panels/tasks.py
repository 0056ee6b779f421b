"""What the parents and the target of chapter 9 are given to learn."""
import xarray

from lessons.kit import drawings, plotting
from lessons.kit.plotting import still
from lessons.kit.sweep import caption
from lessons.sail.experiment import digits

SHOWN = 12  # images in a row


@still
def thirds(sweep: xarray.Dataset):
    """The first training images of both parents and of the target: digits of three brightnesses."""
    case = digits.THIRDS
    rows = {"A learns the darkest third": case.first, "B learns the middle third": case.second,
            "The new task is the brightest third": case.target}
    fig, axes = plotting.figure(rows=len(rows), height=2.9)
    told = []
    for ax, (title, options) in zip(axes, rows.items()):
        x, y = digits.images(options)
        drawings.images(ax, x[:SHOWN].unflatten(1, (14, 14)), title, cmap="gray")  # so that bright is bright
        told.append(f"{title}, {', '.join(str(int(label)) for label in y[:SHOWN])}, of mean brightness {x.mean():.2f}")
    return plotting.show(fig, f"Three rows of digits. {'; '.join(told)}.", caption(sweep).split(";")[0] + ".")
