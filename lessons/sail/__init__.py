"""Chapter 9: a head start. When is an average of networks a good place to begin training (SAIL)?"""
