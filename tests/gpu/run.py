#!/usr/bin/env python3
"""Runs the tests that need a GPU, with what any machine with one has: rtrain, and a Python that holds torch and pytest.

    run.py [NAME …]      the files whose names contain one of these; without, all

Lua tests (*_test.lua) run by `rtrain exec`, the others (test_*.py) by pytest; several files at once, but those whose head
says "gpu: alone" one by one, each with its budget of time ("gpu: at most 90 s", else 60). Tests of ../cuda whose head says
"gpu:" run too. Without a device all tests are listed as skipped, with the reason. Usually started by scripts/test --gpu,
or by ctest (gpu.NAME).
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree
from dataclasses import asdict, dataclass

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUDGET_S = 60
NO_DEVICE = 4
NAMES_SHOWN = 4
HEAD_CHARACTERS = 600


@dataclass
class Test:
    file: str
    name: str
    status: str  # passed, failed, skipped
    seconds: float = 0.0
    text: str = ""


class File:
    """A file of tests: its requirements, its tests, and its command."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        text = path.read_text()
        head = text[:HEAD_CHARACTERS]
        self.alone = re.search(r"gpu: alone", head) is not None
        budget = re.search(r"gpu:.*at most (\d+) s", head)
        self.budget_s = int(budget.group(1)) if budget else BUDGET_S
        pattern = r"^def (test_\w+|[BF]_\d+\w*)" if path.suffix == ".py" else r"^function Test\w*[.:](test\w*)"
        self.tests = re.findall(pattern, text, re.MULTILINE) or ["all its cases"]

    def command(self, options, report):
        if self.path.suffix == ".lua":
            return [options.rtrain, "exec", str(self.path)]
        pytest = [
            options.python,
            "-m",
            "pytest",
            "-q",
            "-rs",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
            f"--basetemp={os.path.dirname(report)}/pytest",
        ]
        return [*pytest, str(self.path)]

    def results(self, output, report):
        return list(_from_lua(self.name, output) if self.path.suffix == ".lua" else _from_pytest(self.name, report))


def _from_lua(file, output):
    """Yields the results in the output of luaunit.lua."""
    test = None
    for line in output.splitlines():
        fields = line.split("\t")
        if fields[0] in ("PASS", "FAIL") and len(fields) == 3:
            test = Test(file, fields[1], "passed" if fields[0] == "PASS" else "failed", float(fields[2]))
            yield test
        elif fields[0] == "SKIP" and len(fields) == 3:
            yield Test(file, fields[1], "skipped", 0.0, fields[2])
        elif line.startswith("  ") and test and test.status == "failed":
            test.text += line + "\n"


def _from_pytest(file, report):
    if not os.path.exists(report):
        return
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        problem, skipped = case.find("failure"), case.find("skipped")
        problem = problem if problem is not None else case.find("error")
        if problem is not None:
            yield Test(
                file, case.get("name"), "failed", float(case.get("time")), problem.text or problem.get("message")
            )
        elif skipped is not None:
            yield Test(file, case.get("name"), "skipped", 0.0, skipped.get("message"))
        else:
            yield Test(file, case.get("name"), "passed", float(case.get("time")))


