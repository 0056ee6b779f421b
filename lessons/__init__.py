"""What the chapters teach: one package a chapter, and the rooms that all chapters share."""
