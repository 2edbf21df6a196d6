"""rtrain repl: the result of a line, in a pipe and at a terminal with keys."""

import os
import re
import signal
import subprocess

import pytest

from conftest import RTRAIN
from test_terminal import OnTerminal

TAB = b"\t"
CTRL_C = b"\x03"
CTRL_D = b"\x04"
UP = b"\x1b[A"


@pytest.fixture
def piped(rtrain):
    """Returns the output of the lines; stderr is merged in the order of a terminal if requested."""

    def run(text, **env):
        return subprocess.run(
            [RTRAIN, "repl"],
            cwd=rtrain.folder,
            env={**rtrain.env, **env},
            input=text.encode(),
            capture_output=True,
            timeout=120,
        )

    return run


def lines_of(result):
    return result.stdout.decode().splitlines()


class Typing:
    """rtrain repl at a terminal."""

    def __init__(self, rtrain, **env):
        self._before = dict(rtrain.env)
        rtrain.env.update({"TERM": "xterm", **env})
        self._terminal = OnTerminal(rtrain, "repl", has_keys=True)
        rtrain.env = self._before
        self.pid = self._terminal.process.pid
        self._shown = 0
        self.wait_for(r"ends\s+> ")

    def wait_for(self, pattern):
        """Waits until the terminal has shown the pattern since the last keys; returns the text without cursor
        movements."""
        self._terminal.read_until(re.compile(pattern, re.DOTALL), shown=self._text)
        return self._text(self._terminal.output)

    def _text(self, output):
        return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\r|\x08", b"", output[self._shown :]).decode(errors="replace")

    def press(self, keys):
        self._shown = len(self._terminal.output)
        self._terminal.write(keys)

    def line(self, text, pattern=r"\n.*> $"):
        """Types a line and waits for its output, up to the next prompt."""
        self.press(text.encode() + b"\n")
        return self.wait_for(pattern)

    def end(self):
        """Types Ctrl-D; returns the exit code."""
        self.press(CTRL_D)
        self._terminal.end()
        return self._terminal.process.returncode


@pytest.fixture
def typing(rtrain):
    sessions = []

    def start(**env):
        sessions.append(Typing(rtrain, **env))
        return sessions[-1]

    yield start
    for session in sessions:
        session._terminal.process.kill()
        session._terminal.process.wait()


def test_expressions_are_shown_as_print_shows_them(piped):
    result = piped("""\
1 + 1
torch.ones(2, 3)
{a = 1, b = {1, 2}}, 'two'
nn.Linear(2, 3), nil
print('printed')
x = 5
= x
_ + 1
""")
    assert result.returncode == 0 and result.stderr == b""
    assert lines_of(result) == [
        "2",
        "tensor([[1., 1., 1.],",
        "        [1., 1., 1.]])",
        "{a = 1, b = {1, 2}}\ttwo",
        "Linear(in_features=2, out_features=3, bias=True)\tnil",
        "printed",
        "5",
        "6",
    ]


def test_a_local_is_there_on_the_next_line(piped):
    result = piped("""\
local x, y = 3
x, y
local function twice(n) return 2 * n end
twice(x)
local z
z
do local x = 7; inner = x end
x, inner
local text = 'local in a string' -- local in a comment
text
local n = 0; function count() n = n + 1; return n end
count(), count(), n
""")
    assert result.returncode == 0, result.stderr
    assert lines_of(result) == ["3\tnil", "6", "nil", "3\t7", "local in a string", "1\t2\t2"]


def test_a_chunk_goes_on_until_it_is_complete(piped):
    result = piped("""\
function square(n)

  return n * n
end
square(
  3)
for i = 1, 2 do
  print(i)
end
[[a
b]]
-- nothing
1 --[[ a
comment ]] + 1
""")
    assert result.returncode == 0, result.stderr
    assert lines_of(result) == ["9", "1", "2", "a", "b", "2"]


