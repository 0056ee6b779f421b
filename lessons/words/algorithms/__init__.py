"""The mathematics of the chapter, one file a question: how BERT cuts a text into word pieces, its
forward pass, and text letter by letter."""
