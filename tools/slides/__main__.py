"""`python -m tools.slides`."""
from tools.slides import main

main()
