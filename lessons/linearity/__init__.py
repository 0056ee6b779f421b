"""Chapter 1: linear mode connectivity, layerwise linear feature connectivity and cross-task linearity (CTL, §3–4.1)."""
