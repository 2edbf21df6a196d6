"""Commands and options by their old names: each works like its new name, and its message gives the new name."""

import re
import shutil
import subprocess

import pytest

from conftest import Rtrain, nightly, refused
from test_check import SCRIPT as MODEL
from test_lr_find import SCRIPT as TRAINED

pytestmark = nightly

RUNS = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function()
    for i, accuracy in ipairs {0.5, 0.9, 0.7} do
      print('step', i)
      train.log {speed = i, accuracy = i}
      train.tempdir(function(dir)
        local file = io.open(dir .. '/notes.txt', 'w')
        file:write('epoch ' .. i)
        file:close()
        train.report({accuracy = accuracy}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end
  end,
  scaling_config = train.ScalingConfig {num_workers = 0},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {
    num_to_keep = 2, checkpoint_score_attribute = 'accuracy', checkpoint_score_order = 'max'}},
}:fit()
"""

# The old command line and the new one. Their output must be equal.
COMMANDS = [
    ("tag a x y", "edit a --tag x --tag y"),
    ("tag a -d demo", "edit a --untag demo"),
    ("note a seen", "edit a --note seen"),
    ("note a --append seen", "edit a --append-note seen"),
    ("rename a c", "edit a --name c"),
    ("archive a b", "edit a b --archive"),
    ("archive --undo a", "edit --unarchive a"),
    ("checkpoints a", "checkpoint ls a"),
    ("checkpoints a list --wide", "checkpoint ls a --wide"),
    ("checkpoints a --all --json", "checkpoint ls a --dropped --json"),
    ("checkpoints a verify", "checkpoint verify a"),
    ("checkpoints verify a latest --json", "checkpoint verify a latest --json"),
    ("checkpoints a export -o out --json", "checkpoint export a -o out --json"),
    ("checkpoints export a latest -o out", "checkpoint export a latest -o out"),
    ("checkpoints a prune --dry-run", "checkpoint prune a --dry-run"),
    ("checkpoints a prune --keep 1 --yes --json", "checkpoint prune a --keep 1 --yes --json"),
    ("checkpoints a prune", "checkpoint prune a"),
    ("repair", "gc --rebuild"),
    ("repair --json", "gc --rebuild --json"),
    ("cache clean", "gc --bundles"),
    ("cache clean --dry-run --json", "gc --bundles --dry-run --json"),
    ("data peek table.csv", "peek table.csv"),
    ("data peek none.csv", "peek none.csv"),
    ("lr-find loss.lua -n 0 --steps 20 --json", "check loss.lua --lr -n 0 --steps 20 --json"),
    ("estimate model.lua --memory 80", "check model.lua --memory 80"),
]
OPTIONS = [
    ("ls --format json", "ls --json=lines"),
    ("ls --format text", "ls"),
    ("show a --format json", "show a --json=lines"),
    ("show a --format=json", "show a --json=lines"),
    ("ls -q", "ls --names"),
    ("logs a -n 2", "logs a --tail 2"),
    ("metrics a --all", "metrics a --superseded"),
    ("plot a accuracy --series --json", "plot a accuracy --logged --json"),
    ("export a --series", "export a --logged"),
    ("gc -n", "gc --dry-run"),
    ("predict none table.csv --limit 2", "predict none table.csv --rows 2"),
]
NOTICE = re.compile(r"rtrain: (\S+|`[^`]*`) is (\S+|`[^`]*`) now; the old name goes with the next version\n")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with the runs a and b, which keep two of three checkpoints."""
    rtrain = Rtrain(tmp_path_factory.mktemp("results"))
    for name in "ab":
        rtrain.run_ok(RUNS, "--name", name, "--tag", "demo", "-q")
    shutil.rmtree(rtrain.runtime)
    return rtrain.storage


@pytest.fixture
def on_fresh_store(rtrain, results):
    """Fixture: runs a command line on a fresh copy of the store; returns its exit code, stdout and stderr."""
    for name, script in (("loss.lua", TRAINED), ("model.lua", MODEL)):
        rtrain.script(script, name)
    (rtrain.folder / "table.csv").write_text("who,age\nann,3\nbob,4\n")

    def run(line):
        for folder in (rtrain.storage, rtrain.folder / "out"):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(results, rtrain.storage)
        result = rtrain(*line.split())
        return result.returncode, result.stdout, result.stderr

    return run


