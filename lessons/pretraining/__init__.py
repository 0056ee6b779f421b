"""Chapter 5: why pretraining matters, by networks that share none, by shuffled labels, and by the curvature of the
loss."""
