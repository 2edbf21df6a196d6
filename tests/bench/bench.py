#!/usr/bin/env python3
"""Measures rtrain next to its peers in one run; see README.md. Usually started by scripts/bench."""

import argparse
import json
import os
import sys
from types import SimpleNamespace

from benchmarks.data import dataframe, ingest, jpeg, loader, log_ingest, parquet, stream, tokenizers
from benchmarks.gpu import gpu_airbench, gpu_graphs, gpu_vit
from benchmarks.runs import (
    async_stall,
    checkpoint_report,
    cold_start,
    detection,
    goodput,
    hang_verdict,
    heal,
    kill_recovery,
    memory,
    object_upload,
    programs,
    report,
    report_agent,
    start_agent,
)
from benchmarks.tools import chart, dash, flame, listing, listing_many, repl, stories
from benchmarks.training import (
    cifar_epoch,
    collectives,
    compiled_step,
    epochs,
    examples,
    language_models,
    operators,
    sharded,
    single_process,
    step,
    trees,
    virtual_workers,
    vit_curve,
    watching,
    weak_scaling,
)
from harness.against import compare_executables
from harness.benchmark import OWN, BenchError, Skipped, measure
from harness.machine import describe
from harness.summary import print_summary, summarise

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILDERS = {
    "cold_start": cold_start.build,
    "collectives": collectives.build,
    "collectives_on_hosts": collectives.build_on_hosts,
    "step_convnet": step.build_convnet,
    "step_mlp": step.build_mlp,
    "epochs_convnet": epochs.build_convnet,
    "epochs_mlp": epochs.build_mlp,
    "weak_scaling": weak_scaling.build,
    "sharded_step": sharded.build,
    "kill_recovery": kill_recovery.build,
    "heal": heal.build,
    "detection": detection.build,
    "checkpoint_report": checkpoint_report.build,
    "object_upload": object_upload.build,
    "async_stall": async_stall.build,
    "ingest": ingest.build,
    "hang_verdict": hang_verdict.build,
    "goodput": goodput.build,
    "goodput_often": goodput.build_often,
    "memory": memory.build,
    "listing": listing.build,
    "listing_many": listing_many.build,
    "repl": repl.build,
    "dash": dash.build,
    "dataframe": dataframe.build,
    "chart": chart.build,
    "flame": flame.build,
    "log_ingest": log_ingest.build,
    "operators": operators.build,
    "train_step": single_process.build_steps,
    "compiled_step": compiled_step.build,
    "compiled_ddp": compiled_step.build_ddp,
    "virtual_workers": virtual_workers.build,
    "watching": watching.build,
    "compiled_peers": compiled_step.build_peers,
    "optimizers": single_process.build_optimizers,
    "memory_growth": single_process.build_memory_growth,
    "report": report.build,
    "report_agent": report_agent.build,
    "start_agent": start_agent.build,
    "program_start": programs.build_start,
    "program_report": programs.build_report,
    "loader": loader.build,
    "jpeg": jpeg.build,
    "parquet": parquet.build,
    "tokenizers": tokenizers.build,
    "language_models": language_models.build,
    "stories": stories.build,
    "stream": stream.build,
    "trees": trees.build,
    "trees_stream": trees.build_stream,
    "mnist_accuracy": examples.build_mnist,
    "vit_learns": examples.build_vit,
    "vit_curve": vit_curve.build,
    "cifar_epoch": cifar_epoch.build,
    "gpu_operators": operators.build_gpu,
    "gpu_graphs": gpu_graphs.build,
    "gpu_vit": gpu_vit.build,
    "gpu_airbench": gpu_airbench.build,
}
GPU = tuple(name for name in BUILDERS if name.startswith("gpu_"))  # the benchmarks of --gpu
LONG = (
    "dash",
    "compiled_peers",
    "hang_verdict",
    "goodput",
    "goodput_often",
    "stories",
    "stream",
    "trees_stream",
    "mnist_accuracy",
    "vit_learns",
    "vit_curve",
    "cifar_epoch",
    *GPU,
)  # run only by name: each takes many minutes


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="benchmark", help=f"of {', '.join(BUILDERS)}; default all but {', '.join(LONG)}"
    )
    parser.add_argument("-n", "--rounds", type=int, default=5, help="samples of each side (default 5)")
    parser.add_argument("--batch", type=int, default=64, help="samples a worker and step (default 64)")
    parser.add_argument("--threads", type=int, help="threads a worker (default: cores / 2)")
    parser.add_argument("--sides", help="only these sides, separated by commas; rtrain is always measured")
    parser.add_argument(
        "--against", metavar="EXECUTABLE", help="another rtrain instead of the peers: is this one slower?"
    )
    parser.add_argument("--gpu", action="store_true", help=f"those of a GPU: {', '.join(GPU)}; about 8 minutes")
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), default="cuda", help="cpu: only tries the programs of --gpu"
    )
    parser.add_argument("--quick", action="store_true", help="one round of few steps: does it run at all?")
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--json", default=os.path.join(ROOT, "build", "bench", "result.json"))
    parser.add_argument("--rtrain", default=os.path.join(ROOT, "build", "rtrain"))
    parser.add_argument("--torch-packages", required=True, help="site-packages of Python's torch")
    parser.add_argument("--torch-python", help="Python that imports them (default: that of their virtual environment)")
    parser.add_argument("--ray-python", default="", help="Python of a virtual environment with ray[train]")
    parser.add_argument("--torchft-python", default="", help="Python of a virtual environment with torchft")
    parser.add_argument(
        "--trackers-python", default="", help="Python of a virtual environment with mlflow, trackio and aim"
    )
    parser.add_argument("--transformers-python", default="", help="Python of a virtual environment with transformers")
    parser.add_argument("--oneccl", default="", help="virtual environment with oneccl-devel")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BUILDERS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}: there are {', '.join(BUILDERS)}")
    return options


