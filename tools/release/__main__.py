"""`python -m tools.release` writes the archive for class rooms without a network."""
import sys

from tools.release import main

sys.exit(main())
