"""The functions for the files in cases/: `from harness import T, call, code, module, wrong`."""

from harness.case import call, code, rows, wrong  # noqa: F401
from harness.fill import T  # noqa: F401
from harness.module import module  # noqa: F401
