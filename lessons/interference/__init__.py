"""Chapter 7: how task vectors get in each other's way, and many ways to merge nevertheless (CART, §2 and §5; TVG)."""
