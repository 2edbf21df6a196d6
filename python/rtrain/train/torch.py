"""Ray Train's functions for PyTorch."""

import atexit
import inspect
import os
import shlex
import sys

from rtrain import train
from rtrain._link import link

__all__ = ["TorchConfig", "TorchTrainer", "get_device", "prepare_data_loader", "prepare_model"]


def get_device():
    """This worker's device: cuda:LOCAL_RANK if there are GPUs, else the CPU."""
    import torch

    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def prepare_model(model, move_to_device=True, parallel_strategy="ddp", parallel_strategy_kwargs=None):
    """Returns the model on this worker's device, wrapped in DistributedDataParallel if several workers train."""
    import torch

    device = get_device()
    if move_to_device:
        model = model.to(device)
    if parallel_strategy is None or train.get_context().get_world_size() == 1:
        return model
    if parallel_strategy != "ddp":
        raise ValueError(f"prepare_model: parallel_strategy={parallel_strategy!r}: expected 'ddp' or None")
    _init_process_group()
    options = {"device_ids": [device.index]} if device.type == "cuda" else {}
    return torch.nn.parallel.DistributedDataParallel(model, **{**options, **(parallel_strategy_kwargs or {})})


def prepare_data_loader(data_loader, add_dist_sampler=True, move_to_device=True, auto_transfer=False):
    """Returns a loader of this worker's part of the data, with batches on this worker's device."""
    from torch.utils.data import DataLoader, DistributedSampler, RandomSampler

    context = train.get_context()
    if add_dist_sampler and context.get_world_size() > 1 and not isinstance(data_loader.sampler, DistributedSampler):
        sampler = DistributedSampler(
            data_loader.dataset,
            context.get_world_size(),
            context.get_world_rank(),
            shuffle=isinstance(data_loader.sampler, RandomSampler),
        )
        data_loader = DataLoader(
            data_loader.dataset,
            batch_size=data_loader.batch_size,
            sampler=sampler,
            num_workers=data_loader.num_workers,
            collate_fn=data_loader.collate_fn,
            pin_memory=data_loader.pin_memory,
            drop_last=data_loader.drop_last,
            timeout=data_loader.timeout,
            worker_init_fn=data_loader.worker_init_fn,
            generator=data_loader.generator,
            persistent_workers=data_loader.persistent_workers,
        )
    return _OnDevice(data_loader, get_device()) if move_to_device else data_loader


class _OnDevice:
    """Wraps a loader and moves its batches to a device."""

    def __init__(self, loader, device):
        self._loader, self._device = loader, device

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def __len__(self):
        return len(self._loader)

    def __iter__(self):
        for batch in self._loader:
            yield _moved(batch, self._device)


