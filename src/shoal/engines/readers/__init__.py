"""The doors where tables come in, one file per kind of source."""
