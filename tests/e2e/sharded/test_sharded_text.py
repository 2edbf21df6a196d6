"""Models of text that are sharded: generation, and a model whose blocks share what the first one computes."""

from sharded_runs import sharded  # noqa: F401  (a fixture)

MODELS = """
    local models, lora = require('text').models, require('text').lora
    local ids = torch.arange(12):view(2, 6):long()
    local function gpt2()
      torch.manual_seed(1)
      return models.GPT2LMHeadModel{vocab_size = 40, n_embd = 16, n_layer = 2, n_head = 2, n_positions = 32, resid_pdrop = 0,
        embd_pdrop = 0, attn_pdrop = 0}
    end
    local function t5()
      torch.manual_seed(1)
      return models.T5ForConditionalGeneration{vocab_size = 40, d_model = 16, d_kv = 8, d_ff = 32, num_layers = 2,
        num_decoder_layers = 3, num_heads = 2, decoder_start_token_id = 0, pad_token_id = 0, dropout_rate = 0}
    end
    local function blocks_of(model)
      if model.transformer then return {model.transformer.h} end
      return {model.encoder.block, model.decoder.block}
    end
    local function sharded(model)
      for _, blocks in ipairs(blocks_of(model)) do
        for _, block in ipairs(blocks) do fully_shard(block) end
      end
      return fully_shard(model)
    end
    -- Whether it is so on all ranks.
    local function all(value) return dist.all_reduce(torch.tensor{value and 1 or 0}, 'min'):item() == 1 end
"""


def test_each_rank_generates_as_long_as_it_needs(sharded):
    out = sharded(
        MODELS
        + """
        for _, make in ipairs{gpt2, t5} do
          local whole, parts = make(), sharded(make())
          local options = {max_new_tokens = 3 + 4 * rank}
          local name = whole.__name
          out[name] = all(torch.equal(parts:generate(ids + rank, options), whole:generate(ids + rank, options)))
          out[name .. '_beams'] = all(torch.equal(parts:generate(ids, {num_beams = 2}), whole:generate(ids, {num_beams = 2})))
          local optimizer = torch.optim.SGD(parts:parameters(), {lr = 0.1})
          parts(ids, {labels = ids}).loss:backward()
          optimizer:step()
          local before = parts:state_dict()
          out[name .. '_rows'] = parts:parameters()[1]:size(0) == 20
          local changed = make()
          local state = {}
          for key, value in require('base.ordered').items(before) do state[key] = value:full_tensor() end
          changed:load_state_dict(state)
          out[name .. '_trained'] = all(torch.equal(parts:generate(ids + rank, options), changed:generate(ids + rank, options)))
        end
        local function adapted()
          torch.manual_seed(4)
          return lora.get_peft_model(gpt2(), lora.LoraConfig{r = 2, target_modules = {'c_attn'}})
        end
        local whole, parts = adapted(), adapted()
        for _, block in ipairs(parts:get_base_model().transformer.h) do fully_shard(block) end
        fully_shard(parts)
        out.adapted = all(torch.equal(parts:generate(ids), whole:generate(ids)))
        """
    )
    names = ("GPT2LMHeadModel", "T5ForConditionalGeneration")
    wanted = {name + end: True for name in names for end in ("", "_beams", "_rows", "_trained")}
    assert out == {**wanted, "adapted": True}


def test_the_gradients_of_t5_are_those_of_ddp(sharded):
    out = sharded(
        MODELS
        + """
        for _, mode in ipairs{'plain', 'checkpointed', 'frozen'} do
          local whole, parts = t5(), t5()
          for _, each in ipairs{whole, parts} do
            each:train()
            if mode == 'frozen' then each.shared:requires_grad_(false) end
          end
          for _, stack in ipairs{parts.encoder, parts.decoder} do stack.gradient_checkpointing = mode == 'checkpointed' end
          sharded(parts)
          local labels = {labels = ids + rank}
          torch.nn.parallel.DistributedDataParallel(whole)(ids + rank, labels).loss:backward()
          parts(ids + rank, labels).loss:backward()
          local wanted, count = {}, 0
          for name, p in whole:named_parameters() do wanted[name] = p.grad end
          out[mode] = true
          for name, p in parts:named_parameters() do
            if p.requires_grad then
              count = count + 1
              out[mode] = out[mode] and torch.allclose(p.grad:full_tensor(), wanted[name], {atol = 1e-6})
            end
          end
          out[mode .. '_count'] = count
        end
        """
    )
    assert out == {
        "plain": True,
        "plain_count": 60,
        "checkpointed": True,
        "checkpointed_count": 60,
        "frozen": True,
        "frozen_count": 59,
    }