def run_file(file, options, deadline):
    """Returns the results of a file; prints its output if it fails or exceeds its time."""
    budget = min(file.budget_s, deadline - time.monotonic())
    if budget <= 0:
        return [
            Test(
                file.name, file.name, "failed", 0.0, f"not started: the {options.seconds:.0f} s for all tests are over"
            )
        ]
    folder = tempfile.mkdtemp(prefix="rtrain-gpu-")
    report, log = os.path.join(folder, "report.xml"), os.path.join(folder, "log")
    start = time.monotonic()
    try:
        with open(log, "wb") as out:
            process = subprocess.Popen(
                file.command(options, report),
                cwd=file.path.parent,
                env=environment(options, folder),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            status = process.wait(budget)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        output = pathlib.Path(log).read_text(errors="replace")
        results = file.results(output, report)
        if status is None or (status != 0 and not any(test.status == "failed" for test in results)):
            how = f"did not end within {budget:.0f} s" if status is None else f"ended with status {status}"
            tail = "\n".join(output.splitlines()[-30:])
            results.append(
                Test(file.name, file.name, "failed", time.monotonic() - start, f"{how}. The end of its output:\n{tail}")
            )
        return results
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(options, folder):
    """Returns the environment variables for both kinds of tests."""
    lua_path = ";".join(f"{ROOT}/tests/{part}/?.lua" for part in ("gpu", "oracle", "modules", "e2e/scripts"))
    given = {
        "RTRAIN": options.rtrain,
        "RTRAIN_SOURCE": str(ROOT),
        "LUA_PATH": f"{lua_path};;",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "RTRAIN_STORAGE": f"{folder}/storage",
        "RTRAIN_RUNTIME_DIR": f"{folder}/runtime",
    }
    return {**os.environ, **given, **options.libraries}


def find_libraries(options):
    """LibTorch and Arrow of that Python where rtrain finds none by itself: a machine's Python may lie anywhere."""
    if environment_of(options)["libtorch"]["found"]:
        return {}
    script = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    found = subprocess.run([options.python, "-c", script], capture_output=True, text=True)
    if found.returncode != 0:
        return {}  # missing_device says so
    packages = pathlib.Path(found.stdout.strip()).parent
    libraries = {"RTRAIN_LIBTORCH": str(packages)}
    if (packages / "pyarrow").is_dir():
        libraries["RTRAIN_ARROW"] = str(packages / "pyarrow")
    return libraries


def environment_of(options):
    done = subprocess.run(
        [options.rtrain, "env", "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, **getattr(options, "libraries", {})},
    )
    if done.returncode != 0:
        sys.exit(f"run.py: {options.rtrain} env: status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def missing_device(options):
    """Why there is no device; None when there is one."""
    cuda = environment_of(options)["cuda"]
    return None if cuda["devices"] > 0 else f"no CUDA device: {cuda['reason']}"


def run_all(files, options, show):
    """Those that share the device side by side, then the others one by one; the results as they come."""
    deadline = time.monotonic() + options.seconds
    results, lock = [], threading.Lock()

    def run_one(file):
        found = run_file(file, options, deadline)
        with lock:
            results.extend(found)
            show(file, found)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run_one, [file for file in files if not file.alone]))
    for file in files:
        if file.alone:
            run_one(file)
    return results


def show_file(file, results):
    counts = {status: sum(test.status == status for test in results) for status in ("passed", "failed", "skipped")}
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    print(
        f"{'FAILED' if counts['failed'] else 'ok':7}{file.name:32} {sum(test.seconds for test in results):6.1f} s  {told}",
        flush=True,
    )


def show_problems(results):
    skipped = {}
    for test in results:
        if test.status == "skipped":
            skipped.setdefault((test.file, test.text), []).append(test.name)
    for (file, reason), names in skipped.items():
        shown = ", ".join(names[:NAMES_SHOWN]) + (
            f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        )
        print(f"skipped  {file}  {reason}: {shown}")
    for test in results:
        if test.status == "failed":
            print(f"\nFAILED  {test.file}  {test.name}\n{test.text}")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rtrain", default=os.environ.get("RTRAIN", str(ROOT / "build" / "rtrain")))
    parser.add_argument("--jobs", type=int, default=max(2, min(6, (os.cpu_count() or 4) // 3)), help="files at once")
    parser.add_argument("--seconds", type=float, default=460, help="for all of them (default 460)")
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument(
        "--status-without-device", type=int, default=NO_DEVICE, help=f"exit status then (default {NO_DEVICE})"
    )
    options = parser.parse_args(arguments)
    options.rtrain = os.path.abspath(options.rtrain)
    options.python = os.environ.get("RTRAIN_TEST_PYTHON") or shutil.which("python3") or sys.executable
    return options


def chosen_files(names):
    paths = [*HERE.glob("*_test.lua"), *HERE.glob("test_*.py")]
    paths += [
        path for path in (HERE.parent / "cuda").glob("*_test.lua") if "gpu:" in path.read_text()[:HEAD_CHARACTERS]
    ]
    names = [pathlib.Path(name).stem for name in names]
    files = [File(path) for path in sorted(paths) if not names or any(name in path.stem for name in names)]
    if not files:
        sys.exit(f"run.py: no file of tests is called {' or '.join(names)}")
    return sorted(files, key=lambda file: -file.budget_s)  # the long ones first


def main():
    options = parse(sys.argv[1:])
    files = chosen_files(options.names)
    options.libraries = find_libraries(options)
    reason = missing_device(options)
    if reason:
        for file in files:
            for test in file.tests:
                print(f"skipped  {file.name}  {test}: {reason}")
        return options.status_without_device
    start = time.monotonic()
    results = run_all(files, options, show_file)
    show_problems(results)
    failed = sum(test.status == "failed" for test in results)
    skipped = sum(test.status == "skipped" for test in results)
    print(f"\n{len(results)} tests, {failed} failed, {skipped} skipped, {time.monotonic() - start:.0f} s")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps([asdict(test) for test in results], indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
