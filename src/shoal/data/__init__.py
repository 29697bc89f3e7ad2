"""Get the papers' data sets: downloaded once, checked, and kept in the form that studies read."""

from shoal.data.data_folder import datasets
from shoal.data.download import Fetched, fetch

__all__ = ["Fetched", "datasets", "fetch"]
