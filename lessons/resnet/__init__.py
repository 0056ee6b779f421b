"""Chapter 2: whether CTL holds for a ResNet-18 on Split CIFAR-100, and what BatchNorm does (CTL, §4.1 and B.1.1)."""
