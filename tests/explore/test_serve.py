"""The server: what it answers, and whom."""

import http.client
import json
import logging
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from cormorant.data import Matrix
from cormorant.datasets.features import simulate_features
from cormorant.estimators import IBP
from cormorant.explore.serve import ADDRESS, make_server, serve
from cormorant.models.features import LIKELIHOODS

from .page.models import small


@contextmanager
def answering(server):
    """A server that answers while one asks."""
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server():
    with answering(make_server(small())) as server:
        yield server


def ask(server, path, method="GET", **headers):
    connection = http.client.HTTPConnection(ADDRESS, server.server_port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_the_page(server):
    answer, body = ask(server, "/")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert b'"served":true' in body


def test_rows(server):
    answer, body = ask(server, "/api/rows?query=sec")
    assert answer.status == 200
    assert json.loads(body) == {"rows": [{"row": 1, "name": "second"}], "total": 1}
    assert json.loads(ask(server, "/api/rows")[1])["rows"] == []
    profile = json.loads(ask(server, "/api/row/1")[1])
    assert profile["name"] == "second"


def test_rows_that_stand_for_a_component_can_be_looked_up_among_those_held_out(counts, fitted):
    """They bear the numbers that they have among the rows given, not those that they had in the fit."""
    moved = counts.rows(np.r_[np.arange(3), np.arange(len(counts))]).named(
        row_names=["new", "newer", "newest", *counts.row_names]
    )
    with make_server(fitted, counts=moved) as server:
        shown = json.loads(re.search(rb'id="data"[^>]*>(.*?)</script>', server.page)[1])
    assert shown["rowsLinked"]
    for component in shown["components"]:
        for number, name, _ in component["rows"]:
            assert moved.row_names[number] == name


@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_rows_of_a_matrix_are_looked_up_by_their_features(likelihood):
    """What a row shows, would show next and is missing; real numbers have no next, but a background."""
    drawn = simulate_features(likelihood=likelihood, n_rows=40, n_columns=15, n_components=3, seed=1).y.astype(float)
    drawn[7, [2, 5]] = np.nan
    columns = np.array([f"c{i}" for i in range(15)], dtype=object)
    matrix = Matrix(drawn, np.array([f"r{u}" for u in range(40)], dtype=object), columns)
    model = IBP(6, likelihood=likelihood, n_starts=1, n_sweeps=40, n_samples=4, random_state=0).fit(matrix)
    with answering(make_server(model, counts=matrix)) as server:
        assert b'"rowsLinked":true' in server.page
        assert json.loads(ask(server, "/api/rows?query=r7")[1])["rows"] == [{"row": 7, "name": "r7"}]
        whole, holes = (json.loads(ask(server, f"/api/row/{row}")[1]) for row in (6, 7))
    assert holes["name"] == "r7"
    probability = model.transform(matrix.rows([7]))[0]
    assert holes["components"][0]["share"] == pytest.approx(probability.max(), rel=1e-3)
    expected = dict(zip(columns, model.predict_mean(matrix.rows([7]))[0], strict=True))
    called = "probability" if likelihood == "bernoulli" else "expected"
    assert {line["name"]: line[called] for line in holes["missing"]} == pytest.approx(
        {name: expected[name] for name in ("c2", "c5")}, rel=1e-3
    )
    assert "missing" not in whole
    if likelihood == "gaussian":
        furthest = np.argsort(-np.abs(drawn[6] - model.background_))
        assert [line["name"] for line in whole["shows"]] == [f"c{i}" for i in furthest[:12]]
        assert "next" not in whole
        return
    assert {line["name"] for line in whole["shows"]} <= {f"c{i}" for i in np.flatnonzero(drawn[6])}
    assert whole["shows"][0]["count"] == drawn[6].max()
    assert {line["name"] for line in holes["next"]} <= {f"c{i}" for i in np.flatnonzero(drawn[7] == 0)}
    assert [line[called] for line in whole["next"]] == sorted((line[called] for line in whole["next"]), reverse=True)


@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_a_matrix_must_have_the_columns_of_the_fit():
    y = np.random.default_rng(0).normal(size=(20, 4))
    names = np.array(list("abcd"), dtype=object)
    model = IBP(3, n_starts=1, n_sweeps=4, n_samples=1, random_state=0).fit(Matrix(y, None, names))
    with pytest.raises(ValueError, match="the columns in another order"):
        make_server(model, counts=Matrix(y, None, names[::-1]))
    with pytest.raises(ValueError, match="covariates must be left out"):
        make_server(model, counts=y, covariates=y)


def test_only_loopback(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.server_port}/"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", "localhost:80.evil.example"])
@pytest.mark.parametrize("path", ["/", "/api/row/1"])
def test_other_hosts_are_refused(server, host, path):
    answer, body = ask(server, path, Host=host)
    assert answer.status == 421
    assert server.url in json.loads(body)["error"]


def test_localhost_is_this_host(server):
    assert ask(server, "/", Host=f"localhost:{server.server_port}")[0].status == 200


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/../../etc/passwd", "/api/", "/api/row/", "/api/row/x", "/api/row/-1", "/api/row/3"]
)
def test_nothing_else_is_there(server, path):
    answer, body = ask(server, path)
    assert answer.status == 404
    assert json.loads(body)["error"]


def test_a_row_that_is_not_there_says_how_many_there_are(server):
    assert "below 3" in json.loads(ask(server, "/api/row/3")[1])["error"]


def test_other_methods(server):
    answer, body = ask(server, "/", "HEAD")
    assert (answer.status, body) == (200, b"")
    assert ask(server, "/", "POST")[0].status == 501


def test_a_failure_is_logged_and_the_server_goes_on(server, monkeypatch, caplog, capfd):
    monkeypatch.setattr(server.lookup, "profile", lambda row: 1 / 0)
    with caplog.at_level(logging.ERROR), pytest.raises(http.client.RemoteDisconnected):
        ask(server, "/api/row/1")
    assert ask(server, "/api/rows?query=1")[0].status == 200
    assert "a request failed" in caplog.text
    assert capfd.readouterr() == ("", "")  # the library prints nothing


def test_a_port_in_use():
    with socket.create_server((ADDRESS, 0)) as taken, pytest.raises(OSError, match="choose another port, or 0"):
        make_server(small(), taken.getsockname()[1])


@pytest.mark.parametrize("port", [-1, 65536])
def test_impossible_ports(port):
    with pytest.raises(ValueError, match=r"between 0 .* and 65535"):
        make_server(small(), port)


def test_interruption_ends_it_quietly():
    code = "from cormorant.explore.serve import serve; from explore.page.models import small; "
    code += "serve(small(), ready=lambda url: print(url, flush=True)); print('ended')"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    assert process.stdout is not None
    port = int(process.stdout.readline().rsplit(":", 1)[1].strip("/\n"))
    with socket.create_connection((ADDRESS, port)):  # an open connection does not hold it up
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (out, err, process.returncode) == ("ended\n", "", 0)


def test_the_address_is_logged(monkeypatch, caplog):
    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("cormorant.explore.serve.PageServer.serve_forever", interrupt)
    with caplog.at_level(logging.INFO):
        serve(small())
    assert "http://127.0.0.1:" in caplog.text
