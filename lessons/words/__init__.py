"""Chapter 14: does all of this hold for text? (CTL, CART, LFT)"""
