"""Get the papers' data sets: downloaded once, checked, and kept in the form that studies read.

``known`` says which data sets there are and what is in their files, ``terms`` under which licences,
``place`` where they lie. ``archive`` gets the files as the UCI archive has them, ``converted``
makes tables with a header of them, ``verb`` does all of it. Nothing else in Shoal downloads.
"""

from shoal.data.data_folder import datasets
from shoal.data.download import Fetched, fetch

__all__ = ["Fetched", "datasets", "fetch"]
