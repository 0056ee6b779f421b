"""The pictures of chapter 8, mostly a file a question; `costs`: how many tasks, and how many bytes."""
from lessons.cart.panels import bell, costs, directions, interference, overlap, peak, plane, resnet, width
from lessons.kit.sweep import caption
