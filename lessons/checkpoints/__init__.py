"""Checkpoints: opened safely, fetched by digest, brought to one layout of names, looked at and merged from files."""
