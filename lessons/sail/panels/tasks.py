"""What the parents and the target of chapter 9 are given to learn."""
import xarray

from lessons.kit import plotting
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
        shown = x[:SHOWN].unflatten(1, (14, 14))
        ax.imshow(shown.permute(1, 0, 2).flatten(1), cmap="gray", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        ax.set_title(title, fontsize=10.5)
        ax.grid(False)
        told.append(f"{title}, {', '.join(str(int(label)) for label in y[:SHOWN])}, of mean brightness {x.mean():.2f}")
    return plotting.show(fig, f"Three rows of digits. {'; '.join(told)}.", caption(sweep).split(";")[0] + ".")
