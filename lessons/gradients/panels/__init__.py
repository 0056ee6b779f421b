"""The pictures of chapter 6: of `steps`, their plane, the bound and other optimisers (`expansion`), and of `epochs` and rounds of merging."""
