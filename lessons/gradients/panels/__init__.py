"""The pictures of chapter 6, a file for every experiment; `caption` says what one was measured on."""
from lessons.gradients.panels import bound, epochs, optimisers, places, plane, rounds, steps
from lessons.kit.sweep import caption