def test_a_sharded_model_is_written_with_whole_tensors(sharded, tmp_path):
    out = sharded(
        MODELS
        + f"""
        local folder = {str(tmp_path)!r} .. '/'
        for _, make in ipairs{{gpt2, t5}} do
          local whole, parts = make(), sharded(make())
          parts:save_pretrained(folder .. whole.__name)
          dist.barrier()
          local read = require('text').models[whole.__name].from_pretrained(folder .. whole.__name)
          local same = true
          for name, p in whole:named_parameters() do same = same and torch.equal(read:state_dict()[name], p) end
          out[whole.__name] = all(same)
        end
        """
    )
    assert out == {"GPT2LMHeadModel": True, "T5ForConditionalGeneration": True}
    assert (tmp_path / "GPT2LMHeadModel" / "model.safetensors").exists()


def test_adapters_of_a_sharded_model_are_merged_and_written(sharded, tmp_path):
    out = sharded(
        MODELS
        + f"""
        local folder = {str(tmp_path)!r} .. '/'
        local function adapted(config)
          local model = gpt2()
          torch.manual_seed(4)
          model = lora.get_peft_model(model, lora.LoraConfig(config))
          torch.no_grad(function()
            for name, p in model:named_parameters() do
              if name:find 'lora_B' then torch.nn.init.normal_(p) end
            end
          end)
          return model:eval()
        end
        local function near(a, b) return all(torch.allclose(a, b, {{atol = 1e-5}})) end
        local configs = {{plain = {{r = 2, target_modules = {{'c_attn', 'c_proj'}}}},
                         dora = {{r = 2, target_modules = {{'c_attn'}}, use_dora = true}}}}
        for _, name in ipairs{{'plain', 'dora'}} do
          local config = configs[name]
          local whole, parts = adapted(config), adapted(config)
          for _, block in ipairs(parts:get_base_model().transformer.h) do fully_shard(block) end
          fully_shard(parts)
          local function logits(model) return torch.no_grad(function() return model(ids).logits end) end
          local before = logits(parts)
          out[name] = near(before, logits(whole))
          parts:save_pretrained(folder .. name)
          dist.barrier()
          local read = lora.PeftModel.from_pretrained(gpt2(), folder .. name)
          out[name .. '_read'] = near(logits(read), before)
          parts:merge_adapter()
          out[name .. '_merged'] = near(logits(parts), before)
          out[name .. '_changed'] = all(not torch.equal(
            parts:get_base_model().transformer.h[1].attn.c_attn.base_layer.weight:full_tensor(),
            gpt2().transformer.h[1].attn.c_attn.weight))
          parts:unmerge_adapter()
          out[name .. '_again'] = all(torch.equal(logits(parts), before))
          local _, message = pcall(parts.merge_and_unload, parts)
          out.unload = tostring(message)
          _, message = pcall(parts.add_adapter, parts, 'second', lora.LoraConfig(config))
          out.add = tostring(message)
        end
        """
    )
    assert "merge_and_unload: 'transformer.h.0." in out["unload"] and "save_pretrained writes the adapter" in out.pop(
        "unload"
    )
    assert "add adapters first, then shard the model" in out.pop("add")
    ends = ("", "_read", "_merged", "_changed", "_again")
    assert out == {name + end: True for name in ("plain", "dora") for end in ends}


def test_generation_leaves_gathered_what_the_script_gathered(sharded):
    out = sharded(
        MODELS
        + """
        local model = sharded(gpt2())
        model:unshard()
        model:generate(ids, {max_new_tokens = 2})
        out.kept = all(model:parameters()[1]:size(0) == 40)
        model:reshard()
        out.rows = all(model:parameters()[1]:size(0) == 20)
        """
    )
    assert out == {"kept": True, "rows": True}
