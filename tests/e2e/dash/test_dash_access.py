"""Access to rtrain dash: its tokens, TLS, and the token that stays the same."""

import contextlib
import json
import re
import signal
import socket
import ssl
import subprocess

import pytest

from conftest import refused
from dash_server import Dash, dash, read_all, results  # noqa: F401  (fixtures)


def test_the_address_opens_the_page_and_gives_a_cookie(dash):
    server = dash()
    page = server.ask(f"/?token={server.token}", token=False)
    assert page.status == 200 and page.getheader("Content-Type").startswith("text/html")
    cookie = page.getheader("Set-Cookie")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/;" in cookie
    assert server.token not in cookie
    assert server.ask("/api/runs", token=False, Cookie=cookie.split(";")[0]).status == 200
    assert server.running.stdout.count("\n") == 1, "one address, for programs"


def test_nothing_is_answered_without_the_token(dash):
    server = dash()
    for path in ("/", "/api/runs", "/api/events", "/metrics", "/openapi.json", "/app.js", "/nothing"):
        assert server.error(path, token=False) == (401, "no_token"), path
        assert server.error(path, token=False, Cookie="rtrain_0=1") == (401, "no_token")
    assert server.ask("/api/runs?token=" + "0" * 32, token=False).status == 401
    assert server.ask("/api/runs", token=False, Authorization="Bearer " + server.token[:-1]).status == 401


def test_a_foreign_host_is_refused(dash):
    server = dash()
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "", "localhost.", "10.0.0.1"):
        assert server.error("/api/runs", Host=host) == (421, "wrong_host"), host
    for host in (f"localhost:{server.port}", "127.0.0.1", "[::1]:99", "LOCALHOST"):
        assert server.ask("/api/runs", Host=host).status == 200, host


def test_a_proxys_name_is_allowed_when_it_is_named(dash):
    server = dash("--allow-host", "train.example", "--base-path", "/rtrain/")
    assert server.url.path == "/rtrain/"
    assert server.ask("/api/runs", Host="train.example").status == 200
    assert server.ask("/api/runs", Host="other.example").status == 421
    page = server.ask(f"/?token={server.token}", token=False)
    assert "Path=/rtrain/;" in page.getheader("Set-Cookie")
    answer = server.post("/api/runs/one/note", {"note": "x"}, Origin="https://train.example")
    assert answer.status == 200, answer.body
    server.base = ""
    assert server.error("/api/runs") == (404, "not_found")


