"""The experiments: `mlp` (Rotated MNIST), `causes` (why CTL is missed), `elsewhere` (other data)."""
from lessons.linearity.experiment import causes, elsewhere, mlp
