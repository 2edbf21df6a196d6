"""The last commit of a run, in a file of its folder, for programs that are started again after a loss."""

import contextlib
import os
import stat

import torch

from horovod.torch.ranks import rank
from rtrain.train import get_context

_NAME = "horovod-elastic.pt"


def _path():
    """The file; None outside of a run."""
    folder = get_context()._fields.get("run_path")
    return os.path.join(folder, _NAME) if folder else None


def write(content):
    """Replaces the commit by this one, on rank 0."""
    path = _path() if rank() == 0 else None
    if path is None:
        return
    part = f"{path}.part"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        torch.save(content, file)
    os.replace(part, path)


def read():
    """The commit of an attempt before this one; None if there is none, and on all ranks but 0."""
    path = _path() if rank() == 0 else None
    if path is None or get_context()._fields["attempt"] == 1:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o022:
            raise PermissionError(f"{path}: another user can have written this commit of hvd.elastic: remove it")
        return torch.load(file, map_location="cpu", weights_only=False)


def forget():
    """Removes it: the training has ended."""
    path = _path() if rank() == 0 else None
    if path is not None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
