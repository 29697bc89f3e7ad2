"""The nouns: frozen values that parse text and open no table."""
