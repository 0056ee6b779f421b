"""The pictures of chapter 11, a file for every experiment; `caption` says what one was measured on."""
from lessons.kit.sweep import caption
from lessons.linearization.panels import flow, kernel, lora, merging, near, rule, subsets, tangent
