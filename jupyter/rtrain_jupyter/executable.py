"""Which rtrain runs the cells."""

import os
import shutil
import sysconfig


def find():
    """$RTRAIN, else the rtrain that was installed with this package, else the one in PATH. FileNotFoundError without one."""
    found = os.environ.get("RTRAIN")
    if found:
        return found
    own = os.path.join(sysconfig.get_path("scripts"), "rtrain")
    found = own if os.access(own, os.X_OK) else shutil.which("rtrain")
    if found is None:
        raise FileNotFoundError("there is no rtrain next to this Python and none in PATH: set RTRAIN to its path")
    return found
