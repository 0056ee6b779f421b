"""`python -m tools.book` writes the book."""
import sys

from tools.book import main

sys.exit(main())
