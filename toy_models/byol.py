"""BYOL, "bootstrap your own latent" (Grill et al. 2020): two views of an image, two networks, and no label.

The online network (encoder, projector, predictor) learns to say what the target network (encoder, projector) makes of
the other view; the target follows the online network as a running average.
"""
import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from data.types import checked_share, checked_whole
from toy_models.losses import unlike  # noqa: F401  the loss that goes with it

SHIFT = 2  # pixels by which a view is moved, at most
NOISE = 0.1


def projector(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Two linear layers with BatchNorm and a ReLU between: what stands behind an encoder while it learns."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def encoder(width: int) -> nn.Sequential:
    """Three convolutions with BatchNorm for grey images, then the mean over the image: 4·width features."""
    layers, inputs = [], 1
    for outputs in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(inputs, outputs, 3, 1 if inputs == 1 else 2, 1, bias=False), nn.BatchNorm2d(outputs),
                   nn.ReLU()]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


class BYOL(nn.Module):
    """Both networks; the state dict holds `encoder.…`, `projector.…`, `predictor.…` and, of the target,
    `target_encoder.…`, `target_projector.…`.

    Args:
        width: channels of the encoder's first layer, at least 8.
        projected: units of what the projectors give.
        follow: the share of itself that the target keeps at every step.
    """

    def __init__(self, width: int = 16, projected: int = 32, follow: float = 0.99):
        super().__init__()
        width = checked_whole("width", width, 8)
        self.follow = checked_share("follow", follow)
        self.encoder, self.target_encoder = encoder(width), encoder(width)
        self.projector, self.target_projector = (projector(4 * width, 8 * width, projected) for _ in range(2))
        self.predictor = projector(projected, 8 * width, projected)
        self._to_target(0.0)
        for part in (self.target_encoder, self.target_projector):
            part.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        """The online encoder's features (samples, 4·width) of images (samples, height, width)."""
        return self.encoder(x[:, None])

    def compare_views(self, x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """(what the online network predicts, what the target makes of the other view), each of both views, (2·samples,
        projected); the target follows first.
        """
        self._to_target(self.follow)
        a, b = view(x, generator), view(x, generator)
        predicted = self.predictor(self.projector(self(torch.cat([a, b]))))
        with torch.no_grad():
            wanted = self.target_projector(self.target_encoder(torch.cat([b, a])[:, None]))
        return predicted, wanted.to(x.dtype)

    @torch.no_grad()
    def _to_target(self, keep):
        pairs = ((self.encoder, self.target_encoder), (self.projector, self.target_projector))
        for online, target in pairs:
            for a, b in zip(online.parameters(), target.parameters()):
                b.lerp_(a.detach(), 1 - keep)


def view(x: Tensor, generator: Generator) -> Tensor:
    """Images (samples, height, width) as they might also look: moved by up to two pixels, mirrored or not, brighter or
    darker, with some noise.
    """
    n, height, width = x.shape
    drawn = torch.rand(4, n, generator=generator, dtype=torch.float64).to(x)
    padded = F.pad(x, (SHIFT,) * 4)
    # in float32 a number just below 1 is 1, once in thirty million
    down, right = ((drawn[i] * (2 * SHIFT + 1)).long().clamp(max=2 * SHIFT) for i in (0, 1))
    rows = down[:, None] + torch.arange(height, device=x.device)
    columns = right[:, None] + torch.arange(width, device=x.device)
    columns = torch.where(drawn[2, :, None] < 0.5, columns, columns.flip(1))
    moved = padded[torch.arange(n, device=x.device)[:, None, None], rows[:, :, None], columns[:, None, :]]
    noise = torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x)
    return moved * (0.6 + 0.8 * drawn[3, :, None, None]) + NOISE * noise
