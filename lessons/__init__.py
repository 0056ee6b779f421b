"""What the chapters teach: one package a chapter, and the rooms that all chapters share."""
import data  # noqa: F401  first, since it remembers what is imported after it
