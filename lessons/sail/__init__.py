"""Chapters 9 and 10: a head start, and growing. When is an average of networks a good start of training (SAIL)?"""
