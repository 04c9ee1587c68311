"""The interactive page: one HTML file with everything in it, which works offline.

`document` gathers what the page knows as plain values, `render` puts them and the files of `assets/` into one text,
`write` saves it. `cormorant.explore.serve` shows the same page with a look-up of rows.
"""

from cormorant.explore.page.document import document
from cormorant.explore.page.render import render, write

__all__ = ["document", "render", "write"]
