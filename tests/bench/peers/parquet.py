"""Scans of Parquet files by pyarrow. Prints "name<TAB>milliseconds" lines. Twin of ../parquet.lua: change both.

parquet.py make FILE ROWS             writes the file that is scanned
parquet.py one|all quick|full SET=FILE …   scans with one thread, or with pyarrow's default
"""

import statistics
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq


def make(path, rows):
    import numpy as np

    random = np.random.default_rng(0)
    names = np.array(["cat", "dog", "a longer name"])
    table = pa.table(
        {
            "id": np.arange(rows),
            "x": random.standard_normal(rows).astype("float32"),
            "y": random.standard_normal(rows),
            "label": random.integers(0, 10, rows),
            "name": pa.array([f"row number {i}" for i in range(rows)]),
            "class": pa.array(names[random.integers(0, 3, rows)]),
        }
    )
    pq.write_table(table, path, row_group_size=200_000)


def scan(paths, threads):
    start, rows = time.perf_counter(), 0
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(use_threads=threads):
            rows += batch.num_rows
    assert rows > 0
    return (time.perf_counter() - start) * 1e3


def main():
    if sys.argv[1] == "make":
        return make(sys.argv[2], int(sys.argv[3]))
    threads, count, sets = sys.argv[1] == "all", 1 if sys.argv[2] == "quick" else 7, {}
    for argument in sys.argv[3:]:
        name, _, path = argument.partition("=")
        sets.setdefault(name, []).append(path)
    for name, paths in sets.items():
        scan(paths, threads)
        print(f"{name}\t{statistics.median(scan(paths, threads) for _ in range(count)):.6f}")


if __name__ == "__main__":
    main()
