"""Images as CLIP was given them: 224 pixels, bicubic, its own mean and deviation.

Pillow resizes, as it did in training: torch's bicubic answers differ from its by up to 32 of 255 grey levels.
"""
import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

MEAN = (0.48145466, 0.4578275, 0.40821073)  # per channel (Radford et al. 2021, their code)
DEVIATION = (0.26862954, 0.26130258, 0.27577711)


def prepared(images: Tensor, size: int = 224) -> Float[Tensor, "samples 3 size size"]:
    """Images as a tower takes them: the shorter side resized to `size`, the middle cut out, normalised per channel.

    Args:
        images: (samples, height, width) grey or (samples, 3, height, width) in colour; uint8 in 0 … 255, or
            floating-point in 0 … 1.

    Raises:
        ValueError: another shape, or floating-point values outside 0 … 1 (normalised images, for one).
    """
    pixels = _bytes(images)
    resized = torch.stack([torch.from_numpy(_one(image, size)) for image in pixels])
    mean, deviation = (torch.tensor(constant)[:, None, None] for constant in (MEAN, DEVIATION))
    return resized.permute(0, 3, 1, 2).to(torch.float32).div_(255).sub_(mean).div_(deviation)


def _bytes(images):
    """(samples, height, width) or (samples, height, width, 3) in uint8."""
    grey = images.ndim == 3
    if not grey and not (images.ndim == 4 and images.shape[1] == 3):
        raise ValueError("images must have the shape (samples, height, width) or (samples, 3, height, width), not "
                         f"{tuple(images.shape)}")
    if images.dtype != torch.uint8:
        if not len(images) or images.min() < 0 or images.max() > 1:
            raise ValueError("floating-point images must lie in 0 … 1: undo their normalisation first")
        images = (images * 255).round().to(torch.uint8)
    return np.ascontiguousarray((images if grey else images.permute(0, 2, 3, 1)).cpu().numpy())


def _one(image, size):
    """An image (size, size, 3) in uint8, from (height, width) or (height, width, 3)."""
    height, width = image.shape[:2]
    shorter = min(height, width)
    longer_side = [int(size * side / shorter) for side in (width, height)]
    resized = Image.fromarray(image).convert("RGB").resize(longer_side, Image.Resampling.BICUBIC)
    left, top = ((side - size) // 2 for side in resized.size)
    return np.array(resized.crop((left, top, left + size, top + size)))
