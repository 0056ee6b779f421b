"""The exercises of chapter 11: `transformer`, about the small ViT; `files`, about checkpoints, heads, published tables
and LoRA."""
from lessons.vit.exercises import files, transformer

EXERCISES = sorted([*files.EXERCISES, *transformer.EXERCISES], key=lambda exercise: exercise.id)
