"""Checkpoints that other people made: opened safely, fetched by digest, brought to one layout of names, looked at, and
merged from files to files. `python -m lessons.checkpoints` does it on the command line.
"""
from lessons.checkpoints import adapters, naming
from lessons.checkpoints.fetching import fetch
from lessons.checkpoints.folders import Checkpoint, opened
from lessons.checkpoints.looking import look
from lessons.checkpoints.naming import Renamed, renamed
from lessons.checkpoints.opening import CheckpointError
from lessons.checkpoints.together import Without
from lessons.checkpoints.writing import card_of, merge, merge_once

__all__ = ["Checkpoint", "CheckpointError", "Renamed", "Without", "adapters", "card_of", "fetch", "look", "merge",
           "merge_once", "naming", "opened", "renamed"]
