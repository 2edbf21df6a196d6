"""A script of Hugging Face's Trainer that does not know rtrain: two ranks, and what its callback for Kubeflow posts."""

import os

import pytest

PYTHON = os.environ.get("RTRAIN_TRANSFORMERS_PYTHON", "")

pytestmark = pytest.mark.skipif(not PYTHON, reason="no transformers: scripts/test --frameworks --oracle installs it")

SCRIPT = """
    import os, signal, sys
    import torch
    import torch.distributed.nn.functional  # loaded later, its default arguments would keep the process group for good
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
    from transformers.trainer_utils import get_last_checkpoint

    class Digits(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, i):
            tokens = (torch.arange(16) + i) % 10
            return {"input_ids": tokens, "labels": tokens}

    class Dies(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if "--die" in sys.argv and state.global_step == 12 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
                os.kill(os.getpid(), signal.SIGKILL)

    folder = sys.argv[1]
    model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=16, n_positions=16, vocab_size=16))
    arguments = TrainingArguments(folder, max_steps=20, per_device_train_batch_size=8, learning_rate=1e-2, logging_steps=5,
                                  save_steps=5, use_cpu=True, report_to="none", disable_tqdm=True, seed=1)
    trainer = Trainer(model, arguments, train_dataset=Digits(), callbacks=[Dies()])
    last = get_last_checkpoint(folder) if os.path.isdir(folder) else None
    print("goes on from", last and os.path.basename(last))
    trainer.train(resume_from_checkpoint=last)
    assert arguments.world_size == 2
    # As PyTorch asks for: threads of Gloo that outlive the interpreter abort the process now and then.
    torch.distributed.destroy_process_group()
"""


# fault: SIGKILL of a program of transformers
@pytest.mark.parametrize("dies", [False, True])
def test_a_trainer_reports_by_itself(rtrain, tmp_path, dies):
    rtrain.env.update(RTRAIN_PYTHON=PYTHON, HF_HUB_OFFLINE="1", TMPDIR=str(tmp_path))
    script = rtrain.script(SCRIPT, "train.py")
    args = [
        "-n",
        "2",
        "--status-endpoint",
        "--max-failures",
        "1",
        "--name",
        "run",
        script,
        tmp_path / "out",
        *(["--die"] if dies else []),
    ]
    result = rtrain("launch", *args, timeout=500)
    assert result.returncode == 0, result.stdout + result.stderr
    assert rtrain.statuses("run") == (["ERRORED", "FINISHED"] if dies else ["FINISHED"])
    reports = rtrain.reports("run")
    assert reports[0]["total_steps"] == 20 and reports[0]["progress"] == 0
    last = reports[-1]
    assert last["progress"] == 1 and last["remaining_s"] == 0 and 0 < last["train_loss"] < 2.8, last
    assert last["loss"] < 1.5 and last["epoch"] == 5, last
    if dies:
        assert [row["progress"] for row in rtrain.reports("run", "--all")].count(0) == 2
        assert "goes on from checkpoint-10" in result.stdout
        assert rtrain.query("SELECT DISTINCT attempt FROM reports ORDER BY 1") == [(1,), (2,)]