def test_an_error_shows_the_line_and_keeps_the_state(piped):
    result = piped("""\
x = 4
y = x + nothing.there
local function fails()
  error('my own')
end
fails()
torch.zeros(2) + torch.zeros(3)
x
""")
    assert result.returncode == 1
    assert lines_of(result) == ["4"]
    shown = result.stderr.decode()
    assert "rtrain: repl:2: attempt to index global 'nothing' (a nil value)\n   2 | y = x + nothing.there\n" in shown
    assert "rtrain: repl:4: my own\n   4 |   error('my own')\n" in shown
    assert "repl:6: in function" in shown, "how it came there"
    assert "rtrain: repl:7: add: " in shown


@pytest.mark.parametrize(
    "lines, code",
    [
        ("1\n", 0),
        ("error 'x'\ntrain.ScalingConfig{num_worker = 1}\n", 1),
        ("train.ScalingConfig{num_worker = 1}\nerror 'x'\n", 3),
        ("if true then", 1),
        ("if x != 1 then end\n", 1),
        ("exit\nerror 'x'\n", 0),
        ("os.exit(7)\n", 7),
    ],
)
def test_the_exit_code_is_that_of_the_first_error(piped, lines, code):
    assert piped(lines).returncode == code


def test_what_python_would_have_written_is_explained(piped):
    errors = piped("x = None\nif x != 1 then end\n").stderr.decode()
    assert "None" in errors and "nil" in errors and "~=" in errors


def test_a_line_may_read_the_input(piped):
    result = piped("name = io.read()\nAda\nname\n")
    assert lines_of(result) == ["Ada"]


def test_no_libtorch_is_needed_before_the_first_tensor(piped, rtrain):
    result = piped("1 + 1\nnn.Linear\ntorch.ones(1)\n'still here'\n", RTRAIN_LIBTORCH=str(rtrain.folder))
    assert lines_of(result) == ["2", "class Linear", "still here"]
    assert result.returncode == 4 and b"LibTorch" in result.stderr


def test_help_of_names_and_of_what_the_session_calls_so(piped):
    text = piped(
        "? torch.matmul\nt = torch.ones(2)\n? t:view\nnet = nn.Linear(1, 1)\n? net.weight\n? \n"
    ).stdout.decode()
    assert "Computes the matrix product" in text and "x:view(" in text and "%time EXPR" in text
    result = piped("? torch.matmull\n")
    assert b"did you mean 'matmul'" in result.stderr and result.returncode == 2


def test_time_of_an_expression(piped):
    result = piped("%time 1 + 1\n%time x = 3\nx\n%tim 1\n%time\n")
    shown = lines_of(result)
    assert [shown[0], shown[3]] == ["2", "3"] and len(shown) == 4
    for line in shown[1:3]:
        assert re.fullmatch(r"time: [\d.e+-]+ (µs|ms|s) \(CPU [\d.e+-]+ (µs|ms|s)\)", line)
    assert b"did you mean '%time'" in result.stderr and b"expected an expression" in result.stderr


def test_edit_runs_what_the_editor_has_written(piped, rtrain):
    editor = rtrain.folder / "editor"
    editor.write_text('#!/bin/sh\ncat "$1" > seen\nprintf "local edited = 6\\nedited * 7\\n" > "$1"\n')
    editor.chmod(0o755)
    result = piped("base = 1\n%edit\nedited\n", EDITOR=str(editor), VISUAL="")
    assert result.returncode == 1, "two statements are not an expression"
    editor.write_text('#!/bin/sh\ncat "$1" > seen\nprintf "local edited = 6\\nprint(edited * 7)\\n" > "$1"\n')
    result = piped("base = 1\n%edit\nedited\n", EDITOR=str(editor))
    assert lines_of(result) == ["42", "6"] and result.returncode == 0, result.stderr
    assert (rtrain.folder / "seen").read_text() == "base = 1\n"
    assert piped("%edit own.lua\n", EDITOR=str(editor)).stdout == b"42\n"
    assert (rtrain.folder / "own.lua").exists()
    assert b"failed" in piped("%edit\n", EDITOR="false").stderr


