"""Trains known models with Python's fully_shard over Gloo: fsdp_model_oracle.py FOLDER RANKS CASES (JSON) writes what
test_fsdp_models.py compares as FOLDER/CASE-RANK.pt: the first parameters and buffers, of each step the loss and the norms of
the parameters, the last parameters, and this rank's buffers.

torchvision's models need Python's torch, those of transformers and peft the Python that has them.
"""

import json
import pathlib
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

IMAGE_CLASSES, VOCABULARY, BATCH, TOKENS = 10, 97, 4, 12


def resnet18():
    from torchvision.models import resnet18

    model = resnet18(num_classes=IMAGE_CLASSES)
    stages = (model.layer1, model.layer2, model.layer3, model.layer4)
    return model, [block for stage in stages for block in stage]


def vit():
    from torchvision.models import VisionTransformer

    model = VisionTransformer(
        image_size=32, patch_size=8, num_layers=3, num_heads=2, hidden_dim=24, mlp_dim=40, num_classes=IMAGE_CLASSES
    )
    nn.init.normal_(model.heads.head.weight, std=0.1)  # torchvision's zeros give the layers below no gradient at first
    return model, list(model.encoder.layers)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY, n_embd=24, n_layer=3, n_head=2, n_positions=16, resid_pdrop=0.0, embd_pdrop=0.0,
            attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
        )
    )  # fmt: skip
    assert model.lm_head.weight is model.transformer.wte.weight
    return model, list(model.transformer.h)


def llama_lora():
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM

    base = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY, hidden_size=24, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
            intermediate_size=40, max_position_embeddings=16,
        )
    )  # fmt: skip
    model = get_peft_model(base, LoraConfig(r=3, lora_alpha=6, target_modules=["q_proj", "v_proj"]))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:  # zeros give lora_A no gradient at first
            nn.init.normal_(parameter, std=0.1)
    return model, list(base.model.layers)


MODELS = {"resnet18": resnet18, "vit": vit, "gpt2": gpt2, "llama_lora": llama_lora}
IMAGES = ("resnet18", "vit")


def data(name, dtype, rank, step):
    """Returns inputs and targets, which need no random generator."""
    if name in IMAGES:
        x = torch.sin(torch.arange(BATCH * 3 * 32 * 32, dtype=torch.float64) * (step + 1.5) + rank)
        return x.to(getattr(torch, dtype)).view(BATCH, 3, 32, 32), (
            torch.arange(BATCH) * (step + 2) + rank
        ) % IMAGE_CLASSES
    x = (torch.arange(BATCH * TOKENS) * (step + 2) + 5 * rank) % VOCABULARY
    return x.view(BATCH, TOKENS), ((x * 3 + 1) % VOCABULARY).view(BATCH, TOKENS)


def loss_of(name, model, x, y):
    if name in IMAGES:
        return F.cross_entropy(model(x), y)
    if name == "llama_lora":
        return model(x, labels=x).loss
    return F.cross_entropy(model(x).logits.view(-1, VOCABULARY), y.view(-1))


def buffers_of(model):
    """Returns copies of the buffers that are part of checkpoints."""
    saved = model.state_dict()
    return {name: value.clone() for name, value in model.named_buffers() if name in saved}


def run(case, options, rank, folder):
    torch.manual_seed(5)
    model, blocks = MODELS[options["model"]]()
    model.to(getattr(torch, options["dtype"])).train()
    record = {
        "first": {name: value.detach().clone() for name, value in model.named_parameters()},
        "first_buffers": buffers_of(model),
    }
    given = {}
    if options.get("mixed"):
        given["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    if options.get("hybrid"):
        given["mesh"] = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    for block in blocks:
        fully_shard(block, **given)
    fully_shard(model, **given)
    # An epsilon that is not small: Adam's quotient of two roundings would be any number.
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=options["lr"], eps=1e-3)
    losses, norms, sizes, micro = [], [], [], options.get("micro", 1)
    for step in range(options["steps"]):
        optimizer.zero_grad()
        for part in range(micro):
            model.set_requires_gradient_sync(part == micro - 1)
            x, y = data(options["model"], options["dtype"], rank, step * micro + part)
            loss = loss_of(options["model"], model, x, y) / micro
            loss.backward()
            losses.append(loss.item())
        if options.get("clip"):
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), options["clip"]).full_tensor().item())
        optimizer.step()
        sizes.append({name: p.detach().full_tensor().norm().item() for name, p in model.named_parameters()})
    record |= {"losses": losses, "norms": norms, "sizes": sizes}
    record["last"] = {name: p.detach().full_tensor() for name, p in model.named_parameters()}
    record["last_buffers"] = buffers_of(model)
    torch.save(record, folder / f"{case}-{rank}.pt")


def work(rank, ranks, folder, cases):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    torch.set_num_threads(1)
    for case, options in cases.items():
        run(case, options, rank, folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    ranks = int(sys.argv[2])
    mp.spawn(work, (ranks, pathlib.Path(sys.argv[1]), json.loads(sys.argv[3])), nprocs=ranks)
