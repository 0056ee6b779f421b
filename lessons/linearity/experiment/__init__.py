"""The experiments: `mlp` (chapter 1, Rotated MNIST) and `resnet` (chapter 2, Split CIFAR-100).

`causes` and `resnet_causes` ask why CTL is missed, `elsewhere` how it does on other data than chapter 1's,
`resnet_amounts` how much pretraining it takes, `resnet_steps` what one small step does. `lines` holds what both
chapters say of their lines, `resnet_line` how one line between two ResNets is measured.
"""
from lessons.linearity.experiment import (causes, elsewhere, lines, mlp, resnet, resnet_amounts, resnet_causes,
                                          resnet_line, resnet_steps)
