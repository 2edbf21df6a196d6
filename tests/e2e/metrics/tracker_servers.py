"""Servers on loopback that take what trackers are sent: any JSON, MLflow's REST API, W&B's API."""

import contextlib
import gzip
import http.server
import json
import re
import threading
import urllib.parse


class Server:
    """Answers each request through `answer(method, path, body)`, which returns a status and a value for JSON.

    `requests` are all requests that came, as (method, path, body, headers). `refusals`: statuses of the next answers, in
    place of those of `answer`.
    """

    def __init__(self, port=0):
        self.requests, self.refusals = [], []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def take(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                server.requests.append((self.command, self.path, body, dict(self.headers)))
                if server.refusals:
                    status, value = server.refusals.pop(0), {"message": "not now"}
                else:
                    status, value = server.answer(self.command, self.path, body)
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = take

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *args: None  # a client that has gone
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def answer(self, method, path, body):
        return 200, {}

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class JsonServer(Server):
    def bodies(self):
        return [json.loads(body) for _, _, body, _ in self.requests]

    def items(self):
        return [item for body in self.bodies() if body["type"] == "items" for item in body["items"]]


class FakeMlflow(Server):
    """The calls of MLflow's REST API 2.0 that record a run."""

    def __init__(self, port=0):
        self.experiments, self.runs, self.artifacts = {}, {}, {}
        super().__init__(port)

    def answer(self, method, path, body):
        url = urllib.parse.urlparse(path)
        name = url.path.removeprefix("/api/2.0/")
        if name.startswith("mlflow-artifacts/"):
            self.artifacts[urllib.parse.unquote(name)] = body
            return 200, {}
        if name == "mlflow/experiments/get-by-name":
            wanted = urllib.parse.parse_qs(url.query)["experiment_name"][0]
            found = self.experiments.get(wanted)
            return (
                (200, {"experiment": {"experiment_id": found}})
                if found
                else (404, {"error_code": "RESOURCE_DOES_NOT_EXIST"})
            )
        return 200, self._post(name, json.loads(body))

    def _post(self, name, given):
        if name == "mlflow/experiments/create":
            self.experiments[given["name"]] = str(len(self.experiments) + 1)
            return {"experiment_id": self.experiments[given["name"]]}
        if name == "mlflow/runs/create":
            run_id = f"run{len(self.runs)}"
            self.runs[run_id] = {"given": given, "params": {}, "metrics": [], "status": "RUNNING"}
            uri = f"mlflow-artifacts:/{given['experiment_id']}/{run_id}/artifacts"
            return {"run": {"info": {"run_id": run_id, "artifact_uri": uri}}}
        run = self.runs[given["run_id"]]
        if name == "mlflow/runs/log-batch":
            assert len(given.get("metrics", [])) <= 1000 and len(given.get("params", [])) <= 100
            run["metrics"] += given.get("metrics", [])
            run["params"].update({each["key"]: each["value"] for each in given.get("params", [])})
        elif name == "mlflow/runs/update":
            run["status"] = given["status"]
        else:
            raise AssertionError(name)
        return {}


class FakeWandb(Server):
    """What `wandb sync` asks of a server. `history`: the rows that it sent; `files`: paths."""

    def answer(self, method, path, body):
        if path.endswith("/file_stream"):
            return 200, {"exitcode": None, "limits": {}}
        if path != "/graphql":
            return 200, {}
        asked = json.loads(body)
        given = asked.get("variables", {})
        if "upsertBucket" in asked["query"]:
            project = {"id": "cA==", "name": given["project"], "entity": {"id": "ZQ==", "name": "team"}}
            bucket = {
                "id": "aWQ=",
                "name": given["name"],
                "displayName": given["displayName"],
                "config": "{}",
                "project": project,
            }
            return 200, {"data": {"upsertBucket": {"bucket": bucket, "inserted": True}}}
        if "createRunFiles" in asked["query"]:
            files = [{"name": name, "uploadUrl": f"{self.url}/up/{name}"} for name in given["files"]]
            return 200, {"data": {"createRunFiles": {"runID": "aWQ=", "uploadHeaders": [], "files": files}}}
        return 200, {"data": {}}

    @property
    def history(self):
        rows = []
        for _, path, body, _ in self.requests:
            if not path.endswith("/file_stream") or not body:
                continue
            sent = json.loads(body).get("files", {}).get("wandb-history.jsonl")
            if sent:
                rows[sent["offset"] :] = [json.loads(row) for row in sent["content"]]
        return rows

    @property
    def files(self):
        return {re.sub("^/up/", "", path): body for method, path, body, _ in self.requests if method == "PUT"}


@contextlib.contextmanager
def serving(server):
    try:
        yield server
    finally:
        server.close()
