"""The loop of the log_ingest benchmark in Python, the twin of ../log_ingest.lua: writes points to a tracker as fast as
possible.

python log_ingest.py TRACKER FOLDER WRITERS STEPS      prints points per second, until all of them are stored
"""

import os
import sys
import time
from multiprocessing import get_context

START_S, WRITE_S = 300, 120


def values_of(step):
    return {
        "loss": 1 / step,
        "accuracy": 1 - 1 / step,
        "lr": 0.1,
        "grad_norm": (step * 7919) % 1000 / 1000,
        "epoch": 1.0,
    }


def tensorboard(folder, rank, begin):
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(os.path.join(folder, str(rank)))
    begin()

    def log(values, step):
        for name, value in values.items():
            writer.add_scalar(name, value, step)

    return log, writer.close


def mlflow(folder, rank, begin):
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    run = mlflow.start_run(run_name=str(rank))
    begin()
    return lambda values, step: mlflow.log_metrics(values, step=step, run_id=run.info.run_id), mlflow.end_run


def trackio(folder, rank, begin):
    os.environ["TRACKIO_DIR"] = folder
    import trackio

    trackio.init(project="bench", name=str(rank), embed=False)
    begin()
    return lambda values, step: trackio.log(values, step=step), trackio.finish


def prepare_mlflow(folder):
    """One process creates the tables, because several at once disturb each other."""
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.get_experiment_by_name("Default")


PREPARE = {"mlflow": prepare_mlflow}
TRACKERS = {"tensorboard": tensorboard, "mlflow": mlflow, "trackio": trackio}


def write(tracker, folder, rank, steps, barrier, times):
    started = []

    def begin():
        barrier.wait()
        started.append(time.monotonic())

    log, close = TRACKERS[tracker](folder, rank, begin)
    for step in range(1, steps + 1):
        log(values_of(step), step)
    close()
    times.put((started[0], time.monotonic()))


def main():
    tracker, folder, writers, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    context = get_context("spawn")
    if tracker in PREPARE:
        first = context.Process(target=PREPARE[tracker], args=(folder,))
        first.start()
        first.join()
    barrier, times = context.Barrier(writers, timeout=START_S), context.Queue()
    given = (steps, barrier, times)
    processes = [
        context.Process(target=write, args=(tracker, folder, rank, *given), daemon=True) for rank in range(writers)
    ]
    for process in processes:
        process.start()
    taken = [times.get(timeout=START_S + WRITE_S) for _ in processes]
    for process in processes:
        process.join()
    seconds = max(end for _, end in taken) - min(begin for begin, _ in taken)
    print(f"rate\t{len(values_of(1)) * steps * writers / seconds}")


if __name__ == "__main__":
    main()
