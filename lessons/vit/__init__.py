"""Chapters 12 and 13: the same questions asked of transformers: a small ViT, CLIP's checkpoints, and your own."""
