"""From the document to one HTML text: everything inline, names as data, nothing but our own script may run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from cormorant.explore import palette
from cormorant.explore.files import new_path
from cormorant.explore.fitted import FittedModel
from cormorant.explore.page.document import document

ASSETS = files("cormorant.explore.page") / "assets"
# One script of one module, in this order; each file may use the names of those before it.
SCRIPTS = (
    "dom.js",
    "data.js",
    "state.js",
    "labels.js",
    "view.js",
    "edges.js",
    "graph.js",
    "heatmap.js",
    "sticks.js",
    "lists.js",
    "panel.js",
    "cards.js",
    "combobox.js",
    "search.js",
    "rows.js",
    "main.js",
)
# Characters that could end the script element or begin a comment in it; the JSON means the same.
UNSAFE = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}


def write(
    model: FittedModel,
    path: str | Path,
    *,
    title: str | None = None,
    among: int | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the page to one file, whole or not at all, and return its path.

    Args:
        model: A fitted estimator.
        path: The file, for example page.html.
        title: Heading of the page; None names the model.
        among: How many of the most used components to show; None takes those in use, at most 300.
        overwrite: Whether an existing file is replaced.
    """
    with new_path(path, overwrite) as made:
        made.write_text(render(document(model, title=title, among=among)), encoding="utf-8")
    return Path(path)


def render(content: dict[str, Any]) -> str:
    """The page that shows this document."""
    colours = {f"@{name}@": value for name, value in vars(palette).items() if str(value).startswith("#")}
    style = _fill(_asset("page.css"), colours)
    script = "\n".join(_asset(name) for name in SCRIPTS)
    parts = {
        "@POLICY@": _policy(style, script, served=content["served"]),
        "@STYLE@": style,
        "@DATA@": embedded(content),
        "@SCRIPT@": script,
        **{name: str(value).removeprefix("#") for name, value in colours.items()},  # of the icon, an address
    }
    return _fill(_asset("page.html"), parts)


def _fill(text: str, parts: dict[str, Any]) -> str:
    """Put the parts where the text names them; it is cut once, so nothing that is put in is looked at again."""
    return "".join(str(parts.get(piece, piece)) for piece in re.split("(@[A-Z_]+@)", text))


def embedded(content: Any) -> str:
    """JSON that is safe inside a script element: ASCII only, without <, > and &, whatever the names hold."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).translate(UNSAFE)


def _policy(style: str, script: str, *, served: bool) -> str:
    """Content-Security-Policy: this script and this style and nothing else; no text becomes markup."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "connect-src 'self'" if served else "connect-src 'none'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
