"""The experiments: `mlp` (chapter 1, Rotated MNIST) and `resnet` (chapter 2, Split CIFAR-100).

`lines` holds what both say of their lines, `resnet_line` how one line between two ResNets is measured.
"""
from lessons.linearity.experiment import lines, mlp, resnet, resnet_line
