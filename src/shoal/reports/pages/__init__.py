"""Pages beside the report of a release: plain numbers in, sections out."""
