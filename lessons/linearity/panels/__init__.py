"""The pictures: `between`, `mlp`, `midpoint`, `units`, `causes`, `elsewhere`, and `lines`, which is
`lessons.lines.panels`."""
from lessons.lines import panels as lines
from lessons.linearity.panels import between, causes, elsewhere, midpoint, mlp, units
