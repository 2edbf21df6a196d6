"""The data of the dash benchmark: the same runs for rtrain's import and in the stores of MLflow, Trackio and Aim.

python dash_data.py csv FOLDER RUNS METRICS STEPS       FOLDER/run-0000.csv and so on
python dash_data.py mlflow FOLDER RUNS METRICS STEPS    FOLDER/mlflow.db
python dash_data.py trackio FOLDER RUNS METRICS STEPS   a project 'bench' below $TRACKIO_DIR
python dash_data.py aim FOLDER RUNS METRICS STEPS       a repository of Aim
"""

import datetime
import os
import sqlite3
import sys

BEGIN_S = 1_767_225_600  # 2026-01-01


def name_of(run):
    return f"run-{run:04}"


def value(run, metric, step):
    """Returns a noisy, falling value."""
    return 1 / (1 + step / 100) + (step * 7919 + run * 104_729 + metric * 31) % 1000 / 1e5


def csv(folder, runs, metrics, steps):
    head = ",".join(["step", "time", *(f"m{metric}" for metric in range(metrics))])
    for run in range(runs):
        with open(os.path.join(folder, f"{name_of(run)}.csv"), "w") as file:
            file.write(head + "\n")
            for step in range(steps):
                values = ",".join(repr(value(run, metric, step)) for metric in range(metrics))
                file.write(f"{step},{BEGIN_S + step},{values}\n")


def mlflow(folder, runs, metrics, steps):
    """Creates runs through MLflow's client, but inserts points as rows: the client would take a quarter of an hour."""
    from mlflow.tracking import MlflowClient

    path = os.path.join(folder, "mlflow.db")
    client = MlflowClient(f"sqlite:///{path}")
    ids = [client.create_run("0", run_name=name_of(run)).info.run_id for run in range(runs)]
    columns = "(key, value, timestamp, step, is_nan, run_uuid) VALUES(?, ?, ?, ?, 0, ?)"
    with sqlite3.connect(path) as store:
        for run, run_id in enumerate(ids):
            rows = [
                (f"m{metric}", value(run, metric, step), (BEGIN_S + step) * 1000, step, run_id)
                for metric in range(metrics)
                for step in range(steps)
            ]
            store.executemany(f"INSERT INTO metrics{columns}", rows)
            store.executemany(f"INSERT INTO latest_metrics{columns}", rows[steps - 1 :: steps])
    for run_id in ids:
        client.set_terminated(run_id)


def trackio(folder, runs, metrics, steps):
    from trackio.sqlite_storage import SQLiteStorage

    times = [datetime.datetime.fromtimestamp(BEGIN_S + step, datetime.UTC).isoformat() for step in range(steps)]
    for run in range(runs):
        rows = [{f"m{metric}": value(run, metric, step) for metric in range(metrics)} for step in range(steps)]
        SQLiteStorage.bulk_log("bench", name_of(run), rows, steps=list(range(steps)), timestamps=times)


def aim(folder, runs, metrics, steps):
    """Aim's client needs more than a second for a run of 10,000 points."""
    from aim import Repo, Run

    Repo.from_path(folder, init=True)
    quiet = {"system_tracking_interval": None, "capture_terminal_logs": False, "log_system_params": False}
    for number in range(runs):
        run = Run(repo=folder, experiment="bench", **quiet)
        run.name = name_of(number)
        for step in range(steps):
            run.track({f"m{metric}": value(number, metric, step) for metric in range(metrics)}, step=step)
        run.close()


if __name__ == "__main__":
    what, folder, *sizes = sys.argv[1:]
    {"csv": csv, "mlflow": mlflow, "trackio": trackio, "aim": aim}[what](folder, *map(int, sizes))
