"""The experiments. In float64, on a few samples: `plane`, `steps`, `bound`, `optimisers`, with what they share in `common`. On trained networks: `epochs`, `rounds`."""
