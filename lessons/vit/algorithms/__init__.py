"""The mathematics of the chapter."""