@pytest.mark.parametrize("old, new", COMMANDS + OPTIONS, ids=lambda line: line)
def test_an_old_name_does_the_same_and_says_the_new_one(on_fresh_store, old, new):
    old_code, old_output, old_messages = on_fresh_store(old)
    code, output, messages = on_fresh_store(new)
    assert (old_code, old_output) == (code, output), old_messages + messages
    (notice,) = NOTICE.findall(old_messages)
    assert "the old name" not in messages
    told, now = (text.strip("`").removeprefix("rtrain ") for text in notice)
    if (old, new) in COMMANDS:
        assert told == old.split()[0] and now.split()[0] == new.split()[0]
    else:
        assert told in old.replace("=", " ").split() and (now in new.split() or "text" in old)


@pytest.mark.parametrize("pairs", [COMMANDS, OPTIONS], ids=["commands", "options"])
def test_a_change_that_an_old_name_makes_is_the_same(on_fresh_store, rtrain, pairs):
    for old, new in pairs:
        states = []
        for line in (old, new):
            on_fresh_store(line)
            rows = [rtrain.json("show", row["run_id"]) for row in rtrain.json("ls", "--all")]
            states.append([(row["name"], row["tags"], row["note"], len(row["checkpoints"])) for row in rows])
            states[-1].append([row["archived"] for row in rtrain.json("ls", "--all")])
        assert states[0] == states[1], old


def test_what_an_old_command_prints_of_a_run(rtrain, results):
    shutil.copytree(results, rtrain.storage)
    assert rtrain("tag", "a").stdout == "demo\n"
    assert rtrain.json("tag", "a", "-d", "demo", "x")["tags"] == ["x"]
    assert rtrain.json("note", "a", "seen")["note"] == "seen" and rtrain("note", "a").stdout == "seen\n"
    assert rtrain.json("archive", "a")[0]["archived"] is True
    assert rtrain.json("rename", "a", "c")["old_name"] == "a"


@pytest.mark.parametrize(
    "line, words",
    [
        ("tag a x,y", ["'x,y' cannot be a tag"]),
        ("note a --append", ["give a TEXT"]),
        ("checkpoints a verfy", ["unknown action 'verfy'", "did you mean 'verify'?"]),
        ("checkpoints a prune best", ["unexpected 'best'"]),
        ("checkpoints a --keep 2", ["--keep is for `rtrain checkpoints RUN prune`"]),
        ("checkpoints a verify --safetensors", ["--safetensors is for `rtrain checkpoints RUN export`"]),
        ("checkpoints a export -o x --part model", ["--file and --part are for"]),
        ("cache clear", ["unknown action 'clear'", "did you mean 'clean'?"]),
        ("cache ls --dry-run", ["--dry-run is for `rtrain cache clean`"]),
        ("data pek x", ["unknown 'pek': did you mean 'peek'?"]),
        ("ls --format xml", ["--format: unknown 'xml': valid names: text, json"]),
        ("logs a -n 0", ["-n"]),
        ("gc -n --rebuild", ["--dry-run", "--rebuild"]),
    ],
)
def test_what_an_old_name_refused_it_refuses(rtrain, results, line, words):
    shutil.copytree(results, rtrain.storage)
    refused(rtrain(*line.split()), *words)


