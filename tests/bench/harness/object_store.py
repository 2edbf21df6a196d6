"""An S3 server on loopback for one sample; its content is deleted with it."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.request

from harness.benchmark import BenchError, Skipped

START_S = 60
KEYS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def check(python):
    """Raises Skipped if the server is not installed in this Python."""
    if subprocess.run([python, "-c", "import moto.server, pyarrow"], capture_output=True).returncode != 0:
        raise Skipped("moto and pyarrow are not there: scripts/setup --oracle installs them")


@contextlib.contextmanager
def serving(python):
    """Yields the variables for connecting to the server; it has the bucket 'bench'."""
    with tempfile.TemporaryDirectory(prefix="bench-s3-") as folder:
        path = os.path.join(folder, "log")
        with open(path, "wb") as log:
            server = subprocess.Popen(
                [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )
        try:
            url = _address(path)
            request = urllib.request.Request(f"{url}/bench", method="PUT", headers={"Authorization": "AWS key:x"})
            urllib.request.urlopen(request).close()
            yield {**KEYS, "AWS_ENDPOINT_URL": url, "XDG_STATE_HOME": folder}
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _address(path):
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with open(path, errors="replace") as log:
            found = re.search(r"Running on (http://127\.0\.0\.1:\d+)", log.read())
        if found:
            return found.group(1)
        time.sleep(0.05)
    raise BenchError(f"the S3 server does not answer after {START_S} s")
