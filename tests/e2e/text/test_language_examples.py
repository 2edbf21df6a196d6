"""The examples that train BERT, T5 and a language model by preferences: with what they make themselves, and with files."""

import json
import subprocess

import pytest

from conftest import SOURCE, nightly
from test_finetune import KILL
from test_tokenizers import transformers_python

BERT, T5, DPO = ((SOURCE / "examples" / f"{name}.lua").read_text() for name in ("bert_classify", "t5_seq2seq", "dpo"))
PAIRS = {"red": "rot", "blue": "blau", "green": "grün", "white": "weiß", "black": "schwarz", "yellow": "gelb"}


def settings(**values):
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def metrics(rtrain, name):
    return [row["metrics"] for row in rtrain.json("metrics", name)]


def last_checkpoint(rtrain, name):
    return sorted((rtrain.storage / name / "checkpoints").iterdir())[-1]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def by_transformers(script, *args):
    result = subprocess.run(
        [transformers_python(), "-c", script, *map(str, args)], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


CLASSIFY = """
import json, sys, transformers
model = transformers.AutoModelForSequenceClassification.from_pretrained(sys.argv[1])
tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
texts = json.loads(sys.argv[2])
found = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.argmax(1).tolist()
print(json.dumps([model.config.id2label[each] for each in found]))
"""


@nightly
def test_a_bert_learns_and_transformers_reads_it(rtrain):
    out = rtrain.run_ok(BERT, "--name", "own").stdout
    rows = metrics(rtrain, "own")
    assert rows[0]["accuracy"] < 0.9 < rows[-1]["accuracy"] and rows[-1]["loss"] < rows[0]["loss"] / 2
    said = [
        line.split(": ", 1) for line in out.splitlines() if line.split(": ")[0] in ("complaint", "praise", "question")
    ]
    assert len(said) == 3
    folder = last_checkpoint(rtrain, "own") / "model"
    assert by_transformers(CLASSIFY, folder, json.dumps([text for _, text in said])) == [label for label, _ in said]
    # Its own folder is a model to go on from, here with labels of another number and other words.
    marks = ["ja", "nein"]
    texts = [{"text": f"{'good' if k % 2 else 'bad'} hotel , süß {k}", "label": marks[k % 2]} for k in range(60)]
    data = write_lines(rtrain.folder / "rows.jsonl", texts)
    given = ("--", "--model", folder, "--data", data)
    rtrain.run_ok(BERT, "--name", "more", *settings(epochs=8), *given)
    assert metrics(rtrain, "more")[-1]["accuracy"] > 0.9
    folder = last_checkpoint(rtrain, "more") / "model"
    assert by_transformers(CLASSIFY, folder, json.dumps([row["text"] for row in texts[:2]])) == marks


GENERATE = """
import json, sys, transformers
model = transformers.AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1])
tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
ids = tokenizer(json.loads(sys.argv[2]), padding=True, return_tensors="pt", return_token_type_ids=False)
print(json.dumps(tokenizer.batch_decode(model.generate(**ids, max_new_tokens=20), skip_special_tokens=True)))
"""


def test_a_t5_answers_what_it_was_taught_and_transformers_reads_it(rtrain):
    out = rtrain.run_ok(T5, "--name", "own").stdout
    rows = metrics(rtrain, "own")
    assert rows[-1]["exact"] == 1 and rows[-1]["loss"] < 0.1 < rows[0]["loss"] and "write 33 → thirty three" in out
    folder = last_checkpoint(rtrain, "own") / "model"
    assert by_transformers(GENERATE, folder, '["write 21", "write 33"]') == ["twenty one", "thirty three"]
    pairs = write_lines(rtrain.folder / "pairs.jsonl", [{"input": a, "target": b} for a, b in PAIRS.items()])
    rtrain.run_ok(T5, "--name", "file", *settings(data=pairs, batch_size=3, epochs=60))
    rtrain.json("show", "file", "--media", "-o", "media")
    written = (rtrain.folder / "media/written-60-rank0.txt").read_text().splitlines()
    assert written == [f"{a} → {b}" for a, b in PAIRS.items()]
    # A folder is a model to go on from: it forgets what it wrote for these.
    swapped = [{"input": "write 21", "target": "thirty three"}, {"input": "write 33", "target": "twenty one"}]
    again = write_lines(rtrain.folder / "again.jsonl", swapped)
    out = rtrain.run_ok(T5, "--name", "more", *settings(model=folder, data=again, batch_size=1, epochs=40)).stdout
    assert metrics(rtrain, "more")[-1]["exact"] == 1 and "write 21 → thirty three" in out


# Keeps what the loss of the first step was computed of.
DUMP = """
      if state.epoch == 0 and not io.open(dump) then
        torch.save({policy = policy_logits:detach(), reference = reference_logits, labels = batch.labels, loss = loss:item(),
                    margins = margins, beta = config.beta}, dump)
      end
"""


@pytest.mark.parametrize("r", [8, 0])
def test_preferences_are_learnt_with_the_loss_of_the_paper(rtrain, r):
    torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
    functional = torch.nn.functional
    end = "batch.labels, config.beta)\n"
    assert end in DPO
    script = DPO.replace(end, end + DUMP).replace(
        "local function own_rows()", "local dump = arg[1]\nlocal function own_rows()"
    )
    rtrain.run_ok(script, "--name", "own", "-n", 1, *settings(r=r, seed=3), "--", rtrain.folder / "dump.pt")
    rows = metrics(rtrain, "own")
    assert rows[-1]["margin"] > max(1, rows[0]["margin"]) and rows[-1]["preferred"] == 1
    assert rows[-1]["loss"] < 0.3 < rows[0]["loss"]
    first = torch.load(rtrain.folder / "dump.pt", weights_only=True)

    def log_probs(logits):
        each = functional.log_softmax(logits[:, :-1].double(), -1)
        total = torch.zeros(len(logits), dtype=torch.double)
        for row, labels in enumerate(first["labels"][:, 1:]):
            for place, label in enumerate(labels.tolist()):
                if label != -100:
                    total[row] += each[row, place, label]
        return total

    policy, reference = log_probs(first["policy"]), log_probs(first["reference"])
    half = len(policy) // 2
    preferred = (policy[:half] - reference[:half]) - (policy[half:] - reference[half:])
    loss = -torch.log(torch.sigmoid(first["beta"] * preferred)).mean().item()
    assert first["loss"] == pytest.approx(loss, rel=1e-5)
    torch.testing.assert_close(first["margins"].double(), first["beta"] * preferred, rtol=1e-4, atol=1e-5)
    # Before the first step the policy is the reference.
    torch.testing.assert_close(first["policy"], first["reference"], rtol=1e-5, atol=1e-5)
    files = {path.name for path in last_checkpoint(rtrain, "own").iterdir()}
    assert ({"model"} if r == 0 else {"adapter_config.json", "adapter_model.safetensors"}) <= files


def test_preferences_come_from_a_file(rtrain):
    pairs = [
        {"prompt": f"sag {a} :", "chosen": f" {b}", "rejected": f" {list(PAIRS.values())[k - 1]}"}
        for k, (a, b) in enumerate(PAIRS.items())
    ]
    model = rtrain.script(
        """local text = require 'text'
require('torch').manual_seed(0)
text.models.GPT2LMHeadModel({vocab_size = 300, n_embd = 32, n_layer = 2, n_head = 2, n_positions = 64,
  eos_token_id = 0}):save_pretrained(arg[1])
local empty = text.Tokenizer.from_str(require('json').encode {model = {type = 'BPE', vocab = {},
  merges = require('torch').list {}}, pre_tokenizer = {type = 'ByteLevel', add_prefix_space = false, use_regex = true}})
empty:train_new_from_iterator({arg[2]}, {vocab_size = 280, special_tokens = {'</s>'}}):save(arg[1] .. '/tokenizer.json')
""",
        "make.lua",
    )
    folder = rtrain.folder / "model"
    words = " ".join(row["prompt"] + row["chosen"] for row in pairs)
    assert rtrain("exec", model, folder, words).returncode == 0
    data = write_lines(rtrain.folder / "pairs.jsonl", pairs)
    rtrain.run_ok(DPO, "--name", "files", *settings(model=folder, data=data, batch_size=3, epochs=60, lr=0.01))
    assert metrics(rtrain, "files")[-1]["preferred"] == 1
    write_lines(data, [{"prompt": "a", "chosen": "b"}])
    assert "no column 'rejected'" in rtrain.run(DPO, *settings(model=folder, data=data)).stderr


@pytest.mark.parametrize("script", [BERT, T5, DPO], ids=["bert", "t5", "dpo"])
def test_a_killed_run_ends_with_the_bits_of_a_calm_one(rtrain, script):
    options = settings(epochs=6, **({"save_every": 1} if script == T5 else {}))
    rtrain.run_ok(script, *options, "--name", "calm")
    mark = rtrain.folder / "killed"
    steps = "        optimizer:step()\n"
    assert steps in script
    killed = KILL + script.replace(steps, steps + f"        if state.epoch == 3 then kill_rank_1 '{mark}' end\n")
    rtrain.run_ok(killed, *options, "--name", "healed")
    mark.unlink()
    restarted = killed.replace(
        "RunConfig {", "RunConfig {failure_config = train.FailureConfig {max_heals = 0, max_failures = 1}, "
    )
    rtrain.run_ok(restarted, *options, "--name", "restarted")
    calm, healed, again = (metrics(rtrain, name) for name in ("calm", "healed", "restarted"))
    assert mark.exists() and len(calm) == 6 and calm == healed == again
    first = [rtrain.json("show", name)["attempts"][0]["status"] for name in ("healed", "restarted")]
    assert first == ["HEALED", "ERRORED"], first
