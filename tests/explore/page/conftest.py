"""A small real fit, and a browser."""

import os
import shutil
import warnings

import numpy as np
import pytest
from scipy import sparse

from cormorant import CNPF, Counts
from cormorant.estimators import TruncationWarning

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def counts():
    """Thirty rows, half of which show the first five columns and half the others."""
    rates = np.kron(np.eye(2), np.ones((15, 5))) * 3 + 0.2
    found = Counts.from_csr(sparse.csr_matrix(np.random.default_rng(0).poisson(rates)))
    return found.named([f"row-{i}" for i in range(30)], [f"c{i}" for i in range(10)])


@pytest.fixture(scope="session")
def fitted(counts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)  # a toy has no components to spare
        return CNPF(n_components=4, n_dims=2, inference="structured", max_epochs=10, random_state=0).fit(counts)


@pytest.fixture(scope="module")  # it runs an event loop, which must not be there in others' tests
def browser():
    """Headless Chromium, where there is one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pages are tested with playwright: pip install it")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    # Chromium's sandbox does not work for root, who runs the tests in containers.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Opens an address; the test fails if the page reports an error or opens a dialog."""
    complaints, tabs = [], []

    def open_page(address, **settings):
        tab = browser.new_page(**{"viewport": {"width": 1200, "height": 800}, **settings})
        tabs.append(tab)
        tab.set_default_timeout(10_000)
        tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("dialog", lambda dialog: (complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        tab.goto(str(address))
        return tab

    yield open_page
    for tab in tabs:
        tab.close()
    assert complaints == []
