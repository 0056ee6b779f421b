"""The experiments: `mlp` (chapter 1, Rotated MNIST), `resnet` (chapter 2, Split CIFAR-100), and what both measure along `lines`."""
