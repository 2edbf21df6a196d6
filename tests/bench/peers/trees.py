"""Gradient-boosted trees with Python's xgboost. Prints "name<TAB>number" lines. Twin of ../trees.lua: change both.

trees.py make FILE ROWS         writes a NumPy file of 28 features and a label
trees.py train FILE ROUNDS      trains from that file
trees.py stream FOLDER ROUNDS   trains from Parquet files, with the bins in files
"""

import glob
import os
import sys
import time

import numpy as np
import xgboost

FEATURES, THREADS = 28, 2
PARAMS = {"objective": "binary:logistic", "max_depth": 6, "eta": 0.1, "nthread": THREADS, "seed": 1, "verbosity": 0}


def make(path, rows):
    x = np.random.default_rng(0).standard_normal((int(rows), FEATURES)).astype("float32")
    y = (x[:, 0] * 2 + x[:, 1] * x[:, 2] > 0).astype("float32")
    np.save(path, np.column_stack([x, y]))


def train(path, rounds):
    rows = np.load(path)
    x, y = np.ascontiguousarray(rows[:, :FEATURES]), np.ascontiguousarray(rows[:, FEATURES])
    start = time.perf_counter()
    dtrain = xgboost.QuantileDMatrix(x, y, nthread=THREADS)
    made = time.perf_counter()
    booster = xgboost.train(PARAMS, dtrain, int(rounds))
    trained = time.perf_counter()
    booster.predict(xgboost.DMatrix(x, nthread=THREADS))
    finish = time.perf_counter()
    print(
        f"matrix\t{made - start:.6f}\nrounds\t{trained - made:.6f}\npredict\t{finish - trained:.6f}\nall\t{finish - start:.6f}"
    )


class Files(xgboost.DataIter):
    """Yields a batch for each row group."""

    def __init__(self, folder, cache_prefix):
        self.paths = sorted(glob.glob(folder + "/*.parquet"))
        super().__init__(cache_prefix=cache_prefix, on_host=False)

    def reset(self):
        self.groups = self.each_group()

    def each_group(self):
        import pyarrow.parquet as pq

        for path in self.paths:
            file = pq.ParquetFile(path)
            for i in range(file.num_row_groups):
                table = file.read_row_group(i, use_threads=False)
                columns = {name: table[name].to_numpy() for name in table.column_names}
                label = columns.pop("label")
                yield np.column_stack(list(columns.values())), label

    def next(self, input_data):
        x, y = next(self.groups, (None, None))
        if x is None:
            return False
        input_data(data=x, label=y)
        return True


def stream(folder, rounds):
    start = time.perf_counter()
    dtrain = xgboost.ExtMemQuantileDMatrix(Files(folder, os.path.join(folder, "..", "trees-cache")), nthread=THREADS)
    made = time.perf_counter()
    xgboost.train(PARAMS, dtrain, int(rounds))
    megabytes = dtrain.num_row() * (FEATURES + 1) * 4 / 1e6
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
    print(
        f"peak\t{peak:.1f}\nspeed\t{megabytes / (made - start):.1f}\nround\t{(time.perf_counter() - made) / int(rounds):.6f}"
    )


if __name__ == "__main__":
    {"make": make, "train": train, "stream": stream}[sys.argv[1]](*sys.argv[2:])
