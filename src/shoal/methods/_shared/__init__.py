"""What several methods share, whichever way they make classes."""
