"""The pages and charts of studies.

Charts (`bars`, `dots`, `grid`, `lines`) are drawn from tidy rows: one measurement a row. Lines and
bars show the mean of the rows that agree in everything that is drawn, with how far they are apart,
from the least to the most; dots show every row, and a grid prints them. Series differ in colour and
in shape, also on a grey printer, and what a paper prints stands beside as hollow marks.
"""
