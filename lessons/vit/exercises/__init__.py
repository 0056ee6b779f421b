"""The exercises of chapters 12 and 13: `transformer`, about the small ViT; `files`, about checkpoints, names, heads,
published tables and LoRA."""
from lessons.vit.exercises import files, transformer

EXERCISES = [*transformer.EXERCISES, *files.EXERCISES]
