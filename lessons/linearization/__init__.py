"""Chapter 11: stay near, and finetuning becomes linear? A network and its tangent, what the kernel predicts, what the
theorems promise (LFT), and whether linearity is why merging works."""
