"""Chapter 6: a task vector is a gradient, nearly; what the difference is, and what follows for merging (TVG)."""
