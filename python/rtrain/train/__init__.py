"""Ray Train's functions for a training script that rtrain runs: `rtrain launch -n 4 train.py`.

    import rtrain.train as train
    train.report({"loss": 0.1}, checkpoint=train.Checkpoint.from_directory(folder))

Outside of rtrain they do no harm: report() and log() do nothing, the context is that of a single worker.
"""

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import Any

from rtrain._link import link, plain

__all__ = [
    "Checkpoint",
    "CheckpointConfig",
    "FailureConfig",
    "Result",
    "RunConfig",
    "ScalingConfig",
    "TrainContext",
    "get_checkpoint",
    "get_context",
    "log",
    "report",
    "stop_requested",
]


class Checkpoint:
    """A folder. Ray's ray.train.Checkpoint, for local folders."""

    def __init__(self, path):
        self.path = os.fspath(path)

    @classmethod
    def from_directory(cls, path):
        """The folder as a checkpoint."""
        return cls(path)

    def to_directory(self, path=None):
        """Copies it; into a temporary folder without a path. Returns the folder."""
        path = path or tempfile.mkdtemp(prefix="rtrain-checkpoint-")
        shutil.copytree(self.path, path, dirs_exist_ok=True)
        return path

    @contextlib.contextmanager
    def as_directory(self):
        """The folder itself, to be read."""
        yield self.path

    def __repr__(self):
        return f"Checkpoint(path={self.path})"


class TrainContext:
    """The rank, world size and run of this worker. Ray's ray.train.TrainContext."""

    def __init__(self, fields):
        self._fields = fields

    def get_world_size(self):
        return self._fields["world_size"]

    def get_world_rank(self):
        return self._fields["world_rank"]

    def get_local_rank(self):
        return self._fields["local_rank"]

    def get_local_world_size(self):
        return self._fields["local_world_size"]

    def get_node_rank(self):
        return self._fields["node_rank"]

    def get_experiment_name(self):
        return self._fields["experiment_name"]


_ALONE = {
    "world_size": 1,
    "world_rank": 0,
    "local_rank": 0,
    "local_world_size": 1,
    "node_rank": 0,
    "experiment_name": "",
    "attempt": 1,
}
_context = None
_last_metrics = None


def get_context():
    """The context of this worker; outside of rtrain rank 0 of 1."""
    global _context
    if _context is None:
        _context = TrainContext(link().ask("context") if link() else _ALONE)
    return _context


def report(
    metrics: dict[str, Any],
    checkpoint: Checkpoint | None = None,
    checkpoint_dir_name: str | None = None,
    checkpoint_upload_mode: str | None = None,
    delete_local_checkpoint_after_upload: bool | None = None,
):
    """Reports metrics, and a checkpoint if there is one, as ray.train.report does: every rank calls it equally often, rank 0's
    metrics are the run's. With a checkpoint it returns when that is committed (checkpoint_upload_mode "SYNC") or at once
    ("ASYNC"). Without one it does not wait until the worker, the process that has started this one, has taken it. TypeError for
    what is not plain data, ValueError beyond 1 MiB, RuntimeError when the checkpoint cannot be committed.
    """
    global _last_metrics
    values = {"metrics": plain(metrics)}
    _last_metrics = dict(metrics)
    worker = link()
    if worker is None:
        return
    if checkpoint is None:
        worker.tell("report", **values)
        return
    mode = getattr(checkpoint_upload_mode, "name", checkpoint_upload_mode)
    options = {
        "checkpoint": os.path.abspath(checkpoint.path),
        "checkpoint_dir_name": checkpoint_dir_name,
        "checkpoint_upload_mode": mode,
        "delete_local_checkpoint_after_upload": delete_local_checkpoint_after_upload,
    }
    worker.ask("report", **values, **{name: value for name, value in options.items() if value is not None})


def get_checkpoint() -> Checkpoint | None:
    """The checkpoint to continue from; None if there is none."""
    path = link().ask("get_checkpoint") if link() else None
    return Checkpoint(path) if path else None


def stop_requested() -> bool:
    """Whether the run is to stop: true on all ranks at the same call, which all make equally often. A script that never calls
    it gets SIGTERM instead."""
    return bool(link() and link().ask("stop_requested"))


def log(metrics: dict[str, float], step: int | None = None):
    """Records numbers of a step, on any rank, at any rate. Does not wait."""
    values = plain(metrics)
    if link():
        link().tell("log", metrics=values, **({} if step is None else {"step": step}))


@dataclass
class ScalingConfig:
    """Ray's ScalingConfig. Under `rtrain launch` the command sets the number of workers."""

    num_workers: int = 1
    use_gpu: bool = False
    resources_per_worker: dict[str, float] | None = None
    placement_strategy: str = "PACK"
    accelerator_type: str | None = None


@dataclass
class FailureConfig:
    """Ray's FailureConfig. Under `rtrain launch` --max-failures is used; TorchTrainer warns if this differs."""

    max_failures: int = 0
    controller_failure_limit: int = -1


@dataclass
class CheckpointConfig:
    """Ray's CheckpointConfig. Under `rtrain launch` --num-to-keep and --checkpoint-score-attribute are used."""

    num_to_keep: int | None = None
    checkpoint_score_attribute: str | None = None
    checkpoint_score_order: str = "max"


@dataclass
class RunConfig:
    """Ray's RunConfig. Under `rtrain launch` --name and --storage are used."""

    name: str | None = None
    storage_path: str | None = None
    failure_config: FailureConfig | None = None
    checkpoint_config: CheckpointConfig | None = None
    callbacks: list[Any] | None = None


@dataclass
class Result:
    """The result of a trainer's fit(): the last report of this worker."""

    metrics: dict[str, Any] | None = None
    checkpoint: Checkpoint | None = None
    error: Exception | None = None
    path: str | None = None
    metrics_dataframe: Any = field(default=None, repr=False)
    return_value: Any | None = None
