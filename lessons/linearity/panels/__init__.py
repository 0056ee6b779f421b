"""The pictures: `mlp`, `units`, `causes`, `elsewhere`, and those of any sweep over pairs, α and layers, `lines`."""
from lessons.lines import panels as lines
from lessons.linearity.panels import causes, elsewhere, mlp, units
