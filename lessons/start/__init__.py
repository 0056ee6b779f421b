"""Chapter 0: where the course runs, and its one formula on networks small enough to see through."""
