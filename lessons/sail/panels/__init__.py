"""The pictures of chapters 9 and 10, mostly a file for every experiment, `kinds` for those on other networks and data;
`caption` says what one was measured on."""
from lessons.kit.sweep import caption
from lessons.sail.panels import (between, copies, depth, gamma, kinds, knowledge, overlap, playground, rates,
                                 spirals, table, tasks, theory, width)
