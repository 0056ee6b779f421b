"""The pictures: of all `pairs`, of `heads` and `channels`, of `steps`, `causes` and `amounts`, and `lines`, which is
`lessons.lines.panels`."""
from lessons.lines import panels as lines
from lessons.resnet.panels import amounts, causes, channels, heads, pairs, steps
