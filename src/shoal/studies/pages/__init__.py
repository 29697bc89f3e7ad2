"""The pages and charts of studies."""
