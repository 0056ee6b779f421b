"""The experiments: `starts` (what two networks have in common before they are finetuned; matching), `labels` (pretraining on shuffled labels), `curvature`
(Theorem 1 and its regression), `resnet` (the first of these on ResNet-18), and the measurement along a `line` that they share."""
