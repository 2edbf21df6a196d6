"""An S3 server of moto on loopback, and boto3, which shares no code with rtrain, to inspect it."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from conftest import wait_until

boto3 = pytest.importorskip("boto3", reason="moto and boto3 are not here: scripts/test --oracle installs them")
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}


class S3Server:
    """A server with one bucket, 'bucket'. `variables`: what a client needs to reach it. `host`: of tests/cluster, to
    run on."""

    def __init__(self, folder, host=None):
        self._log = folder / "moto.log"
        command = [sys.executable, "-m", "moto.server", "-H", host.address if host else "127.0.0.1", "-p", "0"]
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                host.command(*command, folder=folder) if host else command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )
        self.variables = {**KEYS, "AWS_ENDPOINT_URL": "", "AWS_EC2_METADATA_DISABLED": "true"}

    def wait(self):
        """Waits until the server answers."""
        found = wait_until(lambda: re.search(r"Running on (http://[\d.]+:\d+)", self._log.read_text()), message="moto")
        self.variables["AWS_ENDPOINT_URL"] = found.group(1)
        self.client = boto3.client(
            "s3",
            endpoint_url=found.group(1),
            region_name=KEYS["AWS_DEFAULT_REGION"],
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )

    def reset(self):
        """Removes everything that the server holds."""
        urllib.request.urlopen(f"{self.variables['AWS_ENDPOINT_URL']}/moto-api/reset", data=b"").close()
        self.client.create_bucket(Bucket="bucket")

    def keys(self, prefix=""):
        return [each["Key"] for each in self.client.list_objects_v2(Bucket="bucket", Prefix=prefix).get("Contents", [])]

    def get(self, key):
        return self.client.get_object(Bucket="bucket", Key=key)["Body"].read()

    def put(self, key, content):
        self.client.put_object(Bucket="bucket", Key=key, Body=content)

    def uploads(self):
        """Returns the uploads that were begun and neither completed nor aborted."""
        return self.client.list_multipart_uploads(Bucket="bucket").get("Uploads", [])

    def end(self):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = S3Server(tmp_path_factory.mktemp("s3"))
    try:
        made.wait()
        yield made
    finally:
        made.end()


@pytest.fixture
def s3(rtrain, server):
    """The server with nothing but an empty bucket, and rtrain's environment set up to use it."""
    server.reset()
    rtrain.env.update(server.variables)
    rtrain.env.pop("XDG_STATE_HOME", None)  # the state folder is below the test's HOME
    return server
