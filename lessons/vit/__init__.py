"""Chapter 11: the same questions asked of transformers: a small ViT, CLIP's checkpoints, and your own."""
