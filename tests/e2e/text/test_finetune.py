"""Language models that learn to answer: examples/llama_lora.lua over a small model and tokenizer that the test makes."""

import json
import subprocess

import pytest

from conftest import SOURCE

EXAMPLE = (SOURCE / "examples" / "llama_lora.lua").read_text()
TEMPLATE = (
    "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
# Kills the worker of rank 1, unless there is a file of that name.
KILL = """
local function kill_rank_1(mark)
  if require('rtrain').get_context():get_world_rank() ~= 1 or io.open(mark) then return end
  io.open(mark, 'w'):close()
  os.execute 'kill -9 $PPID'
end
"""
WORDS = {"red": "rot", "blue": "blau", "green": "grün", "white": "weiß"}
# A Llama with random weights, and a tokenizer of bytes.
MAKE = """
local text, torch, json, ordered = require 'text', require 'torch', require 'json', require 'base.ordered'
torch.manual_seed(1)
local folder, template = arg[1], arg[2]
local empty = text.Tokenizer.from_str(json.encode {
  model = {type = 'BPE', vocab = {}, merges = torch.list {}},
  pre_tokenizer = {type = 'ByteLevel', add_prefix_space = false, use_regex = true}, decoder = {type = 'ByteLevel'},
})
local special = {'<|user|>', '<|assistant|>', '<|end|>'}
local tokenizer = empty:train_new_from_iterator({'red blue green white rot blau grün weiß'}, {
  vocab_size = 300, special_tokens = special,
})
text.models.LlamaForCausalLM({
  vocab_size = tokenizer:get_vocab_size(), hidden_size = 64, intermediate_size = 128, num_hidden_layers = 2,
  num_attention_heads = 4, num_key_value_heads = 2, max_position_embeddings = 128, eos_token_id = 2, initializer_range = 0.3,
}):save_pretrained(folder)
tokenizer:save(folder .. '/tokenizer.json')
local file = io.open(folder .. '/tokenizer_config.json', 'w')
file:write(json.encode {chat_template = template, eos_token = '<|end|>'})
file:close()
"""


def rows(count):
    words = (list(WORDS) * count)[:count]
    return [
        {"messages": [{"role": "user", "content": each}, {"role": "assistant", "content": WORDS[each]}]}
        for each in words
    ]


@pytest.fixture
def folder(rtrain):
    """A folder of a model, next to a file of conversations."""
    folder = rtrain.folder / "model"
    made = rtrain("exec", rtrain.script(MAKE, "make.lua"), folder, TEMPLATE)
    assert made.returncode == 0, made.stderr
    (rtrain.folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(16)))
    return folder


def settings(folder, **more):
    values = {
        "model": folder,
        "data": folder.parent / "data.jsonl",
        "lr": 0.01,
        "question": "green",
        "epochs": 60,
        **more,
    }
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def test_a_model_answers_what_it_was_taught_by_two_workers(rtrain, folder):
    rtrain.run_ok(EXAMPLE, *settings(folder), "--num-workers", 2, "--name", "taught")
    losses = [row["metrics"]["loss"] for row in rtrain.json("metrics", "taught")]
    assert len(losses) == 60 and losses[-1] < 0.1 < losses[0]
    rtrain.json("show", "taught", "--media", "-o", "media")
    assert (rtrain.folder / "media/answer-60-rank0.txt").read_text() == "grün"
    [*_, last] = sorted((rtrain.storage / "taught" / "checkpoints").iterdir())
    assert {"adapter_config.json", "adapter_model.safetensors"} <= {path.name for path in last.iterdir()}
    sizes = {path.name: path.stat().st_size for path in last.iterdir()}
    assert sum(sizes.values()) < 600_000, sizes


def test_a_killed_run_ends_with_the_bits_of_a_calm_one(rtrain, folder):
    options = [*settings(folder, epochs=6, question="", batch_size=2), "-n", 2]
    rtrain.run_ok(EXAMPLE, *options, "--name", "calm")
    mark = rtrain.folder / "killed"
    once = f"if state.epoch == 3 then kill_rank_1 '{mark}' end"
    killed = EXAMPLE.replace("        optimizer:step()\n", f"        optimizer:step()\n        {once}\n")
    assert killed != EXAMPLE
    killed = KILL + killed
    rtrain.run_ok(killed, *options, "--name", "healed")
    mark.unlink()
    restarted = killed.replace(
        "RunConfig {", "RunConfig {failure_config = train.FailureConfig {max_heals = 0, max_failures = 1}, "
    )
    rtrain.run_ok(restarted, *options, "--name", "restarted")
    calm, healed, again = (
        [row["metrics"]["loss"] for row in rtrain.json("metrics", name)] for name in ("calm", "healed", "restarted")
    )
    assert mark.exists() and calm == healed == again and len(calm) == 6


def written(rtrain, *args):
    result = rtrain("predict", "taught:latest", *args)
    assert result.returncode == 0, result.stderr
    return result.stdout


