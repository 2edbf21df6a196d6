"""examples/llama_fsdp.lua: a Llama that is divided among the workers, trained, killed, and written for transformers."""

import json
import subprocess

import pytest

from conftest import SOURCE

EXAMPLE = (SOURCE / "examples" / "llama_fsdp.lua").read_text()
KILL = """
local function kill_rank_1(mark)
  if require('rtrain').get_context():get_world_rank() ~= 1 or io.open(mark) then return end
  io.open(mark, 'w'):close()
  os.execute 'kill -9 $PPID'
end
"""
READ = """
import json, sys, torch, transformers
model, info = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1], output_loading_info=True)
tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
losses = []
for a in range(20):
    ids = tokenizer(f"{a} plus 3 is {a + 3}.", return_tensors="pt").input_ids
    losses.append(model(ids, labels=ids).loss.item())
print(json.dumps({"class": type(model).__name__, "missing": len(info["missing_keys"]),
                  "unexpected": len(info["unexpected_keys"]), "loss": sum(losses) / len(losses)}))
"""


@pytest.fixture(autouse=True)
def cache(rtrain):
    """The folder of tokens, where a script names none."""
    rtrain.env["XDG_CACHE_HOME"] = str(rtrain.folder / "cache")


def settings(**values):
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def metrics(rtrain, name):
    return [row["metrics"] for row in rtrain.json("metrics", name)]


def last_checkpoint(rtrain, name):
    return sorted((rtrain.storage / name / "checkpoints").iterdir())[-1]


def by_transformers(folder):
    from test_tokenizers import transformers_python

    result = subprocess.run([transformers_python(), "-c", READ, folder], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("workers", [1, 2])
def test_it_learns_and_transformers_reads_it(rtrain, workers):
    rtrain.run_ok(EXAMPLE, "--name", "llama", "-n", workers, "--oversubscribe")
    rows = metrics(rtrain, "llama")
    assert [row["step"] for row in rows] == list(range(10, 101, 10))
    assert rows[-1]["loss"] < 1.1 < rows[0]["loss"]
    folder = last_checkpoint(rtrain, "llama") / "model"
    assert [path.name for path in folder.glob("*.safetensors")] == ["model.safetensors"]
    found = by_transformers(folder)
    assert (found["class"], found["missing"], found["unexpected"]) == ("LlamaForCausalLM", 0, 0)
    assert found["loss"] < 1.5


def test_a_killed_run_ends_as_a_calm_one(rtrain):
    options = settings(steps=30, save_steps=10, report_steps=5)
    rtrain.run_ok(EXAMPLE, *options, "--name", "calm")
    mark = rtrain.folder / "killed"
    step = "      optimizer:step()\n"
    assert EXAMPLE.count(step) == 1
    killed = KILL + EXAMPLE.replace(step, step + f"      if state.step == 17 then kill_rank_1 '{mark}' end\n")
    rtrain.run_ok(killed, *options, "--name", "killed", "--max-failures", 1)
    assert mark.exists()
    calm, again = metrics(rtrain, "calm"), metrics(rtrain, "killed")
    assert [row["step"] for row in calm] == [5, 10, 15, 20, 25, 30] and calm == again
    assert [each["status"] for each in rtrain.json("show", "killed")["attempts"]] == ["ERRORED", "FINISHED"]


def test_another_number_of_workers_goes_on_from_the_checkpoint(rtrain):
    options = settings(steps=20, save_steps=10, report_steps=10, layers=1)
    rtrain.run_ok(EXAMPLE, *options, "--name", "pair")
    folder = sorted((rtrain.storage / "pair" / "checkpoints").iterdir())[0]
    script = EXAMPLE.replace("train.get_checkpoint()", f"'{folder}'")
    assert script != EXAMPLE
    rtrain.run_ok(script, *options, "--name", "three", "-n", 3, "--oversubscribe")
    rows, before = metrics(rtrain, "three"), metrics(rtrain, "pair")
    assert [row["step"] for row in rows] == [20] and rows[0]["loss"] < before[0]["loss"]
