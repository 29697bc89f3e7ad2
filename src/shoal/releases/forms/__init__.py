"""One file per form: what is published of a table."""