def said_to(rtrain, lines):
    process = rtrain.popen("predict", "taught:latest", "--chat", stdin=subprocess.PIPE)
    answers, log = process.communicate("".join(f"{line}\n" for line in lines), timeout=120)
    assert process.returncode == 0, log
    return answers.splitlines()


@pytest.mark.parametrize("r", [8, 0], ids=["adapters", "all weights"])
def test_a_folder_of_init_teaches_and_predict_answers(rtrain, folder, r):
    made = rtrain("init", "finetune", "own", "--model", folder)
    assert made.returncode == 0, made.stderr
    own = rtrain.folder / "own"
    assert str(folder) in (own / "train.lua").read_text() and "`data`" in (own / "README.md").read_text()
    rtrain.folder = own
    values = {"data": folder.parent / "data.jsonl", "r": r, "lr": 0.01 if r else 0.003, "epochs": 60 if r else 40}
    options = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    result = rtrain("run", "train.lua", "--name", "taught", *options)
    assert result.returncode == 0, result.stderr
    assert rtrain.json("metrics", "taught")[-1]["metrics"]["loss"] < 0.01
    assert written(rtrain, "--chat", "--prompt", "green") == "grün\n"
    assert written(rtrain, "--prompt", "<|user|>red<|end|><|assistant|>") == "rot\n"
    first, _ = said_to(rtrain, ["white", "", "blue"])
    assert first == "weiß"
    assert len(written(rtrain, "--prompt", "red", "--set", "max_new_tokens=1").strip().split()) <= 1
    seeds = {written(rtrain, "--prompt", "red", "--set", "seed=3", "--set", "temperature=9") for _ in range(2)}
    assert len(seeds) == 1


def test_what_predict_and_init_cannot_do_is_said(rtrain, folder):
    def said(*args):
        result = rtrain(*args)
        assert result.returncode == 2, result.stderr
        return result.stderr

    assert "finetune needs --model FOLDER" in said("init", "finetune", "own")
    assert "'data.jsonl' has no config.json" in said("init", "finetune", "own", "--model", "data.jsonl")
    assert "--model belongs to the template finetune, not to 'mnist'" in said("init", "mnist", "own", "--model", folder)
    assert not (rtrain.folder / "own").exists()
    assert "DATA is missing" in said("predict", f"{folder}/")
    assert "DATA does not go with --prompt" in said("predict", f"{folder}/", "data.jsonl", "--prompt", "red")
    assert "generate has no 'top_q': did you mean 'top_k'?" in rtrain(
        "predict", f"{folder}/", "--prompt", "red", "--set", "top_q=1").stderr  # fmt: skip
    (folder / "tokenizer_config.json").unlink()
    assert "its tokenizer has no chat_template: leave out --chat" in said("predict", f"{folder}/", "--chat")
    (folder / "config.json").unlink()
    assert "has neither config.json nor adapter_config.json" in said("predict", f"{folder}/", "--prompt", "red")


def test_what_a_row_lacks_is_said_with_its_line(rtrain, folder):
    data = rtrain.folder / "data.jsonl"
    data.write_text(json.dumps({"text": "red"}) + "\n{oops\n")
    assert "data.jsonl: line 2: " in rtrain.run(EXAMPLE, *settings(folder)).stderr
    data.write_text(json.dumps({"prompt": "red"}) + "\n")
    assert "row 1 has neither 'messages'" in rtrain.run(EXAMPLE, *settings(folder)).stderr


LABELS = """
local text = require 'text'
local tokenizer = text.Tokenizer.from_pretrained(arg[1])
local dataset = text.chat_dataset({
  {messages = {{role = 'user', content = 'grün ü'}, {role = 'assistant', content = 'weiß'}, {role = 'user', content = 'red'},
    {role = 'assistant', content = 'rot'}}}, {text = 'blau'},
}, {tokenizer = tokenizer})
for i = 0, 1 do
  local said, all = {}, dataset:get(i)
  for _, label in ipairs(all.labels:tolist()) do if label >= 0 then said[#said + 1] = label end end
  local options = {skip_special_tokens = false}
  print(tokenizer:decode(said, options), tokenizer:decode(all.input_ids:tolist(), options))
end
local batch = dataset:collate {dataset:get(0), dataset:get(1)}
local short = dataset:get(1).input_ids.shape[1]
assert(batch.labels[1][short]:item() == -100 and batch.attention_mask[1]:sum():item() == short)
"""


def test_the_labels_are_what_the_assistant_says(rtrain, folder):
    lines = rtrain("exec", rtrain.script(LABELS, "labels.lua"), folder).stdout.splitlines()
    assert [line.split("\t") for line in lines] == [
        [
            "weiß<|end|>rot<|end|>",
            "<|user|>grün ü<|end|><|assistant|>weiß<|end|><|user|>red<|end|><|assistant|>rot<|end|>",
        ],
        ["blau", "blau"],
    ]
