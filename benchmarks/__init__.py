"""Speed, measured in one run: `python -m benchmarks` (`make bench`); and JupyterLab in Chromium, driven as a learner would."""
