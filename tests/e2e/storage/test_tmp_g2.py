import time, threading, sys
sys.path[:0] = ["/work/h3/tests/e2e", "/work/h3/tests/e2e/storage"]
from conftest import *
from conftest import wait_until
from test_google_storage import *
import test_google_storage as g

def test_mid(rtrain):
    store = g.GoogleStorage()
    rtrain.env["CLOUD_STORAGE_EMULATOR_ENDPOINT"] = store.url
    rtrain.env.pop("XDG_STATE_HOME", None)
    rtrain.env["RTRAIN_STORE_PATIENCE_S"] = "2"
    running = rtrain.start("run", rtrain.script(SCRIPT), "--set", "wait_at=1")
    wait_until(lambda: "epoch=1  checkpoint checkpoint_000001" in running.stderr)
    time.sleep(1)
    store._server.shutdown()   # the kernel accepts, nobody answers
    t = time.monotonic()
    (rtrain.folder / "go").touch()
    try:
        r = running.wait(560)
        print("took", time.monotonic() - t, r.returncode, r.stderr)
    finally:
        print("T", time.monotonic() - t, running.stderr)
    assert 0
