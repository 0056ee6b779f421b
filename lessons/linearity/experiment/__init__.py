"""The experiments: `mlp` (chapter 1, Rotated MNIST) and `resnet` (chapter 2, Split CIFAR-100).

`causes` asks why CTL is missed, `elsewhere` how it does on other data than chapter 1's. `lines` holds what both say of
their lines, `resnet_line` how one line between two ResNets is measured.
"""
from lessons.linearity.experiment import causes, elsewhere, lines, mlp, resnet, resnet_line