def test_pages_of_other_sites_get_nothing(dash):
    server = dash()
    for origin in (
        "https://evil.example",
        "null",
        f"http://127.0.0.1:{server.port + 1}",
        f"http://localhost:{server.port}",
    ):
        assert server.error("/api/runs", Origin=origin) == (403, "wrong_origin"), origin
    assert server.ask("/api/runs", Origin=f"http://{server.host}").status == 200
    for site in ("cross-site", "same-site"):
        assert server.error("/api/runs", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate") == (403, "wrong_origin")
        assert server.ask("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status == 200
        assert server.ask("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors").status == 403
    assert "access-control-allow-origin" not in str(server.ask("/api/runs").headers).lower()


def test_writing_needs_the_page_or_the_token_itself(dash, trained):
    server = dash()
    cookie = server.ask(f"/?token={server.token}", token=False).getheader("Set-Cookie").split(";")[0]
    own = f"http://{server.host}"
    note = "/api/runs/one/note"
    assert server.post(note, {"note": "csrf"}, token=False, Cookie=cookie).status == 403
    assert server.post(note, {"note": "csrf"}, token=False, Cookie=cookie, Origin="https://evil.example").status == 403
    assert server.post(note + f"?token={server.token}", {"note": "csrf"}, token=False, Origin=own).status == 401
    answer = server.post(note, {"note": "csrf"}, token=False, Cookie=cookie, Origin=own, Content_Type="text/plain")
    assert answer.status == 415
    assert trained.json("show", "one")["note"] == ""
    assert server.post(note, {"note": "mine"}, token=False, Cookie=cookie, Origin=own).status == 200
    assert trained.json("show", "one")["note"] == "mine"
    assert server.post(note, {"note": "by hand"}).status == 200


RUN = "/api/runs/{run}/"
WRITES = {
    RUN + "name": {"name": "other"},
    RUN + "note": {"note": "x"},
    RUN + "tags": {"add": ["x"]},
    RUN + "archived": {"archived": True},
    RUN + "stop": {"now": True},
    RUN + "stack": {},
    RUN + "profile": {"seconds": 0.1},
    "/api/views": {"name": "mine", "address": "?sort=loss"},
}


def test_every_action_needs_the_right_to_write(dash, trained):
    server = dash()
    posts = {route["path"] for route in server.json("/api/")["routes"] if route["method"] == "POST"}
    assert posts == set(WRITES), "it has all of them"
    cookie = server.ask(f"/?token={server.token}", token=False).getheader("Set-Cookie").split(";")[0]
    looks = server.ask(f"/?token={server.viewer()}", token=False).getheader("Set-Cookie").split(";")[0]
    own = f"http://{server.host}"

    def state():
        return trained.json("show", "one"), trained.json("ls"), server.json("/api/views")

    before = state()
    for route, body in WRITES.items():
        path = route.format(run="one")
        attacks = {
            "nobody": (401, {}),
            "another site's form, which has the cookie": (403, {"Cookie": cookie, "Origin": "https://evil.example"}),
            "a page of another port": (403, {"Cookie": cookie, "Origin": f"http://127.0.0.1:{server.port + 1}"}),
            "a sandboxed frame": (403, {"Cookie": cookie, "Origin": "null"}),
            "a browser that says nothing": (403, {"Cookie": cookie}),
            "a request that the browser calls foreign": (
                403,
                {"Cookie": cookie, "Origin": own, "Sec_Fetch_Site": "same-site"},
            ),
            "a rebound name": (421, {"Cookie": cookie, "Host": "evil.example", "Origin": "http://evil.example"}),
            "a form's type": (415, {"Cookie": cookie, "Origin": own, "Content_Type": "text/plain"}),
            "those who only look": (403, {"Cookie": looks, "Origin": own}),
            "their token": (403, {"Authorization": f"Bearer {server.viewer()}"}),
        }
        for attacker, (status, headers) in attacks.items():
            assert server.post(path, body, token=False, **headers).status == status, (path, attacker)
        in_address = server.post(f"{path}?token={server.token}", body, token=False, Origin=own)
        assert in_address.status == 401, "a link must not change anything"
        assert server.ask(path).status == (200 if path == "/api/views" else 405), "nor a picture's address"
    assert state() == before


def test_those_who_only_look_see_everything_else(dash):
    server = dash()
    viewer = {"token": False, "Authorization": f"Bearer {server.viewer()}"}
    for path in ("/", "/api/runs", "/api/runs/two", "/metrics"):
        assert server.ask(path, **viewer).status == 200, path
    assert json.loads(server.ask("/api/", **viewer).body)["may_write"] is False
    assert server.json("/api/")["may_write"] is True
    assert server.viewer() not in server.running.stdout


def test_read_only_changes_nothing(dash, trained):
    server = dash("--read-only")
    for route, body in WRITES.items():
        answer = server.post(route.format(run="one"), body)
        assert answer.status == 403 and json.loads(answer.body)["error"]["code"] == "read_only", route
    assert server.json("/api/")["may_write"] is False and "who only look" not in server.running.stderr
    assert server.json("/api/runs")["total"] == 2
    assert trained.json("show", "one")["note"] == ""


def test_only_loopback(rtrain):
    refused(rtrain("dash", "--host", "0.0.0.0"), "needs TLS", "--cert", "ssh -L")
    refused(rtrain("dash", "--host", "::"), "needs TLS")
    refused(rtrain("dash", "--host", "example.org"), "numeric")
    refused(rtrain("dash", "--base-path", "/a?b"), "--base-path")
    server = Dash(rtrain)
    listeners = {line.split()[1] for line in open("/proc/net/tcp") if line.split()[3] == "0A"}
    assert f"0100007F:{server.port:04X}" in listeners and f"00000000:{server.port:04X}" not in listeners
    taken = rtrain("dash", "--port", server.port)
    assert taken.returncode == 4 and "in use" in taken.stderr
    assert server.stop(signal.SIGINT).returncode == 0


def test_every_answer_keeps_other_sites_out(dash):
    server = dash()
    for path in ("/", "/api/runs", "/metrics", "/nothing"):
        headers = server.ask(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    pages = [server.ask("/") for _ in range(2)]
    nonces = [
        re.search("style-src 'self' 'nonce-([0-9a-f]{32})';", page.headers["Content-Security-Policy"])[1]
        for page in pages
    ]
    assert nonces[0] != nonces[1]
    for page, nonce in zip(pages, nonces):
        assert page.body.count(b"<style") == page.body.count(b'<style nonce="' + nonce.encode() + b'">') == 1
        text = re.sub(rb"<style.*?</style>", b"", page.body, flags=re.DOTALL)
        assert not re.search(rb"<script(?![^>]*\bsrc=)|\son\w+=|style=", text), "inline script or style"


# TLS.


def certificate(folder, name, names="DNS:localhost,IP:127.0.0.1,DNS:*.train.example"):
    """Makes a self-signed certificate and its key."""
    files = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            f"/CN={name}",
            "-addext",
            f"subjectAltName={names}",
            "-out",
            files[0],
            "-keyout",
            files[1],
        ],
        check=True,
        capture_output=True,
    )
    return files


@pytest.fixture
def secured(trained, tmp_path):
    """A server with TLS."""
    own, key = certificate(tmp_path, "own")
    server = Dash(trained, "--cert", own, "--key", key, trusted=own)
    yield server
    assert server.stop().returncode == 0


def test_all_of_it_over_tls(secured):
    assert secured.url.scheme == "https" and secured.url.hostname == "127.0.0.1"
    assert secured.json("/api/runs")["total"] == 2
    page = secured.ask(f"/?token={secured.token}", token=False)
    assert "; Secure" in page.getheader("Set-Cookie")
    whole = secured.json("/api/runs/two/curve", name="signal", points=10000)
    assert whole["total"] == 5000 and whole["min"][1234] == 1000
    own = f"https://{secured.host}"
    cookie = page.getheader("Set-Cookie").split(";")[0]
    assert secured.post("/api/runs/one/note", {"note": "x"}, token=False, Cookie=cookie, Origin=own).status == 200
    connection = secured.connection()
    with contextlib.closing(connection):
        for _ in range(20):
            connection.request("GET", "/api/runs", headers={"Authorization": f"Bearer {secured.token}"})
            assert connection.getresponse().read()
        assert connection.sock.version() == "TLSv1.3"
    with secured.events("/api/runs/two/logs/events") as events:
        assert {line["rank"] for line in next(events)[1]} == {0, 1}


def test_over_tls_the_certificates_names_are_ours(secured):
    for host in ("localhost", "gpu7.train.example", f"GPU7.TRAIN.EXAMPLE:{secured.port}"):
        assert secured.ask("/api/runs", Host=host).status == 200, host
    for host in ("train.example", "a.b.train.example", "evil.example"):
        assert secured.ask("/api/runs", Host=host).status == 421, host


def test_what_speaks_no_tls_is_told_so(secured):
    for text in ("GET / HTTP/1.1\r\n\r\n", "\0\0\0\0"):
        answer = secured.raw(text)
        assert answer.startswith(b"HTTP/1.1 400 ") and b"wants_tls" in answer
    with socket.create_connection(("127.0.0.1", secured.port), timeout=60) as broken:
        broken.sendall(b"\x16\x03\x01\x00\x05hello")
        assert b"HTTP" not in read_all(broken)
    for version in (ssl.TLSVersion.TLSv1_2,):
        old = ssl.create_default_context()
        old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, version
        with socket.create_connection(("127.0.0.1", secured.port), timeout=60) as plain, pytest.raises(ssl.SSLError):
            old.wrap_socket(plain)
    assert secured.json("/api/runs")["total"] == 2


def test_a_handshake_that_never_ends_is_ended(secured):
    slow = socket.create_connection(("127.0.0.1", secured.port), timeout=60)
    wrapped = secured.trusted.wrap_socket(
        socket.create_connection(("127.0.0.1", secured.port), timeout=60), server_hostname="127.0.0.1"
    )
    with slow, wrapped:
        slow.sendall(b"\x16\x03\x01\x02\x00")
        assert read_all(slow) == b"", "closed, in seconds"
        assert read_all(wrapped) == b"", "one that asks nothing too"


def test_an_address_beyond_loopback_with_tls(trained, tmp_path):
    """This node does not have the address: the test listens on loopback only."""
    own, key = certificate(tmp_path, "own")
    answer = trained("dash", "--host", "192.0.2.1", "--cert", own, "--key", key)
    assert answer.returncode == 4 and "cannot listen at 192.0.2.1" in answer.stderr


def test_certificates_that_cannot_be_used(rtrain, tmp_path):
    own, key = certificate(tmp_path, "own")
    other = certificate(tmp_path, "other")[1]
    text = tmp_path / "text"
    text.write_text("no certificate")
    locked = tmp_path / "locked"
    subprocess.run(
        ["openssl", "pkey", "-in", key, "-aes128", "-passout", "pass:x", "-out", locked],
        check=True,
        capture_output=True,
    )
    for files, words in {
        (own, other): "not that of the certificate",
        (text, key): "no certificate in PEM",
        (own, text): "no private key",
        (own, locked): "password",
    }.items():
        refused(rtrain("dash", "--port", 0, "--cert", files[0], "--key", files[1]), words, str(files[0]))
    refused(rtrain("dash", "--cert", own), "belong together")
    refused(rtrain("dash", "--key", key), "belong together")
    missing = rtrain("dash", "--cert", tmp_path / "none", "--key", key)
    assert missing.returncode == 4 and "none" in missing.stderr


# The token that stays the same.


def test_a_stored_token_stays_the_same(trained, tmp_path):
    file = tmp_path / "token"
    first = Dash(trained, "--token-file", file)
    assert file.read_text() == first.token + "\n" and file.stat().st_mode & 0o777 == 0o600
    cookie = first.ask(f"/?token={first.token}", token=False).getheader("Set-Cookie").split(";")[0]
    viewer = first.viewer()
    assert first.stop().returncode == 0
    again = Dash(trained, "--token-file", file)
    assert (again.token, again.viewer()) == (first.token, viewer)
    assert again.ask("/api/runs", token=False, Cookie=cookie).status == 200, "an open page goes on"
    assert len({again.token, viewer, cookie.split("=")[1]}) == 3
    assert again.stop().returncode == 0
    file.write_text("of-my-own-choice-and-long-enough-0123456789")
    chosen = Dash(trained, "--token-file", file)
    assert chosen.token == "of-my-own-choice-and-long-enough-0123456789" and chosen.viewer() != viewer
    assert chosen.ask("/api/runs", token=False, Cookie=cookie).status == 401
    assert chosen.stop().returncode == 0


def test_token_files_that_cannot_be_used(rtrain, tmp_path):
    file = tmp_path / "token"
    for text, mode, words in (
        ("short", 0o600, "32"),
        ("x" * 40, 0o644, "chmod 600"),
        ("with spaces " * 4, 0o600, "letters"),
    ):
        file.write_text(text)
        file.chmod(mode)
        answer = rtrain("dash", "--port", 0, "--token-file", file)
        assert answer.returncode in (2, 3, 4) and words in answer.stderr, (words, answer.stderr)
    nowhere = rtrain("dash", "--port", 0, "--token-file", tmp_path / "no" / "token")
    assert nowhere.returncode == 4 and "no/token" in nowhere.stderr
