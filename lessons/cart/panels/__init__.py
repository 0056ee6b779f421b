"""The pictures of chapter 8, one file a question."""
from lessons.cart.panels import bell, costs, interference, overlap, peak, plane, resnet, width
from lessons.kit.sweep import caption
