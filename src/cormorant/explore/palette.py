"""Colours of all figures and of the page: distinct to colour-blind readers and in print."""

# Okabe and Ito's palette.
BLUE, ORANGE, GREEN, PINK, SKY, YELLOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
CYCLE = (BLUE, ORANGE, GREEN, PINK, SKY, YELLOW)
INK, GREY, PALE = "#222222", "#BBBBBB", "#E4E4E4"

# The ends of the purple-orange scale: what goes together is purple, what avoids each other orange.
DIVERGING = "PuOr"
TOGETHER, APART = "#542788", "#B35806"

# The same meanings on the page's dark ground.
DARK_TOGETHER, DARK_APART, DARK_BLUE = "#B79CF0", "#F5A14B", "#62B6E8"

SEQUENTIAL = "cividis"  # for amounts