def test_modules_of_the_folder_are_read_again(rtrain, typing):
    rtrain.script("local util = {}\nfunction util.scale() return 2 end\nreturn util", "util.lua")
    rtrain.script(
        """
        local nn = require 'torch'.nn
        local util = require 'util'
        local Net = nn.Module:extend 'Net'
        function Net:forward(x) return x * util.scale() end
        return Net
        """,
        "net.lua",
    )
    session = typing()
    session.line("Net, util = require 'net', require 'util'")
    session.line("net = Net()")
    assert "\n4\n" in session.line("net(2)")
    rtrain.script("local util = {}\nfunction util.scale() return 10 end\nreturn util", "util.lua")
    assert "read again: net, util" in session.line(":reload")
    assert "\n20\n" in session.line("net(2)"), "an object that was there"
    assert "\n10\n" in session.line("util.scale()")
    rtrain.script("return {", "util.lua")
    assert "util.lua:1:" in session.line(":reload")
    assert "\n20\n" in session.line("net(2)"), "as before"
    assert session.end() == 0


def test_training_from_the_session(piped):
    result = piped("""\
local scale = 3
local function train_func(config)
  train.report{loss = scale * config.lr}
end
local trainer = train.TorchTrainer{train_loop_per_worker = train_func, train_loop_config = {lr = 2},
  scaling_config = train.ScalingConfig{num_workers = 2}}
local result = trainer:fit()
result.metrics.loss
""")
    assert result.returncode == 0, result.stderr
    assert lines_of(result)[-1] == "6"


def test_names_and_paths_are_completed(rtrain, typing):
    (rtrain.folder / "weights").mkdir()
    (rtrain.folder / "weights" / "best-model.pt").write_text("")
    session = typing()
    session.press(b"torch.nn.Linea" + TAB)
    session.wait_for("torch.nn.Linear")
    session.press(b"(2, 3).weight.shape\n")
    assert "torch.Size([3, 2])" in session.wait_for("> $")
    session.line("x = torch.ones(2)")
    session.press(b"x:unsq" + TAB + TAB)
    assert re.search(r"\nunsqueeze +unsqueeze_", session.wait_for("unsqueeze_.*> x:unsqueeze"))
    session.press(b"(0).shape\n")
    assert "torch.Size([1, 2])" in session.wait_for("> $")
    session.line("model = nn.Sequential(nn.Linear(1, 1))")
    session.press(b"model:state_d" + TAB + b"()['0.bias'].shape\n")
    assert "torch.Size([1])" in session.wait_for("> $")
    session.press(b"io.open('weights/be" + TAB + b"):close()\n")
    assert "'weights/best-model.pt'" in session.wait_for("> $")
    session.press(b"x.requi" + TAB + b"\n")
    assert "\nfalse\n" in session.wait_for("> $")
    session.press(b"thi" + TAB + TAB + b"s_is_nothing\n")
    assert "nil" in session.wait_for("> $")
    assert session.end() == 0


def test_names_of_torch_are_completed_before_libtorch_is_loaded(rtrain, typing):
    session = typing(RTRAIN_LIBTORCH=str(rtrain.folder))
    session.press(b"torch.matmu" + TAB)
    session.wait_for("torch.matmul")
    session.press(CTRL_C)
    session.wait_for("> $")
    assert session.end() == 0


def test_an_incomplete_chunk_has_another_prompt(typing):
    session = typing()
    session.line("function f()", r"\n>> $")
    session.line("  return 3", r"\n>> $")
    session.line("end")
    assert "\n3\n" in session.line("f()")
    session.line("function g()", r"\n>> $")
    session.press(CTRL_C)
    session.wait_for(r"\n> $")
    assert "\nnil\n" in session.line("g"), "Ctrl-C has dropped the lines"
    session.line("(", r"\n>> $")
    session.press(CTRL_D)
    session.wait_for(r"\n> $")
    assert session.end() == 0


@pytest.mark.parametrize(
    "busy",
    [
        "while true do end",
        "local n = 0; for i = 1, 1e15 do n = n + i % 7 end",
        "x = torch.ones(2); while true do x = x * 1 end",
    ],
)
def test_ctrl_c_stops_what_runs_and_not_the_program(typing, busy):
    session = typing()
    session.line("kept = 11")
    session.press(f"print('be' .. 'gun'); {busy}\n".encode())
    session.wait_for("begun")
    session.press(CTRL_C)
    assert "interrupted" in session.wait_for(r"\n> $")
    assert "\n11\n" in session.line("kept")
    assert session.end() == 0


