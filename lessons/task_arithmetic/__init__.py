"""Chapter 4: task vectors, their arithmetic in weights and in features, and stitched networks (CTL, §4.3)."""
