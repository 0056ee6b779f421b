"""The pictures of chapter 5: of `starts` and matching, of shuffled `labels`, and of `curvature`."""
