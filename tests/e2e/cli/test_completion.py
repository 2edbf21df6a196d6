"""Completion of command lines in bash, zsh and fish: each test asks the real shell what it offers."""

import contextlib
import os
import pathlib
import pty
import re
import select
import subprocess
import time

import pytest

from conftest import RTRAIN

# Names that a shell would expand, and a name with a space: completion must treat names as data.
METRIC = "$(touch pwned)"
SCRIPT = """
    local train = require 'rtrain'
    local function train_func()
      for epoch = 1, 2 do
        train.tempdir(function(dir)
          io.open(dir .. '/file', 'w'):close()
          train.report({loss = 1 / epoch, ['val/acc'] = epoch, ['$(touch pwned)'] = 1},
                       {checkpoint = train.Checkpoint.from_directory(dir)})
        end)
        train.log({speed = epoch})
      end
    end
    for _, name in ipairs {'baseline', 'my run', 'old'} do
      train.DataParallelTrainer({
        train_loop_per_worker = train_func,
        scaling_config = train.ScalingConfig {num_workers = 0},
        run_config = train.RunConfig {name = name},
      }):fit()
    end
    """


@pytest.fixture
def runs(rtrain):
    rtrain.run_ok(SCRIPT)
    assert rtrain("edit", "baseline", "--tag", "good", "--tag", "two words").returncode == 0
    assert rtrain("edit", "old", "--archive").returncode == 0


