"""Images sampled between their pixels, with the same bits on every processor.

torch's and torchvision's own sampling multiplies matrices in float32, whose last bits depend on the processor's
instructions. Here every step is one elementwise operation in float64, which IEEE 754 fixes, and places are rounded to a
grid that a cosine's last bit does not reach.
"""
import torch
from torch import Tensor

GRID = 2 ** 20  # places a pixel


def bilinear(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """All images x (samples, height, width) at the same places (m, n), bilinear, black outside: (samples, m, n) in
    float32.

    Args:
        rows, columns: (m, n) in float64, in pixels from the middle of the first row and column.
    """
    rows = (GRID * rows).round() / GRID
    columns = (GRID * columns).round() / GRID
    top = rows.floor()
    left = columns.floor()
    down = rows - top
    right = columns - left
    # a place of all images lies together
    pixels = x.flatten(1).t().to(torch.float64, memory_format=torch.contiguous_format)
    result = torch.zeros(rows.numel(), len(x), dtype=torch.float64)
    for i, across in ((top, 1 - down), (top + 1, down)):
        for j, along in ((left, 1 - right), (left + 1, right)):
            place, share = _inside(i, j, across * along, *x.shape[1:])
            result += pixels.index_select(0, place).mul_(share)
    return result.t().to(torch.float32, memory_format=torch.contiguous_format).view(len(x), *rows.shape)


def _inside(i, j, share, height, width):
    """The numbers of these pixels in the flattened image (m·n,), and their shares (m·n, 1); those outside are pixel 0
    with share 0.
    """
    inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
    place = torch.where(inside, i * width + j, 0.0)
    return place.long().flatten(), torch.where(inside, share, 0.0).view(-1, 1)
