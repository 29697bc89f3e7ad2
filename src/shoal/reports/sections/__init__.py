"""The parts of a report: what is measured for each."""
