"""The pictures: of all `pairs`, of `steps`, `causes` and `amounts`, and those of any sweep over pairs, α and layers,
`lines`."""
from lessons.lines import panels as lines
from lessons.resnet.panels import amounts, causes, pairs, steps
