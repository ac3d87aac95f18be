"""Benchmarks: `python -m bench [names…]`. Each prints a table and adds a JSON line to bench/results/.

They measure from the origin's side only (its access log), so what a crawler says of itself does not
count. Figures of different machines, or of one machine while others use it, cannot be compared: look at
the ratios, which come from the same run on the same web.
"""
