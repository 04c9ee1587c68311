"""`cormorant explore`: the page as a file, or served."""

import json
import os
import re
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest


def test_the_page(cormorant, fit_folder, workplace):
    ran = cormorant("explore", fit_folder, "--out", "page.html", "--title", "Rows <and> columns", "--among", 4)
    assert ran.code == 0
    assert "Written to page.html" in ran.err
    text = (workplace / "page.html").read_text()
    assert text.startswith("<!doctype html>")
    assert "Rows \\u003cand\\u003e columns" in text
    record = json.loads((workplace / "page.html.run.json").read_text())
    assert (record["command"], record["fit"], record["among"]) == ("explore", str(fit_folder), 4)


def test_it_is_named_after_the_fit(cormorant, fit_folder, workplace):
    assert cormorant("explore", fit_folder, "--json").json["out"] == "cnpf.html"
    refused = cormorant("explore", fit_folder)
    assert refused.code == 2
    assert "cnpf.html exists" in refused.err
    assert cormorant("explore", fit_folder, "--force").code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--serve", "--out", "page.html"], "--out and --serve exclude each other"),
        (["--port", "8000"], "--port is for --serve"),
        (["--counts", "nyt"], "--counts is for --serve"),
        (["--serve", "--counts", "nyt"], "columns of the fit"),
        (["--out", "."], "--out must name a path to write to"),
        (["--among", "0"], "--among"),
    ],
)
def test_refusals(cormorant, fit_folder, workplace, options, said):
    ran = cormorant("explore", fit_folder, *options)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(workplace.iterdir()) == []


def test_a_port_that_is_taken(cormorant, fit_folder):
    import socket

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ran = cormorant("explore", fit_folder, "--serve", "--port", other.getsockname()[1])
    assert ran.code == 1
    assert "choose another port" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_serving_ends_with_an_interrupt(fit_folder, counts_file):
    command = [sys.executable, "-c", "from cormorant.cli import main; main()", "explore", str(fit_folder), "--serve",
               "--counts", str(counts_file)]  # fmt: skip
    listens = {
        "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    }  # also where the tests run with & behind
    environment = {**os.environ, "COLUMNS": "200"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, **listens) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline()
            url = re.search(r"http://127\.0\.0\.1:\d+/", said)
            assert url, said
            profile = json.load(urlopen(f"{url[0]}api/row/3", timeout=30))
            assert profile["components"]
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0
        assert server.stderr.read() == ""
