"""What two views share: the axis of γ."""
from lessons.kit.view import Axis

ENDS = (-1.0, 2.0)  # of γ in the whole chapter
GAMMA = Axis("γ, the share of A", *ENDS, ticks={-1: "−1", 0: "0", 0.5: "½", 1: "1", 2: "2"})
