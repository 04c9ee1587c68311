"""The interactive page on this machine's loopback address, with a look-up of rows.

    GET /                       the page
    GET /api/rows?query=TEXT    rows whose name holds TEXT, or whose number it is
    GET /api/row/NUMBER         a row: its components and, where counts are given, what it shows and would show next

Nothing else is served: no files, no folders. Only requests that name this address as their host are answered, so that
a web site cannot reach the server under a name of its own (DNS rebinding).
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cormorant.explore.page import document, render
from cormorant.explore.page.lookup import RowLookup

ADDRESS = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page's own policy is in the page
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
log = logging.getLogger(__name__)


def serve(
    model: Any,
    port: int = 0,
    *,
    counts: Any = None,
    covariates: Any = None,
    title: str | None = None,
    among: int | None = None,
    ready: Callable[[str], object] | None = None,
) -> None:
    """Serve the page until interrupted (Ctrl-C). Everybody with an account on this machine can open it.

    Args:
        model: A fitted estimator.
        port: Port to listen at; 0 takes any that is free.
        counts: Rows to look up, with the columns of the fit (usually what the model was fitted to; of features any
            matrix that they take, also with missing entries). None looks up the rows of the fit by their weights, and
            cannot say what they would show next.
        covariates: Of the rows of counts, if the model was fitted with covariates.
        title: Heading of the page; None names the model.
        among: How many of the most used components to show; None takes those in use, at most 300.
        ready: Called with the address of the page once it can be opened; None logs it.
    """
    with make_server(model, port, counts=counts, covariates=covariates, title=title, among=among) as server:
        try:
            (ready or _log_address)(server.url)
            server.serve_forever()
        except KeyboardInterrupt:
            log.info("interrupted; the page is no longer served")


class PageServer(ThreadingHTTPServer):
    """A server on the loopback address; `url` is where the page is."""

    daemon_threads = True  # an open connection does not keep an interrupted program alive

    def __init__(self, port: int, page: bytes, lookup: RowLookup):
        super().__init__((ADDRESS, port), _Handler)
        self.page, self.lookup = page, lookup
        self.hosts = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}
        self.url = f"http://{ADDRESS}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A request that failed is logged; the others go on."""
        gone = isinstance(sys.exception(), ConnectionError)  # the browser closed the page: nothing is wrong
        log.log(logging.DEBUG if gone else logging.ERROR, "a request failed", exc_info=True)


def make_server(
    model: Any,
    port: int = 0,
    *,
    counts: Any = None,
    covariates: Any = None,
    title: str | None = None,
    among: int | None = None,
) -> PageServer:
    """The server, listening but not yet answering; see `serve` for the arguments."""
    if not 0 <= port <= 65535:
        raise ValueError(f"port must be between 0 (any free one) and 65535, got {port}.")
    lookup = RowLookup(model, counts, covariates)
    content = document(model, title=title, among=among)
    content |= {"served": lookup.n_rows > 0, "rowsLinked": lookup.places is not None}
    if lookup.places is not None:
        for component in content["components"]:
            component["rows"] = [_at_place(row, lookup) for row in component["rows"]]
    try:
        return PageServer(port, render(content).encode(), lookup)
    except OSError as error:
        raise OSError(f"cannot listen at {ADDRESS}:{port} ({error.strerror}); choose another port, or 0.") from error


def _at_place(row: list[Any], lookup: RowLookup) -> list[Any]:
    """A row that stands for a component, by its number and name among the rows that can be looked up."""
    number, _, share = row
    assert lookup.places is not None  # whoever calls looks
    place = int(lookup.places[number])
    return [place, lookup.name(place), share]


class _Handler(BaseHTTPRequestHandler):
    """Answers a request; the server holds the page and the rows."""

    server: PageServer  # pyright: ignore[reportIncompatibleVariableOverride]
    server_version, sys_version = "cormorant", ""
    timeout = 30  # seconds that a silent connection is kept

    def do_GET(self) -> None:
        """The page, or an answer about rows."""
        if self.headers.get("Host", "") not in self.server.hosts:
            return self._fail(HTTPStatus.MISDIRECTED_REQUEST, f"open the page as {self.server.url}")
        address = urlsplit(self.path)
        if address.path == "/":
            return self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page)
        if address.path == "/api/rows":
            query = parse_qs(address.query).get("query", [""])[0]
            return self._answer(self.server.lookup.find(query))
        if found := re.fullmatch(r"/api/row/(\d{1,18})", address.path, re.ASCII):
            return self._row(int(found[1]))
        return self._fail(HTTPStatus.NOT_FOUND, "there are only /, /api/rows?query=TEXT and /api/row/NUMBER")

    do_HEAD = do_GET

    def _row(self, row: int) -> None:
        n_rows = self.server.lookup.n_rows
        if row >= n_rows:
            return self._fail(HTTPStatus.NOT_FOUND, f"row must be below {n_rows}, the number of rows; got {row}")
        return self._answer(self.server.lookup.profile(row))

    def _answer(self, content: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(status, "application/json", json.dumps(content, allow_nan=False).encode())

    def _fail(self, status: HTTPStatus, message: str) -> None:
        self._answer({"error": message}, status)

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in (HEADERS | {"Content-Type": kind, "Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests go to the log, not to standard error."""
        log.debug(format, *args)


def _log_address(url: str) -> None:
    log.info("the page is at %s", url)
