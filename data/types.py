"""What every loader returns."""
import hashlib
import math
import numbers
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Source:
    """Where the numbers of a dataset come from.

    Attributes:
        kind: "official" (the published files, digests checked), "stand-in" (something else in their place) or
            "generated".
        text: a short description for captions, for example "MNIST (official files)".
        digest: hexadecimal; equal digests mean equal tensors. Part of every recipe, so models never mix two sources.
        reason: why a stand-in was taken; empty otherwise.
    """
    kind: str
    text: str
    digest: str
    reason: str = ""

    @property
    def is_stand_in(self) -> bool:
        """True where this is not what its name promises."""
        return self.kind == "stand-in"

    def __str__(self):
        return f"{self.text}{f' — {self.reason}' if self.reason else ''}"


@dataclass(frozen=True)
class Dataset:
    """Inputs x (samples, …) in float32, labels y (samples,) in int64, and their source."""
    x: Tensor
    y: Tensor
    source: Source

    def __len__(self):
        return len(self.x)

    def spread(self, count: int) -> "Dataset":
        """So many samples, spread evenly over the set, as views; all of them where there are fewer.

        Raises:
            ValueError: count is not a whole number of at least 1.
        """
        count = checked_whole("count", count, 1)
        every = slice(None, None, max(1, len(self) // count))
        return Dataset(self.x[every][:count], self.y[every][:count], self.source)


def digest(*parts) -> str:
    """Sixteen hexadecimal digits of SHA-256 over the parts' text, or bytes where a part is bytes."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part if isinstance(part, bytes) else str(part).encode())
        hasher.update(b"\0")
    return hasher.hexdigest()[:16]


def checked_angle(angle) -> float:
    """The angle as a float.

    Raises:
        ValueError: it is not a finite number.
    """
    try:
        if isinstance(angle, numbers.Real) and not isinstance(angle, bool) and math.isfinite(angle):
            return float(angle)
    except OverflowError:  # a whole number beyond the floats
        pass
    raise ValueError(f"angle must be a finite number of degrees, not {angle!r}")


def checked_whole(name: str, value, least: int, most: int | None = None) -> int:
    """The value as an int.

    Raises:
        ValueError: it is not a whole number of at least `least` and, where `most` is given, at most `most`; the message
            begins with `name`.
    """
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    allowed = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
    raise ValueError(f"{name} must be a whole number {allowed}, not {value!r}")


def checked_share(name: str, value) -> float:
    """The value as a float.

    Raises:
        ValueError: it is not a number from 0 to 1; the message begins with `name`.
    """
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 <= value <= 1:  # type: ignore[operator]
        return float(value)
    raise ValueError(f"{name} must be a share from 0 to 1, not {value!r}")
