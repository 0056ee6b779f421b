"""The mathematics of the chapter, one file a question: how BERT cuts a text into word pieces, and its forward pass."""