class Bash:
    """Calls the completion function with COMP_WORDS split as bash splits them."""

    def __init__(self, rtrain):
        self._rtrain = rtrain

    def __call__(self, lines):
        program = ['source <("$RTRAIN" completion bash) || exit 1']
        for words in lines:
            cut = [part for word in words for part in ([""] if word == "" else re.findall(r"[:=]+|[^:=]+", word))]
            if re.search("[:=]$", words[-1]):
                cut.append("")
            program.append(f'COMP_WORDS=("$RTRAIN" {" ".join(map(quoted, cut))})')
            program.append(f"COMP_CWORD={len(cut)}; _rtrain; printf '%s\\n' \"${{COMPREPLY[@]}}\" ''; echo END")
        done = subprocess.run(
            ["bash", "--norc", "-c", "\n".join(program)],
            cwd=self._rtrain.folder,
            text=True,
            env={**self._rtrain.env, "RTRAIN": RTRAIN},
            capture_output=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return [set(filter(None, part.split("\n"))) for part in done.stdout.split("END\n")[:-1]]

    def close(self):
        pass


class Fish:
    def __init__(self, rtrain):
        self._rtrain = rtrain

    def __call__(self, lines):
        program = [f"{quoted(RTRAIN)} completion fish | source"]
        for words in lines:
            line = " ".join(["rtrain", *[re.sub(r"([ $()])", r"\\\1", word) for word in words]])
            program.append(f"complete -C {quoted(line)}; echo END")
        bin_folder = named_program(self._rtrain)
        env = {**self._rtrain.env, "PATH": f"{bin_folder}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ["fish", "--no-config", "-c", "\n".join(program)],
            cwd=self._rtrain.folder,
            text=True,
            env=env,
            capture_output=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return [{line.split("\t")[0] for line in part.splitlines()} for part in done.stdout.split("END\n")[:-1]]

    def close(self):
        pass


# The offered words are written to a file; ^G, typed after each line, ends the list.
ZSH = r"""
PROMPT='' RPROMPT=''; setopt no_beep
autoload -Uz compinit; compinit -u -D
source <(rtrain completion zsh)
compadd() {
  if [[ ${argv[(r)-[OAD]]} == -[OAD] ]]; then builtin compadd "$@"; return; fi
  local -a found
  builtin compadd -O found "$@"
  print -rl -- $found >> $CAPTURE
  builtin compadd "$@"
}
finish() { print -r END >> $CAPTURE; BUFFER= }
zle -N finish; bindkey '^G' finish; bindkey '^I' complete-word
zstyle ':completion:*' list-max 0; LISTMAX=10000
print -r END >> $CAPTURE
"""


class Zsh:
    """An interactive zsh on a terminal."""

    def __init__(self, rtrain):
        self._output = rtrain.folder / "offered"
        self._output.write_text("")
        startup = rtrain.folder / ".zshrc"
        startup.write_text(ZSH)
        self._master, slave = pty.openpty()
        env = {
            **rtrain.env,
            "PATH": f"{named_program(rtrain)}:{os.environ['PATH']}",
            "ZDOTDIR": str(rtrain.folder),
            "CAPTURE": str(self._output),
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
            "TMPPREFIX": f"{rtrain.temp}/zsh",
        }
        self._process = subprocess.Popen(
            ["zsh", "-d", "-i"],
            cwd=rtrain.folder,
            env=env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._next(1)

    def _next(self, count):
        """Waits for that many answers."""
        deadline = time.monotonic() + 120
        shown = b""
        while len(parts := self._output.read_text().split("END\n")) <= count:
            assert time.monotonic() < deadline and self._process.poll() is None, shown
            with contextlib.suppress(OSError):
                os.set_blocking(self._master, False)
                shown += os.read(self._master, 65536)
            time.sleep(0.01)
        return parts[count - 1]

    def __call__(self, lines):
        found = []
        self._output.write_text("")
        for number, words in enumerate(lines, 1):
            line = " ".join(["rtrain", *[re.sub(r"([ $()])", r"\\\1", word) for word in words]])
            os.write(self._master, line.encode() + b"\t\x07")
            found.append(set(filter(None, self._next(number).split("\n"))))
        return found

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._master)


def quoted(word):
    return "'" + word.replace("\\", "\\\\").replace("'", "'\\''") + "'" if "\\" in word else "'" + word + "'"


def named_program(rtrain):
    """A folder in which the executable is called `rtrain`."""
    folder = rtrain.folder / "bin"
    if not folder.exists():
        folder.mkdir()
        (folder / "rtrain").symlink_to(RTRAIN)
    return folder


@pytest.fixture(params=[Bash, Zsh, Fish])
def offered(request, rtrain):
    """Fixture offered([words, …]): returns the words that the shell offers for the last word of each line."""
    shell = request.param(rtrain)
    shell.name = request.param.__name__.lower()
    yield shell
    shell.close()


def listed(rtrain, *command):
    """Returns the names of commands, or of options, that --help lists."""
    text = rtrain(*command, "--help").stdout
    if not command:
        return set(re.findall(r"^  ([a-z][a-z-]*)  ", text, re.M))
    if "Commands:\n" in text:  # the first word of a two-word command offers the options of all its subcommands
        return set().union(*(listed(rtrain, *command, name) for name in re.findall(r"^  ([a-z][a-z-]*)  ", text, re.M)))
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", "\n".join(re.findall(r"^  (-\S+)", text, re.M))))


def plain(names):
    """Returns option names without the suffix that a shell appends."""
    return {name.rstrip("=") for name in names if name.startswith("-")}


def test_every_command_and_option_of_the_help_is_offered(rtrain, offered):
    commands = sorted(listed(rtrain))
    assert {"run", "ls", "completion", "checkpoint", "edit"} <= set(commands)
    assert not {"man", "agent", "tag", "repair"} & set(commands)
    lines = [[""]] + [[command, "--"] for command in commands] + [[command, "-"] for command in commands]
    answers = offered(lines)
    assert answers[0] == set(commands)
    for command, long, short in zip(commands, answers[1:], answers[1 + len(commands) :]):
        options = listed(rtrain, command)
        assert "--help" in options
        assert plain(long) == {name for name in options if name.startswith("--")}, command
        missing = options - plain(short)
        assert not missing or (offered.name == "fish" and not any(len(name) == 2 for name in missing)), command


def test_values_of_a_fixed_set(offered):
    answers = offered(
        [
            ["run", "--resume", ""],
            ["plot", "--by", "t"],
            ["completion", ""],
            ["submit", "k"],
            ["export", "--format", "j"],
            ["run", "--resume=a"],
        ]
    )
    assert answers[0] == {"never", "auto", "must"}
    assert answers[1] == {"time"}
    assert answers[2] == {"bash", "zsh", "fish"}
    assert answers[3] == {"k8s"}
    assert answers[4] == {"json"}
    assert {name.removeprefix("--resume=") for name in answers[5]} == {"auto"}


def test_files_and_folders(rtrain, offered):
    (rtrain.folder / "train it.lua").write_text("")
    (rtrain.folder / "training").mkdir()
    files, folders = offered([["run", "tr"], ["run", "--storage", "tr"]])
    assert {name.replace("\\ ", " ").rstrip("/") for name in files} == {"train it.lua", "training"}
    assert {name.rstrip("/") for name in folders} == {"training"}


def test_runs_metrics_tags_and_checkpoints_come_from_the_store(rtrain, runs, offered):
    answers = offered(
        [
            ["show", ""],
            ["show", "my"],
            ["edit", ""],
            ["metrics", "baseline", "--series", ""],
            ["plot", "baseline", "l"],
            ["run", "--tag", "g"],
            ["edit", "baseline", "--untag", "t"],
            ["checkpoint", ""],
            ["checkpoint", "export", "baseline", "checkpoint_0"],
            ["show", "best:l"],
            ["show", "best:loss:m"],
            ["plot", "baseline", "loss,sp"],
            ["checkpoint", "verify", "my"],
            ["checkpoint", "prune", "--yes", "base"],
            ["checkpoint", "verify", "baseline", ""],
        ]
    )
    names = [{name.replace("\\", "").removeprefix("best:") for name in each} for each in answers]
    assert names[0] == {"baseline", "my run", "last", ""}  # "" is `best:` itself, without a metric
    assert names[1] == {"my run"}
    assert "old" in names[2]
    assert names[3] == {"loss", "val/acc", METRIC, "speed"}
    assert names[4] == {"last", "loss"}
    assert names[5] == {"good"}
    assert names[6] == {"two words"}
    assert names[7] == {"ls", "verify", "export", "prune"}
    assert names[8] == {"checkpoint_000000", "checkpoint_000001"}
    assert names[9] == {"loss"}
    assert {name.removeprefix("loss:") for name in names[10]} == {"min", "max"}
    assert names[11] == {"loss,speed"}
    assert (names[12], names[13]) == ({"my run"}, {"baseline"})
    assert names[14] == {"best", "latest", "checkpoint_000000", "checkpoint_000001"}
    assert not (rtrain.folder / "pwned").exists()


def test_another_store_on_the_same_line(rtrain, runs, offered):
    (rtrain.folder / "empty").mkdir()
    answers = offered([["show", "--storage", "empty", ""], ["show", f"--storage={rtrain.storage}", "b"]])
    assert answers[0] == set()
    assert {name.rstrip(":") for name in answers[1]} == {"baseline", "best"}


def test_what_follows_a_script_is_its_own(rtrain, offered):
    rtrain.script("")
    behind, before = offered([["exec", "train.lua", "--h"], ["exec", "--h"]])
    assert "--help" not in behind
    assert before == {"--help"}


def test_a_name_is_quoted_where_bash_inserts_it(rtrain, runs):
    plain_word, in_quotes = Bash(rtrain)([["show", "my"], ["show", '"my']])
    assert plain_word == {"my\\ run"}
    assert in_quotes == {"my run"}


def test_readline_inserts_what_follows_a_colon(rtrain, runs):
    master, slave = pty.openpty()
    env = {
        **rtrain.env,
        "PATH": f"{named_program(rtrain)}:{os.environ['PATH']}",
        "TERM": "dumb",
        "PS1": "",
        "HISTFILE": "",
    }
    shell = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        cwd=rtrain.folder,
        env=env,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        os.write(master, b"source <(rtrain completion bash); complete -p rtrain; stty -echo\n")
        read_until(master, b"-F _rtrain rtrain")
        os.write(master, b"rtrain metrics best:val/acc:mi\t --json=li\t | wc -l\n")
        # The line is echoed, with its end, only where it is typed before `stty` has taken effect.
        assert re.search(rb"(^|\n)2\r?\n", read_until(master, rb"(^|\n)\d+\r?\n"))
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


def read_until(master, pattern):
    shown = b""
    deadline = time.monotonic() + 60
    while not re.search(pattern, shown):
        ready, _, _ = select.select([master], [], [], max(0, deadline - time.monotonic()))
        assert ready, shown
        shown += os.read(master, 65536)
    return shown


def test_the_store_is_asked_without_a_word_of_errors(rtrain, runs):
    assert rtrain("--complete", "runs", "", "show").stdout.splitlines()[-2].startswith("last\t")
    pathlib.Path(rtrain.storage / "rtrain.db").write_bytes(b"not a database" * 1000)
    for storage in (rtrain.storage, "/nowhere", "ftp://host/x", ""):
        for source in ("runs", "metrics", "tags", "checkpoints", "nothing"):
            answer = rtrain("--complete", source, "", "show", "--storage", storage, "last")
            assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", ""), (source, storage)
    assert rtrain("--complete").returncode == 0


def test_a_name_that_would_command_a_terminal_is_left_out(rtrain):
    rtrain.run_ok("""
        local train = require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function() train.report {['a\\27[2Jb'] = 1, ['c\\nd'] = 1, e = 1} end,
          scaling_config = train.ScalingConfig {num_workers = 0},
        }):fit()
        """)
    assert rtrain("--complete", "metrics", "", "metrics", "last").stdout == "e\n"


def test_another_shell_is_refused(rtrain):
    refused = rtrain("completion", "tcsh")
    assert refused.returncode == 2
    assert "tcsh" in refused.stderr
