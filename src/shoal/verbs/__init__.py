"""The path: one file per verb, a function from a request to a result.

Only this room knows the order of the steps: open, fit the schema, encode, make, settle, write,
verify, move into place.
"""
