"""rtrain dash: requests that are attacks."""

import contextlib
import socket
import urllib.parse

import pytest

from dash_server import NASTY, dash, descriptors, results  # noqa: F401  (fixtures)


def test_no_path_reaches_a_file(dash, trained):
    server = dash()
    (trained.storage / "secret.txt").write_text("secret")
    for path in (
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/rtrain.db",
        "/rtrain.db",
        "/secret.txt",
        "//etc/passwd",
        "/api/runs/..",
        "/api/runs/..%2f..%2fetc",
        "/api/runs/%2e%2e/logs",
        "/api/runs/one%2f..%2f/logs",
        "/one/lock",
        "/api/runs/one/../two",
        "/web/index.html",
        "/index.html",
    ):
        answer = server.ask(path)
        assert answer.status == 404, (path, answer.body)
        assert b"root:" not in answer.body and b"SQLite format" not in answer.body
    assert server.ask("/api/runs/one%00/logs").status == 400
    assert server.ask("/%zz").status == 400


def test_names_of_a_run_are_data_and_never_html(dash):
    server = dash()
    for path in ("/api/runs", "/api/runs/two", "/api/runs/two/logs", "/api/runs/two/curves"):
        answer = server.ask(path)
        assert answer.getheader("Content-Type") == "application/json"
        assert b"<" in answer.body
    message = server.ask("/api/runs/" + urllib.parse.quote(NASTY, safe=""))
    assert message.status == 404 and message.getheader("Content-Type") == "application/json"


def test_oversized_requests_are_refused(dash):
    server = dash()
    head = f"GET /api/runs HTTP/1.1\r\nHost: {server.host}\r\n"
    assert b" 431 " in server.raw(head + "X-Large: " + "x" * 20000 + "\r\n\r\n")[:40]
    assert b" 431 " in server.raw(head + "".join(f"X-{i}: 1\r\n" for i in range(500)) + "\r\n")[:40]
    assert server.raw("GET /" + "a" * 100000 + " HTTP/1.1\r\n\r\n")[:12] in (b"HTTP/1.1 431", b"")
    body = f"POST /api/runs/one/note HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: "
    assert b" 413 " in server.raw(body + "100000\r\n\r\n")[:40]
    assert server.raw(body + "99999999999999999999\r\n\r\n").startswith(b"HTTP/1.1 4")
    assert server.json("/api/runs")["total"] == 2


def test_wrong_requests_are_refused(dash):
    server = dash()
    for text in (
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: {server.host}\r\nHost: evil.example\r\n\r\n",
        f"POST / HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
        f"POST / HTTP/1.1\r\nHost: {server.host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"POST / HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: {server.host}\r\nA b: c\r\n\r\n",
    ):
        answer = server.raw(text.encode("latin-1"))
        assert answer.startswith(b"HTTP/1.1 4"), (text, answer)
        assert answer.count(b"HTTP/1.1 ") == 1
    assert server.json("/api/runs")["total"] == 2


def test_a_request_that_never_ends_is_ended(dash):
    server = dash()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as slow:
        slow.sendall(f"GET /api/runs HTTP/1.1\r\nHost: {server.host}\r\n".encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(600):  # one header each 0.1 s, as slow-loris does
                slow.sendall(b"X: 1\r\n")
                slow.settimeout(0.1)
                with contextlib.suppress(TimeoutError):
                    assert b" 408 " in slow.recv(4096)
                    return
        pytest.fail("a request without an end was never refused")


def test_more_connections_than_places(dash):
    server = dash()
    silent = []
    try:
        for _ in range(700):
            silent.append(socket.create_connection(("127.0.0.1", server.port), timeout=10))
        assert server.json("/api/runs")["total"] == 2
        assert descriptors(server) < 600
    finally:
        for each in silent:
            each.close()
