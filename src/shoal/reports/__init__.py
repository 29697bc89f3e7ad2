"""Reports: JSON first; the HTML page and its charts are renderings of it."""
