"""The pictures of chapter 9, a file for every experiment; `caption` says what one was measured on."""
from lessons.kit.sweep import caption
from lessons.sail.panels import depth, gamma, kinds, overlap, playground, spirals, table, theory, width
