"""Screenshots of the interactive page, for README and docs.

    python examples/screenshots.py [--fit FIT] [--out FOLDER]

fits CNPF to the New York Times sample (a minute or two on two cores), or takes a saved model, and writes
docs/figures/page-*.png, or to FOLDER. It needs the package playwright and a Chromium (apt-get install chromium).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cormorant import CNPF, load, load_nyt
from cormorant.estimators import TruncationWarning
from cormorant.explore import page

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Heights at which the list at the right ends with a whole line.
DESKTOP, HIGHER, PHONE = {"width": 1280, "height": 768}, {"width": 1280, "height": 800}, {"width": 375, "height": 812}


def graph(tab: Any) -> None:
    """The page as it opens."""


def component(tab: Any) -> None:
    """A component with what goes together with it and what avoids it."""
    tab.locator(".node").nth(20).click()
    tab.mouse.move(0, 0)


def heatmap(tab: Any) -> None:
    """All correlations, one cell pointed at."""
    tab.click("#tab-heatmap")
    tab.hover("#heatmap-cells", position={"x": 100, "y": 60})


# Name: what to do first, size of the window, colour scheme.
SHOTS: dict[str, tuple[Callable[[Any], None], dict[str, int], str]] = {
    "component": (component, DESKTOP, "light"),
    "heatmap": (heatmap, HIGHER, "dark"),
    "phone": (graph, PHONE, "light"),
}


def fit() -> Any:
    """The sample in fifty components, which are enough for a picture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return CNPF(n_components=50, n_jobs=-1, random_state=1).fit(load_nyt())


def find_chromium() -> str:
    """The browser, asked for before a fit is spent on pictures that cannot be taken."""
    return next(filter(None, map(shutil.which, BROWSERS)), None) or sys.exit("no Chromium: apt-get install chromium")


def shoot(model: Any, folder: Path, chromium: str) -> None:
    """Write the page, open it in each way, keep what is seen."""
    from playwright.sync_api import sync_playwright

    # Chromium's sandbox does not work for root.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as workshop, sync_playwright() as driver:
        address = page.write(model, Path(workshop) / "page.html", title="New York Times articles").as_uri()
        browser = driver.chromium.launch(executable_path=chromium, args=arguments)
        for name, (prepare, size, theme) in SHOTS.items():
            tab = browser.new_page(viewport=size, color_scheme=theme)  # pyright: ignore[reportArgumentType]
            tab.goto(address)
            prepare(tab)
            tab.wait_for_timeout(200)  # a frame or two, to draw
            tab.screenshot(path=folder / f"page-{name}.png")
            tab.close()
            print(f"wrote {folder / f'page-{name}.png'}")
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Screenshots of the interactive page.")
    parser.add_argument("--fit", type=Path, help="a saved model; without one the sample is fitted")
    parser.add_argument("--out", type=Path, default=FIGURES, help="folder for the pictures")
    given = parser.parse_args()
    browser = find_chromium()
    shoot(load(given.fit) if given.fit else fit(), given.out, browser)
