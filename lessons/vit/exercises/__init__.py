"""The exercises of chapter 11: `files`, about checkpoints, heads, published tables and LoRA."""
