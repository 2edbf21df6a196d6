"""Training steps under train.compile next to the same steps run eagerly, in turn: in one process on one core, and on two
ranks with DistributedDataParallel."""

import os

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.single import sampler

RATIOS = {
    "mlp": 0.90,
    "small_mlp": 0.60,
    "convnet": 1.0,
    "transformer": 0.88,
    "transformer_plain": 1.0,
    "chain": 0.50,
    # alone, forward and backward
    "gelu": 0.67,
    "layer_norm": 0.67,
    "rms_norm": 0.67,
    "softmax": 0.67,
    "cross_entropy": 0.67,
    "dropout": 0.67,
    "forward_mlp": 0.75,
    "forward_transformer": 0.60,
}


def build(config):
    command = [
        config.rtrain,
        "exec",
        os.path.join(sides.HERE, "compiled_step.lua"),
        "quick" if config.quick else "full",
    ]
    return Benchmark(
        name="compiled_step",
        text="a step under train.compile ÷ the same step run eagerly; milliseconds of the three calls before its plan runs",
        metrics=[
            *(Metric(name, "×", f"{name}, compiled / eager", places=3) for name in RATIOS),
            *(Metric(f"{name}_first", "ms", places=1) for name in RATIOS),
        ],
        goals=[Goal(name, limit) for name, limit in RATIOS.items()],
        sides={OWN: sampler(config, OWN, command)},
    )


RATIOS_DDP = {"mlp": 1.0, "small_mlp": 0.80, "convnet": 1.0, "transformer": 0.95}


def build_ddp(config):
    script = os.path.join(sides.HERE, "compiled_ddp.lua")
    command = [config.rtrain, "exec", script, "quick" if config.quick else "full"]
    return Benchmark(
        name="compiled_ddp",
        text="a step of two ranks with DistributedDataParallel under train.compile ÷ the same step run eagerly",
        metrics=[Metric(name, "×", f"{name}, compiled / eager", places=3) for name in RATIOS_DDP],
        goals=[Goal(name, limit) for name, limit in RATIOS_DDP.items()],
        sides={OWN: sampler(config, OWN, command, core=None)},
    )


COMPILER = "torch.compile"
# Against Python's torch.compile: a training step ≤ 0.95 ×, an operator alone ≤ 1.0 ×.
PEER_RATIOS = {
    "mlp": 0.95,
    "convnet": 0.95,
    "transformer": 0.95,
    "transformer_plain": 0.95,
    "gelu": 1.0,
    "layer_norm": 1.0,
    "rms_norm": 1.0,
    "softmax": 1.0,
    "cross_entropy": 1.0,
    "dropout": 1.0,
}


def build_peers(config):
    size = "quick" if config.quick else "full"
    peer = [config.torch_python, os.path.join(sides.PEERS, "compiled_peers.py")]
    commands = {
        OWN: [config.rtrain, "exec", os.path.join(sides.HERE, "compiled_peers.lua"), size],
        COMPILER: [*peer, "compile", size],
        "eager": [*peer, "eager", size],
    }
    return Benchmark(
        name="compiled_peers",
        text="milliseconds of steps under train.compile, Python's torch.compile and Python's eager mode, on one core; "
        "seconds of a step's first four calls",
        metrics=[
            *(Metric(name, "ms", name, places=3) for name in PEER_RATIOS),
            *(Metric(f"{name}_first", "s", f"{name}, first four calls", places=3) for name in PEER_RATIOS),
        ],
        goals=[Goal(name, limit, COMPILER) for name, limit in PEER_RATIOS.items()],
        sides={side: sampler(config, side, command) for side, command in commands.items()},
        rounds=3,
        notes=["torch.compile keeps what it has compiled in a folder: later rounds find it"],
    )
