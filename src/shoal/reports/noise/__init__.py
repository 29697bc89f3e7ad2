"""Reports on releases that noise makes."""
