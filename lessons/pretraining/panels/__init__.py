"""The pictures of chapter 5: of `starts` and matching, of shuffled `labels`, of `curvature`, and of the `resnet`s;
`drawings` of what it talks about."""
from lessons.kit.sweep import caption
from lessons.pretraining.panels import curvature, drawings, labels, resnet, starts
