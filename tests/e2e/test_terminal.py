"""What others have written cannot command the terminal it is shown on; files and pipes get it as it is."""

import os
import pty
import subprocess

from conftest import RTRAIN

# Retitles the terminal, clears it, in C1 too, and leaves the colour red.
HOSTILE = b"a\x1b]0;owned\x07\x1b[2J\xc2\x9b2J\x00\xff\x1b[31mred"
SHOWN = b"a\\x1b]0;owned\\x07\\x1b[2J\\u009b2J\\x00\\xff\x1b[31mred\x1b[0m"

SCRIPT = r"""
    local train = require 'rtrain'
    local HOSTILE = 'a\27]0;owned\7\27[2J\194\1552J\0\255\27[31mred'
    train.DataParallelTrainer({
      train_loop_per_worker = function()
        print(HOSTILE)
        io.stderr:write(HOSTILE, '\n')
        train.annotate(HOSTILE)
        train.tempdir(function(dir)
          train.report({text = HOSTILE}, {checkpoint = train.Checkpoint.from_directory(dir)})
        end)
        error(HOSTILE)
      end,
      run_config = train.RunConfig {name = 'mine'},
    }):fit()
    """


def on_terminal(rtrain, *args):
    """What the command writes to a terminal that is its stdout and stderr."""
    master, slave = pty.openpty()
    process = subprocess.Popen([RTRAIN, *map(str, args)], cwd=rtrain.folder, env=rtrain.env, stdout=slave, stderr=slave,
                               stdin=subprocess.DEVNULL)
    os.close(slave)
    output = b""
    try:
        while part := os.read(master, 65536):
            output += part
    except OSError:
        pass  # the other end is closed
    os.close(master)
    process.wait(60)
    return output.replace(b"\r\n", b"\n")


def without_what_is_ours(output):
    """Less the colours and the cursor movements of the live block, which end in m, A and J and have no text inside."""
    for ours in (b"\r\x1b[J", *(b"\x1b[%dA" % lines for lines in range(1, 9)), b"\x1b[31m", b"\x1b[0m", b"\r"):
        output = output.replace(ours, b"")
    return output


def test_a_run_and_every_command_that_shows_it(rtrain):
    script = rtrain.script(SCRIPT)
    output = on_terminal(rtrain, "run", script, "--note", HOSTILE.replace(b"\0", b"").decode(errors="surrogateescape"))
    assert b"[rank 0] " + SHOWN in output
    assert output.count(SHOWN) == 2, "on stdout and on stderr"
    assert output.count(SHOWN[:-4]) > 2, "in the error"
    outputs = {"run": output}
    for args in (["ls"], ["show", "mine"], ["metrics", "mine"], ["checkpoints", "mine"], ["logs", "mine"],
                 ["logs", "mine", "-f"], ["sql", "SELECT metrics, error FROM reports, attempts"]):
        outputs[" ".join(args)] = on_terminal(rtrain, *args)
    assert b"[rank 0] " + SHOWN[:-4] in outputs["logs mine"]
    assert b"\\x1b]0;owned\\x07" in outputs["show mine"]
    for command, text in outputs.items():
        assert b"owned" in text or command == "checkpoints mine", command
        left = without_what_is_ours(text)
        assert not any(byte < 0x20 and byte not in b"\n\t" for byte in left), (command, left)
        assert b"\xc2\x9b" not in left, command


def test_files_and_pipes_get_the_bytes_as_they_are(rtrain):
    script = rtrain.script(SCRIPT)
    run = subprocess.run([RTRAIN, "run", script], cwd=rtrain.folder, env=rtrain.env, capture_output=True)
    assert b"[rank 0] " + HOSTILE + b"\n" in run.stdout
    assert b"[rank 0] " + HOSTILE + b"\n" in run.stderr
    logs = subprocess.run([RTRAIN, "logs", "mine"], cwd=rtrain.folder, env=rtrain.env, capture_output=True)
    assert b"[rank 0] " + HOSTILE + b"\n" in logs.stdout
