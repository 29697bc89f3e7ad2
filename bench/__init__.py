"""Speed, memory and loss as ratios measured in one run: ``python -m bench [NAME ...]``."""
