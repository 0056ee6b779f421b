"""The pictures of chapter 8, mostly a file a question; `drawn`: the objects themselves; `costs`: how many tasks, and
how many bytes."""
from lessons.cart.panels import (
    bell,
    centring,
    costs,
    directions,
    drawn,
    interference,
    levels,
    overlap,
    parts,
    peak,
    plane,
    resnet,
    width,
)
from lessons.kit.sweep import caption
