"""The pictures: `mlp`, `units`, `causes`, `elsewhere` (chapter 1), `resnet`, `resnet_steps`, `resnet_causes`,
`resnet_amounts` (chapter 2), and those of any sweep over pairs, α and layers, `lines`."""
from lessons.linearity.panels import (causes, elsewhere, lines, mlp, resnet, resnet_amounts, resnet_causes,
                                      resnet_steps, units)
