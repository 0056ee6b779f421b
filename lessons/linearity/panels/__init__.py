"""The pictures: `mlp`, `units`, `causes`, `elsewhere`, and `lines`, which is `lessons.lines.panels`."""
from lessons.lines import panels as lines
from lessons.linearity.panels import causes, elsewhere, mlp, units
