"""Starts the Jupyter kernel of rtrain, and runs cells in it."""

import shutil
import sys

import pytest

from conftest import RTRAIN, SOURCE, Rtrain

why = "scripts/setup --oracle installs it"
jupyter_client = pytest.importorskip("jupyter_client", reason=f"jupyter_client is missing: {why}")
pytest.importorskip("ipykernel", reason=f"ipykernel is missing: {why}")

TIMEOUT_S = 60


def environment(rtrain):
    return {
        **rtrain.env,
        "RTRAIN": str(RTRAIN),
        "PYTHONPATH": str(SOURCE / "jupyter"),
        "IPYTHONDIR": str(rtrain.folder),
    }


class Cell:
    """What a cell has shown."""

    def __init__(self, reply, messages):
        self.status, self.messages = reply["status"], messages
        self.error = reply.get("evalue")
        self.traceback = "\n".join(reply.get("traceback", []))

    def of(self, kind):
        return [content for name, content in self.messages if name == kind]

    def stream(self, name):
        return "".join(content["text"] for content in self.of("stream") if content["name"] == name)

    @property
    def result(self):
        """The MIME bundle of the last value; {} without one."""
        return next((content["data"] for content in self.of("execute_result")), {})

    @property
    def text(self):
        return self.result.get("text/plain")


class Notebook:
    def __init__(self, rtrain):
        self.manager = jupyter_client.KernelManager()
        self.manager._kernel_spec = jupyter_client.kernelspec.KernelSpec(
            argv=[sys.executable, "-m", "rtrain_jupyter", "-f", "{connection_file}"], language="lua"
        )
        self.manager.connection_file = str(rtrain.folder / "kernel-connection.json")
        self.manager.start_kernel(env=environment(rtrain), cwd=str(rtrain.folder))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=TIMEOUT_S)

    def run(self, code, on_message=None, **options):
        """Executes a cell. `on_message(kind, content)` sees each message of its output at once."""
        messages = []

        def add(message):
            kind, content = message["msg_type"], message["content"]
            if kind in ("status", "execute_input"):
                return
            messages.append((kind, content))
            if on_message:
                on_message(kind, content)

        reply = self.client.execute_interactive(code, timeout=TIMEOUT_S, output_hook=add, allow_stdin=False, **options)
        return Cell(reply["content"], messages)

    def value(self, code):
        cell = self.run(code)
        assert cell.status == "ok", cell.traceback
        return cell.text

    def ask(self, request, *values):
        identity = getattr(self.client, request)(*values)
        while True:
            message = self.client.get_shell_msg(timeout=TIMEOUT_S)
            if message["parent_header"].get("msg_id") == identity:
                return message["content"]

    def interrupt(self):
        self.manager.interrupt_kernel()

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel()


@pytest.fixture
def notebook(rtrain):
    """A notebook of this test alone, whose runs are in the store of `rtrain`."""
    opened = Notebook(rtrain)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A notebook of all tests of a file that begin no run and end no process."""
    rtrain = Rtrain(tmp_path_factory.mktemp("shared"))
    opened = Notebook(rtrain)
    yield opened
    opened.close()
    shutil.rmtree(rtrain.runtime)