def test_self_check_says_what_the_machine_lacks_and_nothing_else(rtrain):
    result = rtrain("self-check")
    assert result.returncode == 0, result.stderr
    *lacks, last = [line for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert all(line.startswith("warning") for line in lacks) and last.startswith(
        "this machine has what training needs: "
    )
    document = rtrain.json("self-check")
    names = [check["name"] for check in document["checks"]]
    assert "LibTorch" in names and "memory" in names and "storage" not in names and "loopback" not in names
    rtrain.env["RTRAIN_LIBTORCH"] = str(rtrain.folder)
    result = rtrain("self-check")
    assert result.returncode == 4 and result.stderr.endswith("rtrain: what fails: LibTorch\n")
    assert result.stdout.startswith("failure  LibTorch") and "pip install torch" in result.stdout


def test_a_guide_by_its_old_name(rtrain):
    new = rtrain("doc", "guide/nodes")
    assert new.returncode == 0 and new.stdout.startswith("# Several nodes") and new.stderr == ""
    old = rtrain("doc", "guide/hosts")
    assert (old.returncode, old.stdout) == (0, new.stdout)
    assert NOTICE.findall(old.stderr) == [("guide/hosts", "guide/nodes")]
    assert "guide/hosts" not in rtrain("doc", "guide").stdout


def old_commands():
    return sorted({"self-check"} | {old.split()[0] for old, _ in COMMANDS})


def old_options():
    """Yields (command, option) for each old option."""
    found = set()
    for old, new in OPTIONS:
        (option,) = (word.split("=")[0] for word in old.split() if word.startswith("-") and word not in new.split())
        found.add((old.split()[0], option))
    return sorted(found)


def options_in(text):
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text))


def test_old_names_are_hidden(rtrain):
    assert old_commands() == [
        "archive",
        "cache",
        "checkpoints",
        "data",
        "estimate",
        "lr-find",
        "note",
        "rename",
        "repair",
        "self-check",
        "tag",
    ]
    hidden = {*old_commands(), "man", "agent"}
    listed = set(re.findall(r"^  ([a-z][a-z-]*)  ", rtrain("--help").stdout, re.M))
    assert {"edit", "checkpoint", "peek", "doctor", "gc"} <= listed and not hidden & listed
    for shell, pattern in (
        ("bash", r"_rtrain_commands\(\) {{[^}}]* {}[ ;]"),
        ("zsh", r"\n    '{}:"),
        ("fish", r" -a {} "),
    ):
        script = rtrain("completion", shell).stdout
        offered = {name for name in hidden | listed if re.search(pattern.format(re.escape(name)), script)}
        assert offered == listed, shell
    folder = rtrain.folder / "pages"
    assert rtrain("man", "-o", folder).returncode == 0
    assert not hidden & {path.stem.removeprefix("rtrain-") for path in folder.iterdir()}
    for name in old_commands():
        refused(rtrain("man", name), f"unknown command '{name}'")
        assert rtrain(name, "--help").stdout.startswith("Now `rtrain ")
    for command, option in old_options():
        named = [line for line in rtrain(command, "--help").stdout.splitlines() if line.startswith("  -")]
        names = options_in("\n".join(re.split(r"  +", line.strip())[0] for line in named))
        if (command, option) != ("export", "--format"):
            assert "--help" in names and option not in names, (command, option)
        page = (folder / f"rtrain-{command}.1").read_text()
        entries = [line for line in page.splitlines() if line.startswith("\\fB\\-")]
        assert option not in options_in("\n".join(entries).replace("\\-", "-").replace("\\fB", " ")), (command, option)


def test_an_old_name_is_never_suggested(rtrain):
    for typed, old in (("repai", "repair"), ("archiv", "archive"), ("self-chek", "self-check")):
        result = rtrain(typed)
        assert result.returncode == 2 and f"'{old}'" not in result.stderr
    result = rtrain("logs", "--tial", "3", "last")
    assert result.returncode == 2 and "did you mean '--tail'?" in result.stderr


def test_programs_that_read_stdout_see_no_notice(rtrain, results):
    shutil.copytree(results, rtrain.storage)
    both = rtrain.popen("ls", "-q", stderr=subprocess.DEVNULL).communicate(timeout=60)[0]
    assert both in (b"b\na\n", "b\na\n")


@pytest.mark.parametrize(
    "words, other",
    [
        (["ls", "--format", "json", "--json"], "--format excludes --json"),
        (["gc", "-n", "--rebuild"], "-n excludes --rebuild"),
        (["export", "run", "--series", "--html"], "--series excludes --html"),
    ],
)
def test_an_old_option_excludes_what_its_new_one_does(rtrain, words, other):
    result = rtrain(*words)
    assert result.returncode == 2 and other in result.stderr, result.stderr
