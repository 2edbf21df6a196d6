"""adapter_oracle.py FOLDER [check]: adapters of peft for models of model_oracle.py, and what it computes with them.

With `check`: compares what rtrain has written: NAME.saved, an adapter, and NAME.merged, a model.
"""

import pathlib
import sys

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file

ADAPTERS = {
    "gpt2-lora": ("gpt2", {"target_modules": ["c_attn", "c_fc"], "fan_in_fan_out": True}),
    "llama-lora": (
        "llama",
        {"target_modules": ["q_proj", "v_proj", "down_proj"], "use_rslora": True, "modules_to_save": ["lm_head"]},
    ),
    "qwen2-dora": ("qwen2", {"target_modules": "all-linear", "use_dora": True}),
}


def base_of(folder, name):
    return transformers.AutoModelForCausalLM.from_pretrained(folder / ADAPTERS[name][0])


def write(folder, name):
    torch.manual_seed(3)
    config = LoraConfig(r=4, lora_alpha=10, task_type="CAUSAL_LM", **ADAPTERS[name][1])
    model = get_peft_model(base_of(folder, name), config).eval()
    for key, parameter in model.named_parameters():
        if "magnitude" in key:
            parameter.data.mul_(1.1)
        elif parameter.requires_grad and "modules_to_save" not in key:
            torch.nn.init.normal_(parameter, std=0.2)
    model.save_pretrained(folder / name)
    ids = torch.randint(5, 99, (2, 17))
    out = model(ids, labels=ids)
    out.loss.backward()
    wanted = {"ids": ids, "logits": out.logits, "loss": out.loss.reshape(1)}
    wanted |= {f"grad.{key}": each.grad for key, each in model.named_parameters() if each.requires_grad}
    save_file(
        {key: value.detach().contiguous().clone() for key, value in wanted.items()}, folder / f"{name}.safetensors"
    )


def check(folder, name):
    wanted = load_file(folder / f"{name}.safetensors")
    adapted = PeftModel.from_pretrained(base_of(folder, name), folder / f"{name}.saved").eval()
    merged = transformers.AutoModelForCausalLM.from_pretrained(folder / f"{name}.merged").eval()
    with torch.no_grad():
        assert torch.equal(adapted(wanted["ids"]).logits, adapted(wanted["ids"]).logits)
        assert (adapted(wanted["ids"]).logits - wanted["logits"]).abs().max() <= 1e-6, name
        assert (merged(wanted["ids"]).logits - wanted["logits"]).abs().max() <= 1e-5, name


if __name__ == "__main__":
    for each in ADAPTERS:
        (check if sys.argv[2:] == ["check"] else write)(pathlib.Path(sys.argv[1]), each)
