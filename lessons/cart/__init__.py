"""Chapter 8: centred task vectors of low rank, and when they help (CART, §4 and appendices A to E)."""
