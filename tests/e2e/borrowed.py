"""Loads this folder's conftest.py for the conftest.py of another folder, which cannot import a module of its own
name."""

import importlib.util
import pathlib

_spec = importlib.util.spec_from_file_location("e2e_conftest", pathlib.Path(__file__).parent / "conftest.py")
e2e = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(e2e)

NAMES = {name: value for name, value in vars(e2e).items() if not name.startswith("_")}
