"""The Jupyter kernel: what Jupyter asks and sees, through jupyter_client."""

import json
import os
import signal
import subprocess
import sys

from conftest import processes_of, wait_until
from kernels import environment, notebook, shared  # noqa: F401  (fixtures)

ENDLESS = """
r = train.TorchTrainer{
  train_loop_per_worker = function()
    local step = 0
    while not train.stop_requested() do
      step = step + 1
      train.report{step = step, loss = 1 / step}
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'endless'},
}:fit()
"""


def test_a_cell_shows_its_last_value_and_what_it_prints(shared):
    assert shared.value("local x = 20\nx + 1") == "21"
    assert shared.value("local y = x; y * 2") == "40", "a local is seen by later cells"
    assert shared.value("_ + 1") == "41"
    assert shared.run("x = 1").of("execute_result") == []
    assert shared.value("torch.arange(3)") == "tensor([0, 1, 2])"
    assert shared.value("{a = 1, b = {2, 3}}") == "{a = 1, b = {2, 3}}"
    cell = shared.run("print 'out'; io.stderr:write 'err\\n'\nfor i = 1, 2 do\n  print(i)\nend")
    assert (cell.stream("stdout"), cell.stream("stderr"), cell.text) == ("out\n1\n2\n", "err\n", None)
    # '-x' goes on with the line above.
    assert shared.value("z = 5\n-x\nz") == "4"
    assert shared.run("silent = 7; silent", silent=True).messages == []
    assert shared.value("silent") == "7"


def test_pictures_have_their_place_among_what_is_printed(shared):
    cell = shared.run("for i = 1, 20 do print(i); train.display(i * 100) end; print 'end'")
    seen = [
        content["text"] if kind == "stream" else content["data"]["text/plain"] + "\n" for kind, content in cell.messages
    ]
    assert "".join(seen) == "".join(f"{i}\n{i * 100}\n" for i in range(1, 21)) + "end\n"


def test_an_error_has_the_line_of_the_cell(notebook):
    cell = notebook.run("local a = 1\nlocal b = a.c.d")
    assert cell.status == "error" and cell.error.startswith("cell 1:2: attempt to index")
    assert "   2 | local b = a.c.d" in cell.traceback
    assert cell.of("error")[0]["evalue"] == cell.error
    notebook.run("function f()\n  error 'no'\nend")
    cell = notebook.run("f()")
    assert cell.error == "cell 2:2: no" and "cell 3:1" in cell.traceback
    assert notebook.run("if a then").error == "cell 4:1: 'end' expected near '<eof>'"
    assert "Python's None is written nil" in notebook.run("x = None").error
    assert notebook.value("a") == "1"


def test_names_are_completed_and_explained(shared):
    found = shared.ask("complete", "y = 1\ntorch.matm + 1", 16)
    assert found["matches"] == ["matmul"] and (found["cursor_start"], found["cursor_end"]) == (12, 16)
    found = shared.ask("complete", "s = 'ä'; string.repr".replace("repr", "re"), 18)
    assert found["matches"] == ["rep", "reverse"] and found["cursor_start"] == 16
    shown = shared.ask("inspect", "l = nn.Linear(1, 2)", 8)
    assert shown["found"] and "in_features" in shown["data"]["text/markdown"]
    assert not shared.ask("inspect", "no_such_name", 4)["found"]
    for asked in ("?nn.Linear", "nn.Linear?", "? nn.Linear"):
        (content,) = shared.run(asked).of("display_data")
        assert content["data"]["text/markdown"].startswith("```lua\nnn.Linear(in_features")
    assert "no_such_name" in shared.run("?no_such_name").error
    assert "terminals" in shared.run("%edit").error


def test_what_the_kernel_says_of_itself(shared):
    info = shared.ask("kernel_info")
    assert (info["implementation"], info["language_info"]["name"]) == ("rtrain", "lua")
    assert info["supported_features"] == [], "no debugger of Python"


def test_whether_code_is_complete(shared):
    cases = {"x = 1": "complete", "for i = 1, 2 do": "incomplete", "x = = 1": "invalid", "nn.Linear?": "complete"}
    assert {code: shared.ask("is_complete", code)["status"] for code in cases} == cases