def configure(options):
    folder = os.path.join(options.torch_packages, "torch", "lib")
    environment = options.torch_packages.split("/lib/python")[0]
    has_ray = os.access(options.ray_python, os.X_OK)
    return SimpleNamespace(
        root=ROOT,
        rtrain=os.path.abspath(options.rtrain),
        torch_python=options.torch_python or os.path.join(environment, "bin", "python"),
        ray_python=options.ray_python,
        ray_missing=None if has_ray else "not installed (scripts/bench --ray installs it)",
        torchft_python=options.torchft_python,
        torchft_missing=None
        if os.access(options.torchft_python, os.X_OK)
        else "not installed (scripts/bench --torchft installs it)",
        trackers_python=options.trackers_python,
        trackers_missing=None
        if os.access(options.trackers_python, os.X_OK)
        else "not installed (scripts/bench --trackers installs it)",
        transformers_python=options.transformers_python,
        transformers_missing=None
        if os.access(options.transformers_python, os.X_OK)
        else "not installed (scripts/bench --transformers installs it)",
        oneccl=options.oneccl,
        libtorch_folder=folder,
        libtorch_file=os.path.join(folder, "libtorch_cpu.so"),
        data=options.data,
        batch=options.batch,
        threads=options.threads or max(1, len(os.sched_getaffinity(0)) // 2),
        quick=options.quick,
        device=options.device,
    )


def keep_sides(benchmark, wanted):
    if not wanted:
        return
    kept = [OWN, *wanted.split(",")]
    benchmark.sides = {side: sample for side, sample in benchmark.sides.items() if side in kept}


def show_progress(benchmark, index, side, sample):
    figures = " ".join(f"{key}={value:.4g}" for key, value in sample.items())
    print(f"{benchmark.name} {index + 1} {side}: {figures}", file=sys.stderr, flush=True)


def run_one(name, config, options):
    benchmark = BUILDERS[name](config)
    if options.against:
        other = SimpleNamespace(**{**vars(config), "rtrain": os.path.abspath(options.against)})
        compare_executables(benchmark, BUILDERS[name](other))
    keep_sides(benchmark, options.sides)
    if name in GPU and config.device == "cpu":
        benchmark.goals = []  # on the CPU the programs are only tried
    rounds = 1 if options.quick else min(options.rounds, benchmark.rounds or options.rounds)
    samples = measure(benchmark, rounds, show_progress)
    summary = summarise(benchmark, samples)
    print_summary(benchmark, summary)
    return summary


def write_json(path, result):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


def main():
    options = parse(sys.argv[1:])
    config = configure(options)
    result = {"machine": describe(config), "benchmarks": [], "skipped": {}, "failed": {}}
    for key, value in result["machine"].items():
        print(f"{key:16} {value}")
    for name in options.names or (GPU if options.gpu else [name for name in BUILDERS if name not in LONG]):
        try:
            result["benchmarks"].append(run_one(name, config, options))
        except Skipped as reason:
            result["skipped"][name] = str(reason)
            print(f"\n{name}: skipped: {reason}", file=sys.stderr)
        except BenchError as error:
            result["failed"][name] = str(error)
            print(f"\n{name}: FAILED: {error}", file=sys.stderr)
        write_json(options.json, result)
    print(f"\nwritten to {options.json}")
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
