"""Charts: plain numbers in, a Vega-Lite specification out. `theme` alone draws."""