def test_an_interrupt_stops_a_cell_and_leaves_its_variables(shared):
    shared.run("kept = 3")

    def interrupt(kind, content):
        shared.interrupt()

    cell = shared.run("print 'begun'; while true do end", on_message=interrupt)
    assert cell.status == "error" and cell.error.endswith("interrupted")
    assert shared.value("kept") == "3"
    shared.interrupt()  # between cells
    assert shared.value("kept + 1") == "4"


def test_an_interrupt_stops_a_run(rtrain, notebook):
    seen = []

    def interrupt(kind, content):
        if "loss" in content.get("data", {}).get("text/plain", "") and not seen:
            seen.append(kind)
            notebook.interrupt()

    notebook.run("kept = 3")
    cell = notebook.run(ENDLESS, on_message=interrupt)
    assert seen == ["update_display_data"] and cell.error == "interrupted"
    assert rtrain.statuses("endless")[-1] == "ABORTED"
    assert notebook.value("kept") == "3"


def test_a_process_that_dies_is_said_and_started_again(notebook):
    notebook.run("kept = 3")
    cell = notebook.run("os.exit(3)")
    assert cell.error == "rtrain has ended with exit code 3: its variables are lost, the next cell starts it again"
    assert notebook.run("kept").of("execute_result") == []
    assert "SIGKILL" in notebook.run("os.execute 'kill -KILL $PPID'").error
    assert notebook.value("1 + 1") == "2"


def test_a_restart_forgets_and_leaves_no_process(rtrain, notebook):
    notebook.client.execute(ENDLESS)
    wait_until(lambda: len(processes_of(rtrain.storage)) > 4, message="the workers")
    before = set(processes_of(rtrain.storage))
    notebook.manager.restart_kernel()
    notebook.client.wait_for_ready(timeout=60)
    wait_until(lambda: not before & set(processes_of(rtrain.storage)), message="the end of the old processes")
    assert notebook.run("kept").of("execute_result") == []


def test_a_killed_kernel_leaves_no_process(rtrain, notebook):
    notebook.client.execute(ENDLESS)
    wait_until(lambda: len(processes_of(rtrain.storage)) > 4, message="the workers")
    os.kill(notebook.manager.provisioner.process.pid, signal.SIGKILL)
    wait_until(lambda: not processes_of(rtrain.storage), message="the end of all processes")


def test_a_request_that_nobody_knows_is_answered_by_an_error(rtrain):
    code = """
import sys
from rtrain_jupyter.repl import Repl
repl = Repl(print, print)
repl.interrupt()  # too early: there is no cell
print(repl.ask("dance")["error"]["message"])
print(repl.ask("execute", code="x" * (17 << 20), number=1, silent=False)["error"]["code"])
print(repl.ask("execute", code="x = 1", number=1, silent=False)["type"])
repl.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(rtrain), capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines() == ["there is no request 'dance'", "usage", "answer"], done.stderr


def test_the_kernel_is_installed_and_removed(rtrain, tmp_path):
    def command(*words):
        return subprocess.run(
            [sys.executable, "-m", "rtrain_jupyter.install", *words],
            env={**environment(rtrain), "JUPYTER_PATH": str(tmp_path / "env/share/jupyter")},
            capture_output=True,
            text=True,
        )

    done = command("install", "--prefix", str(tmp_path / "env"), "--name", "lua-1", "--executable", "/opt/rtrain")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "env/share/jupyter/kernels/lua-1"
    spec = json.loads((folder / "kernel.json").read_text())
    assert spec["argv"] == [sys.executable, "-m", "rtrain_jupyter", "-f", "{connection_file}"]
    assert spec["language"] == "lua" and spec["env"] == {"RTRAIN": "/opt/rtrain"}
    assert "not one of rtrain" in command("uninstall", "--name", "python3").stderr
    assert command("uninstall", "--name", "lua-1").returncode == 0 and not folder.exists()
    assert "knows no kernel" in command("uninstall", "--name", "lua-1").stderr
