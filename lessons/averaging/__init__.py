"""Chapter 3: averaged weights, logits ensembles and soups (CTL, §4.2)."""
