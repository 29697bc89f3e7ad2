"""The sections of a report: what is measured for each, and how it is shown."""
