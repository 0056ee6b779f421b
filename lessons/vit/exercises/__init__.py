"""The exercises of chapter 11: `transformer`, about the small ViT."""
from lessons.vit.exercises import transformer

EXERCISES = [*transformer.EXERCISES]
