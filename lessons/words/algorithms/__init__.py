"""The mathematics of the chapter, one file a question: how BERT cuts a text into word pieces, its
forward pass, the loss of masked words, why keys need no bias, what a tangent sees of a new head, what
it costs to choose on few sentences, and text letter by letter."""
