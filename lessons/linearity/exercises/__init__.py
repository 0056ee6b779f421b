"""The exercises of chapter 1 (`mlp`) and chapter 2 (`resnet`)."""
