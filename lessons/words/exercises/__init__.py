"""The exercises of chapter 14: `reading`, about word pieces, means and masked words; `choosing`, about keys, tangents
and ranks."""
from lessons.words.exercises import choosing, reading

EXERCISES = [*reading.EXERCISES, *choosing.EXERCISES]