def test_a_run_is_stopped_and_the_session_goes_on(typing):
    session = typing()
    session.line("f = function() while not train.stop_requested() do train.report{step = 1} end end")
    session.press(
        b"r = train.TorchTrainer{train_loop_per_worker = f, run_config = train.RunConfig{name = 'r'}}:fit()\n"
    )
    session.wait_for("step")
    session.press(CTRL_C)
    session.wait_for(r"\n> $")
    session.press(CTRL_C)
    session.wait_for(r"\n> $")
    assert "\n2\n" in session.line("1 + 1")
    assert session.end() == 0


def test_lines_are_kept_for_the_next_session(rtrain, typing):
    first = typing()
    first.line("answer = 42")
    first.line(" secret = 1")
    first.line("answer + 1")
    assert first.end() == 0
    path = rtrain.folder / ".local/state/rtrain/repl_history"
    assert path.read_text() == "answer = 42\nanswer + 1\n"
    assert path.stat().st_mode & 0o777 == 0o600
    second = typing()
    second.press(UP + UP + b"\n")
    second.wait_for(r"\n> $")
    assert "\n42\n" in second.line("answer")
    assert second.end() == 0


def test_of_many_lines_the_newest_are_kept(rtrain, typing):
    path = rtrain.folder / ".local/state/rtrain/repl_history"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"x = {i}\n" for i in range(20000)))
    session = typing()
    session.press(UP + b"\n")
    session.wait_for(r"\n> $")
    assert "\n19999\n" in session.line("x")
    assert session.end() == 0
    lines = path.read_text().splitlines()
    assert len(lines) < 10000 and lines[-2:] == ["x = 19999", "x"] and path.stat().st_mode & 0o777 == 0o600


def test_without_a_folder_for_it_the_history_is_the_sessions_own(rtrain, typing):
    (rtrain.folder / "file").write_text("")
    session = typing(XDG_STATE_HOME=str(rtrain.folder / "file"))
    assert "\n2\n" in session.line("1 + 1")
    session.press(UP + b"\n")
    assert "\n2\n" in session.wait_for(r"\n> $")
    assert session.end() == 0


# fault: the disk fails under the lines that rtrain repl keeps
@pytest.mark.parametrize("lines", [3, 20000])
def test_a_disk_that_fails_keeps_the_history_of_the_session(rtrain, typing, lines):
    """Above some thousand lines the file is written again when the session begins."""
    path = rtrain.folder / ".local/state/rtrain/repl_history"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"x = {i}\n" for i in range(lines)))
    before = path.read_bytes()
    log = rtrain.folder / "faults"
    rtrain.fail_calls("write|pwrite:1+:EIO:path=repl_history", RTRAIN_FAULTIO_LOG=str(log))
    session = typing()
    session.press(UP + b"\n")
    session.wait_for(r"\n> $")
    assert f"\n{lines - 1}\n" in session.line("x")
    assert "\n2\n" in session.line("1 + 1")
    session.press(UP + b"\n")
    assert "\n2\n" in session.wait_for(r"\n> $")
    assert session.end() == 0
    assert log.exists() and path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_characters_of_several_bytes(typing):
    session = typing(LANG="C.UTF-8", LC_ALL="C.UTF-8")
    assert "\nnaïve µ\n" in session.line("print('naïve µ')")
    assert session.end() == 0


@pytest.mark.parametrize("word", ["exit", "quit", "os.exit()"])
def test_words_that_end_it(rtrain, word):
    result = subprocess.run(
        [RTRAIN, "repl"],
        cwd=rtrain.folder,
        env=rtrain.env,
        input=f"{word}\nprint(1)\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0 and result.stdout == ""


def test_output_that_does_not_arrive_is_an_error(rtrain):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [RTRAIN, "repl"],
            cwd=rtrain.folder,
            env=rtrain.env,
            input="torch.ones(2)\n",
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert result.returncode == 4 and "cannot write to the standard output" in result.stderr


def test_ctrl_c_in_a_pipe_ends_it(rtrain):
    process = rtrain.popen("repl", stdin=subprocess.PIPE)
    process.stdin.write("print('begun'); io.stdout:flush(); while true do end\n")
    process.stdin.flush()
    assert process.stdout.readline() == "begun\n"
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)
