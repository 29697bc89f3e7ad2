"""What each column of a text table is, judged on all its values."""