def _moved(value, device):
    if hasattr(value, "to"):
        return value.to(device, non_blocking=True)
    if isinstance(value, dict):
        return {key: _moved(item, device) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        moved = [_moved(item, device) for item in value]
        return type(value)(*moved) if hasattr(value, "_fields") else type(value)(moved)
    return value


def _init_process_group(backend=None, timeout_s=1800):
    """Forms the process group, and ends it before the interpreter: a thread of Gloo that drops a tensor later aborts the
    process."""
    import datetime

    import torch.distributed as dist
    import torch.distributed.nn.functional  # noqa: F401 (loaded later, its default arguments would keep the group for good)

    if dist.is_initialized() or train.get_context().get_world_size() == 1:
        return
    atexit.register(_end_process_group)
    dist.init_process_group(
        backend or ("nccl" if get_device().type == "cuda" else "gloo"), timeout=datetime.timedelta(seconds=timeout_s)
    )


def _end_process_group():
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()


class TorchConfig:
    """Ray's TorchConfig: the backend of the process group, and its time-out in seconds."""

    def __init__(self, backend=None, init_method="env", timeout_s=1800):
        self.backend, self.init_method, self.timeout_s = backend, init_method, timeout_s


def _storage(place):
    """A folder as an absolute path; the URI of an object store as rtrain keeps it."""
    place = os.fspath(place)
    return place.rstrip("/") if "://" in place else os.path.abspath(os.path.expanduser(place))


def _storage_of(fields):
    """The storage of the run. That of an object store is a folder with its URI in a file."""
    folder = fields.get("storage_path")
    try:
        with open(os.path.join(folder or "", ".object-store")) as file:
            return file.read().strip()
    except OSError:
        return folder


def _without_effect(scaling, run, fields):
    """Settings in a script's configs that the run ignores: (setting, the option for it, or None)."""
    settings = fields.get("run_config", {})
    run, scaling = run or train.RunConfig(), scaling or train.ScalingConfig()
    failures, checkpoints = (
        run.failure_config or train.FailureConfig(),
        run.checkpoint_config or train.CheckpointConfig(),
    )
    storage = run.storage_path and _storage(run.storage_path)
    workers = fields["world_size"] if scaling.num_workers == 1 else scaling.num_workers
    compared = [
        ("RunConfig", "name", run.name, fields["experiment_name"], "--name"),
        ("RunConfig", "storage_path", storage, _storage_of(fields), "--storage"),
        (
            "FailureConfig",
            "max_failures",
            failures.max_failures or None,
            settings.get("max_failures"),
            "--max-failures",
        ),
        ("CheckpointConfig", "num_to_keep", checkpoints.num_to_keep, settings.get("num_to_keep"), "--num-to-keep"),
        (
            "CheckpointConfig",
            "checkpoint_score_attribute",
            checkpoints.checkpoint_score_attribute,
            settings.get("checkpoint_score_attribute"),
            "--checkpoint-score-attribute",
        ),
        (
            "CheckpointConfig",
            "checkpoint_score_order",
            checkpoints.checkpoint_score_attribute and checkpoints.checkpoint_score_order,
            settings.get("checkpoint_score_order", "max"),
            "--checkpoint-score-order",
        ),
        ("ScalingConfig", "num_workers", workers, fields["world_size"], "-n"),
        ("ScalingConfig", "resources_per_worker", scaling.resources_per_worker, None, None),
        ("RunConfig", "callbacks", run.callbacks, None, None),
    ]
    for owner, name, wanted, has, option in compared:
        if wanted and wanted != has:
            yield f"{owner}({name}={wanted!r})", option and f"{option} {shlex.quote(str(wanted))}"
    if scaling.use_gpu and get_device().type != "cuda":
        yield "ScalingConfig(use_gpu=True)", "--gpus all"


def _say_without_effect(scaling, run):
    """Warns once in a run, on rank 0."""
    fields = train.get_context()._fields
    if not link() or fields["world_rank"] != 0 or fields["attempt"] != 1:
        return
    for what, option in _without_effect(scaling, run, fields):
        does = f"rtrain launch {option} does it" if option else "rtrain launch has no option for it"
        print(f"rtrain: {what} has no effect, the run had started: {does}", file=sys.stderr, flush=True)


class TorchTrainer:
    """Ray's TorchTrainer for a script that `rtrain launch` has started on every worker: fit() calls the function here, with the
    process group made. The options of the command count, not what the configs say: where these differ, rank 0 says so."""

    def __init__(
        self,
        train_loop_per_worker,
        *,
        train_loop_config=None,
        torch_config=None,
        scaling_config=None,
        run_config=None,
        datasets=None,
    ):
        if datasets:
            raise ValueError("TorchTrainer: datasets: ray.data is not in rtrain; read the data in the train function")
        self._function, self._config = train_loop_per_worker, train_loop_config
        self._torch_config = torch_config or TorchConfig()
        self._scaling_config, self._run_config = scaling_config, run_config

    def fit(self):
        """Calls the train function, and returns this worker's last report."""
        _say_without_effect(self._scaling_config, self._run_config)
        _init_process_group(self._torch_config.backend, self._torch_config.timeout_s)
        takes_config = len(inspect.signature(self._function).parameters) > 0
        try:
            value = self._function({} if self._config is None else self._config) if takes_config else self._function()
        finally:
            _end_process_group()
        return train.Result(metrics=train._last_metrics, checkpoint=train.get_checkpoint(), return_value=value)
