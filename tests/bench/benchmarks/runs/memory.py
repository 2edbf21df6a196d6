"""Proportional memory (PSS) of all processes of a run with two workers, at step 100 of the ConvNet."""

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric
from harness.job import check_libtorch, proportional_bytes

NAME = "memory"
TIMEOUT_S = 180
ENDLESS = 1_000_000
MIB = 1 << 20


def build(config):
    settings = {"model": "convnet", "steps": ENDLESS, "batch": config.batch, "data": config.data}
    at_step = 5 if config.quick else 100
    starts, skipped = sides.all_sides(config, "train", lambda side: settings)
    return Benchmark(
        name=NAME,
        text=f"MiB of PSS at step {at_step}; the data are 188 MB of float32 in each worker",
        metrics=[
            Metric("others", "MiB", "all but the workers", 1),
            Metric("worker", "MiB", "a worker", 1),
            Metric("total", "MiB", "total", 1),
            Metric("processes", "", places=0),
        ],
        goals=[Goal("total", 0.40, "torchrun"), Goal("total", 0.22, "ray")],
        sides={side: _sampler(config, start, at_step) for side, start in starts.items()},
        skipped=skipped,
    )


def _sampler(config, start, at_step):
    def sample():
        with start() as job:
            job.wait_for(lambda: _last_step(job) >= at_step, f"step {at_step}", TIMEOUT_S, poll_s=0.05)
            workers = {job.events(rank)[-1].pid for rank in range(2)}
            for pid in workers:
                check_libtorch(config, job, pid)
            sizes = {pid: proportional_bytes(pid) / MIB for pid in job.processes()}
            of_workers = sum(sizes[pid] for pid in workers)
            total = sum(sizes.values())
            return {"others": total - of_workers, "worker": of_workers / 2, "total": total, "processes": len(sizes)}

    return sample


def _last_step(job):
    marks = [[e.value for e in job.events(rank) if e.name == "step"] for rank in range(2)]
    return min(max(values, default=0) for values in marks)
