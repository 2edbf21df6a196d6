-- prompt_lookup_num_tokens of generate: the same text with guesses. tests/e2e/text compares it on all families.

local lu = require 'luaunit'
local text = require 'text'
local torch = require 'torch'

TestPromptLookup = {}

local function small()
  torch.manual_seed(3)
  return text.models.GPT2LMHeadModel {vocab_size = 12, n_embd = 8, n_layer = 1, n_head = 2, n_positions = 9100}
end

function TestPromptLookup:test_a_long_prompt_has_the_text_that_it_has_without_guesses()
  local model, prompt = small(), torch.arange(9000):remainder(11):unsqueeze(0)
  local options = {max_new_tokens = 6, eos_token_id = {}, repetition_penalty = 1.2}
  local plain = model:generate(prompt, options)
  options.prompt_lookup_num_tokens = 4
  lu.assertTrue(torch.equal(model:generate(prompt, options), plain))
end

function TestPromptLookup:test_padding_on_the_left_changes_nothing()
  local model = small()
  local prompt = torch.tensor({{0, 0, 5, 6, 7, 5, 6}}, {dtype = 'int64'})
  local options = {max_new_tokens = 8, eos_token_id = {}, attention_mask = prompt:ne(0):to('int64')}
  local plain = model:generate(prompt, options)
  options.prompt_lookup_num_tokens = 3
  lu.assertTrue(torch.equal(model:generate(prompt, options), plain))
end

function TestPromptLookup:test_several_prompts_are_refused()
  lu.assertErrorMsgContains('there is one prompt, got 2', function()
    small():generate(torch.ones({2, 3}, {dtype = 'int64'}), {prompt_lookup_num_tokens = 3})
  end)
end

os.exit(lu.LuaUnit.run())
