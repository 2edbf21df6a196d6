"""A proxy between rtrain and an S3 server that answers some requests wrongly: 500, 503, silence, truncated answers."""

import http.client
import http.server
import itertools
import random
import threading
import urllib.parse

KINDS = ("500", "503", "silence", "cut")
CODES = {"500": "InternalError", "503": "SlowDown", "403": "AccessDenied"}


class Proxy:
    """Answers one of `every` requests wrongly, chosen by the seed. `counts`: how often each kind of fault was used.

    Requests for which refused(method, path) is true are always answered with `refusal`; "forever" is a silence that
    ends with the proxy.
    """

    def __init__(self, upstream, every=None, seed=0, refused=lambda method, path: False, refusal="503"):
        self.counts = dict.fromkeys(KINDS, 0)
        self._upstream = urllib.parse.urlparse(upstream).netloc
        self._random = random.Random(seed)
        self._every, self._refused, self._refusal = every, refused, refusal
        self._kinds = itertools.cycle(KINDS)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                proxy._answer(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def _next_fault(self, method, path):
        if self._refused(method, path):
            return self._refusal
        with self._lock:
            if self._every is None or self._random.random() * self._every >= 1:
                return None
            kind = next(self._kinds)
            self.counts[kind] += 1
            return kind

    def _answer(self, request):
        body = _body(request)
        fault = self._next_fault(request.command, request.path)
        if fault in CODES:
            return _send(request, int(fault), [], f"<Error><Code>{CODES[fault]}</Code></Error>".encode())
        if fault in ("silence", "forever"):
            self._ended.wait(4 if fault == "silence" else None)  # longer than a client waits for an answer
            request.close_connection = True
            return None
        upstream = http.client.HTTPConnection(self._upstream)
        headers = {key: value for key, value in request.headers.items() if key.lower() != "transfer-encoding"}
        upstream.request(request.command, request.path, body=body, headers=headers)
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        return _send(request, answer.status, answer.getheaders(), content, cut=fault == "cut")

    def end(self):
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _body(request):
    if "chunked" not in request.headers.get("Transfer-Encoding", ""):
        return request.rfile.read(int(request.headers.get("Content-Length", 0)))
    parts = []
    while size := int(request.rfile.readline().split(b";")[0], 16):
        parts.append(request.rfile.read(size))
        request.rfile.readline()
    request.rfile.readline()
    return b"".join(parts)


def _send(request, status, headers, content, cut=False):
    length = {key.lower(): value for key, value in headers}.get("content-length", str(len(content)))
    try:
        request.send_response_only(status)
        for key, value in headers:
            if key.lower() not in ("content-length", "transfer-encoding", "connection"):
                request.send_header(key, value)
        request.send_header("Content-Length", length if request.command == "HEAD" else str(len(content)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content[: len(content) // 2] if cut else content)
        request.close_connection = cut
    except OSError:
        request.close_connection = True  # the client has closed the connection
