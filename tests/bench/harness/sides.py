"""Starts each side's programs: rtrain, torchrun, Ray Train."""

import os
import socket

from harness.job import Job

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = os.path.join(HERE, "peers")
NO_TRIM = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
    "MALLOC_TOP_PAD_": str(64 << 20),
}


def all_sides(config, program, settings, max_failures=0):
    """Returns functions that start a program on each side, and the reasons for absent sides: ({side: function() ->
    Job}, {side: text}).

    settings(side) returns the program's settings.
    """
    starts = {
        "rtrain": lambda: start_rtrain(config, f"{program}.lua", settings("rtrain"), max_failures),
        "torchrun": lambda: start_torchrun(config, f"torchrun_{program}.py", settings("torchrun"), max_failures),
        "ray": lambda: start_ray(config, program, settings("ray"), max_failures),
    }
    if not config.ray_missing:
        return starts, {}
    del starts["ray"]
    return starts, {"ray": config.ray_missing}


def start_rtrain(config, script, settings, max_failures=0, workers=2):
    def command(storage, events):
        arguments = [
            config.rtrain,
            "run",
            os.path.join(HERE, script),
            "--storage",
            storage,
            "--name",
            "run",
            "-n",
            str(workers),
        ]
        if max_failures:
            arguments += ["--max-failures", str(max_failures)]
        for key, value in {**settings, "events": events}.items():
            arguments += ["--set", f"{key}={value}"]
        return arguments

    return Job("rtrain", command, rtrain_environment(config))


def start_launched(config, program, settings):
    """Starts a Python program on two workers."""

    def command(storage, events):
        return [
            config.rtrain,
            "launch",
            "-n",
            "2",
            "--storage",
            storage,
            "--name",
            "run",
            config.torch_python,
            os.path.join(PEERS, "launched.py"),
            program,
            *_flags(config, settings, storage, events),
        ]

    return Job("launched", command, rtrain_environment(config))


def start_rtrain_on_two_nodes(config, script, settings):
    """Simulates both nodes on this machine: the process of node 0, and an agent with a separate runtime folder. With
    SPREAD, rank 1 runs there.
    """

    def command(storage, events):
        arguments = [config.rtrain, "run", os.path.join(HERE, script), "--storage", storage, "--name", "run"]
        for key, value in {**settings, "events": events}.items():
            arguments += ["--set", f"{key}={value}"]
        folder = os.path.dirname(storage)
        both = (
            'export RTRAIN_RENDEZVOUS="$0/rendezvous"; RTRAIN_NODE_RANK=1 RTRAIN_RUNTIME_DIR="$0/runtime" "$@" & '
            'RTRAIN_NODE_RANK=0 "$@"; status=$?; wait; exit $status'
        )
        return ["sh", "-c", both, folder, *arguments]

    job = {"RTRAIN_NNODES": "2", "RTRAIN_JOB_ID": f"bench-{os.getpid()}", "RTRAIN_MASTER_ADDR": "127.0.0.1"}
    return Job("agent", command, {**rtrain_environment(config), **job})


def rtrain_environment(config):
    return {"RTRAIN_LIBTORCH": config.libtorch_folder, "OMP_NUM_THREADS": str(config.threads)}


def start_torchrun(config, script, settings, max_failures=0, environment=None, name="torchrun"):
    """With max_failures uses a standalone rendezvous: in plain torchrun, restarts find the addresses of the dead group."""
    if max_failures:
        rendezvous = ["--standalone", "--max-restarts", str(max_failures)]
    else:
        rendezvous = ["--master-addr", "127.0.0.1", "--master-port", str(_free_port())]

    def command(storage, events):
        return [
            *(config.torch_python, "-m", "torch.distributed.run", "--nproc-per-node", "2", *rendezvous),
            *(os.path.join(PEERS, script), *_flags(config, settings, storage, events)),
        ]

    fresh_store = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"} if max_failures else {}
    threads = {"OMP_NUM_THREADS": str(config.threads)}
    return Job(name, command, {**threads, **fresh_store, **(environment or {})})


def start_ray(config, program, settings, max_failures=0):
    def command(storage, events):
        flags = _flags(config, settings, storage, events)
        script = os.path.join(PEERS, "ray_program.py")
        return [config.ray_python, script, program, "--max-failures", str(max_failures), *flags]

    environment = {
        "OMP_NUM_THREADS": str(config.threads),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # the default of 15 would lose against other programs on the machine
    }
    return Job("ray", command, environment)


def start_torchft(config, settings):
    """Starts two replicas of one process each."""
    port = _free_port()

    def command(storage, events):
        script = os.path.join(PEERS, "torchft_run.py")
        return [config.torchft_python, script, str(port), *_flags(config, settings, storage, events)]

    return Job("torchft", command, {"OMP_NUM_THREADS": str(config.threads)})


def _flags(config, settings, storage, events):
    arguments = ["--storage", storage, "--events", events, "--data", config.data]
    for key, value in settings.items():
        if key != "data":
            arguments += [f"--{key.replace('_', '-')}", str(value)]
    return arguments


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
