"""Drives Debian's chromium through chromedriver: the few WebDriver calls that the tests need, without a package."""

import base64
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Backspace": "\ue003",
    "Shift": "\ue008",
    "Control": "\ue009",
    "Escape": "\ue00c",
    "End": "\ue010",
    "Home": "\ue011",
    "Left": "\ue012",
    "Up": "\ue013",
    "Right": "\ue014",
    "Down": "\ue015",
}


def is_there():
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    """One browser window. All its files are below the folder."""

    def __init__(self, folder, env, size=(1280, 900), dark=False, flags=()):
        self._port = free_port()
        self._log = open(folder / "chromedriver.log", "wb")
        self._driver = subprocess.Popen(
            ["chromedriver", f"--port={self._port}"],
            env={**env, "TMPDIR": str(folder)},
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        args = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            f"--window-size={size[0]},{size[1]}",
            f"--user-data-dir={folder / 'profile'}",
        ]
        args += flags
        if dark:
            args.append("--blink-settings=preferredColorScheme=0")
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": args},
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"implicit": 10000},  # how long click() and type() wait for their element
        }
        self._wait_for_driver()
        self._session = ""
        self._session = (
            "/session/" + self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        )

    def _wait_for_driver(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port)).close()
                return
            time.sleep(0.02)
        raise TimeoutError("chromedriver does not listen")

    def _call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        with contextlib.closing(connection):
            text = None if method == "GET" else json.dumps(body or {})
            connection.request(method, path, text, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{value['error']}: {value['message'].splitlines()[0]}")
        return value

    def open(self, url):
        self._call("POST", f"{self._session}/url", {"url": url})

    def run(self, script, *args):
        """Runs the text as the body of a function in the page. Returns its value."""
        return self._call("POST", f"{self._session}/execute/sync", {"script": script, "args": list(args)})

    def text(self, selector="main"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def click(self, selector):
        self._act(selector, "click")

    def type(self, selector, text):
        self._act(selector, "value", {"text": text})

    def _act(self, selector, *action):
        """A page may replace the element after it was found: it is then found again, as a person would."""
        for is_last in (False, False, True):
            try:
                return self._act_once(selector, *action)
            except RuntimeError as error:
                if is_last or "stale element" not in str(error):
                    raise

    def _act_once(self, selector, name, body=None):
        self._call("POST", f"{self._session}/element/{self._find(selector)}/{name}", body)

    def press(self, *keys):
        """Presses keys where the focus is, all of them at the same time."""
        down = [{"type": "keyDown", "value": key} for key in keys]
        up = [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self._call(
            "POST", f"{self._session}/actions", {"actions": [{"type": "key", "id": "keys", "actions": down + up}]}
        )

    def _find(self, selector):
        return self._call("POST", f"{self._session}/element", {"using": "css selector", "value": selector})[ELEMENT]

    def resize(self, width, height):
        self._call("POST", f"{self._session}/window/rect", {"width": width, "height": height})

    def emulate_paper(self):
        """Shows the page as it is printed."""
        command = {"cmd": "Emulation.setEmulatedMedia", "params": {"media": "print"}}
        self._call("POST", f"{self._session}/goog/cdp/execute", command)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._call("GET", f"{self._session}/screenshot")))

    def messages(self):
        """Returns the console's errors since the last call: of scripts, of the CSP, of requests."""
        return [
            entry["message"]
            for entry in self._call("POST", f"{self._session}/se/log", {"type": "browser"})
            if entry["level"] == "SEVERE"
        ]

    def close(self):
        with contextlib.suppress(OSError, RuntimeError, http.client.HTTPException):
            self._call("DELETE", self._session)
        self._driver.terminate()
        self._driver.wait()
        self._log.close()
