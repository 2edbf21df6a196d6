"""The minor versions of LibTorch for which packages contain an engine: those of packaging/libtorch/."""

import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "libtorch"


def minors():
    """['2.11', …], oldest first."""
    return sorted((path.stem for path in FOLDER.glob("*.txt")), key=lambda text: int(text.split(".")[1]))


def sentence():
    """'2.11, 2.12 or 2.13'."""
    *rest, last = minors()
    return f"{', '.join(rest)} or {last}" if rest else last


def requirement():
    """The requirement for pip: 'torch>=2.11,<2.16', excluding versions in between without an engine."""
    numbers = [int(minor.split(".")[1]) for minor in minors()]
    missing = [f"!=2.{number}.*" for number in range(numbers[0], numbers[-1]) if number not in numbers]
    return "torch" + ",".join([f">=2.{numbers[0]}", f"<2.{numbers[-1] + 1}", *missing])
