"""The pictures: `mlp`, `units`, `causes`, `elsewhere` (chapter 1), `resnet` (chapter 2), and those of any sweep over
pairs, α and layers, `lines`."""
from lessons.linearity.panels import causes, elsewhere, lines, mlp, resnet, units
