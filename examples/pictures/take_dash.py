#!/usr/bin/python3
"""Writes the pictures of examples/pictures/dash/ that show experiments: pages of rtrain dash with real runs.

    examples/pictures/take_dash.py      about three minutes on two cores

Needs build/rtrain, chromium and its driver (scripts/setup --browser), python3-pil for small files. Those of live runs,
hang.png, data.png, rank-live.png and resources.png, are from the tests: scripts/test --browser FOLDER.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from take import HOME, PICTURES, ROOT, RTRAIN, Desk

sys.path.insert(0, str(ROOT / "tests" / "browser"))
import webdriver

# (name of the picture, page, a text of the complete page, dark, size)
PAGES = [
    ("runs", "#/?spark=loss", "slow", False, (1280, 780)),
    ("run", "#/run/fast", "accuracy", False, (1280, 780)),
    ("run-dark", "#/run/fast", "accuracy", True, (1280, 780)),
    ("run-phone", "#/run/fast", "accuracy", False, (390, 844)),
    ("compare", "#/compare?run=slow&run=middle&run=fast", "0.0001", False, (1280, 780)),
    ("sweep", "#/sweep/rates", "rates-000", False, (1280, 780)),
]
PATIENCE_S = 30


def train(desk):
    """Three rates on images, and a sweep on a table."""
    desk.quietly("init", "mnist", "digits")
    desk.quietly("init", "tabular", "flats")
    home = desk.folder
    desk.folder = home / "flats"
    desk.quietly("sweep", "train.lua", "--grid", "lr=0.003,0.01,0.03", "--set", "epochs=4", "--name", "rates")
    desk.folder = home / "digits"
    short = ["--set", "limit=2000", "--set", "test_limit=500"]
    for name, lr in (("slow", "0.0001"), ("middle", "0.001"), ("fast", "0.01")):
        tags = ["--tag", "digits", "--tag", "base"] if name == "middle" else ["--tag", "digits"]
        desk.quietly("run", "train.lua", "-n", "2", "--name", name, "--set", f"lr={lr}", *short, "--quiet", *tags)


def wait_for(window, text):
    end = time.monotonic() + PATIENCE_S
    while text not in (window.text("main") or ""):
        if time.monotonic() > end:
            sys.exit(f"take_dash.py: no '{text}' on {window.run('return location.hash')}")
        time.sleep(0.1)
    time.sleep(1)  # charts are drawn after the texts


def take(address, folder):
    for number, (name, page, sign, dark, size) in enumerate(PAGES):
        own = pathlib.Path(folder) / str(number)
        own.mkdir()
        window = webdriver.Browser(own, {**os.environ, "HOME": str(own)}, size=size, dark=dark)
        try:
            window.open(address)
            window.run("location.hash = arguments[0]", page)
            wait_for(window, sign)
            file = PICTURES / "dash" / f"{name}.png"
            window.screenshot(file)
            make_small(file)
            print(f"wrote {file.relative_to(ROOT)}")
        finally:
            window.close()


def make_small(file):
    """Reduces the colours, which makes the file two thirds smaller; without the library it stays as it is."""
    try:
        from PIL import Image
    except ImportError:
        return
    image = Image.open(file).convert("RGB").quantize(48, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    image.save(file, optimize=True)


def main():
    HOME.mkdir()
    try:
        desk = Desk(HOME, [])
        train(desk)
        command = ["rtrain", "dash", "--port", "0"]
        server = subprocess.Popen(command, executable=RTRAIN, env=desk.env, cwd=HOME, stdout=subprocess.PIPE, text=True)
        try:
            with tempfile.TemporaryDirectory(prefix="rt-browser-", ignore_cleanup_errors=True) as folder:
                take(server.stdout.readline().strip(), folder)
        finally:
            server.terminate()
            server.wait()
    finally:
        shutil.rmtree(HOME)


if __name__ == "__main__":
    main()
