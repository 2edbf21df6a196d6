-- Language models on one core. Prints "name<TAB>number" lines. Twin of peers/language_models.py: change both.
--
--   language_models.lua run FOLDER      that peers/language_models.py has made
--   language_models.lua first FOLDER    reads the large model and prints one token
local clock = require 'events'
local text = require 'text'
local torch = require 'torch'
local train = require 'rtrain'

torch.set_num_threads(1)
local STEPS = 3
local WARM_UP = 3 -- calls before the plan of train.compile
local what, folder = arg[1], arg[2]

local function read(name) return text.AutoModelForCausalLM.from_pretrained(folder .. '/' .. name) end

local function report(name, value) io.write(('%s\t%.6f\n'):format(name, value)) end

local function step_ms(model, batch, tokens, is_compiled)
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 1e-4})
  local ids = torch.randint(0, 1000, {batch, tokens})
  local best = math.huge
  model:train()
  local function step(given)
    model(given, {labels = given}).loss:backward()
    optimizer:step()
    optimizer:zero_grad()
  end
  if is_compiled then
    step = train.compile(step)
    for _ = 1, WARM_UP do step(ids) end
    assert(step.state == 'compiled', step.reason)
  end
  for _ = 1, STEPS do
    local began = clock.now()
    step(ids)
    best = math.min(best, clock.now() - began)
  end
  return best * 1e3
end

local function token_ms(model, count)
  local prompt = torch.randint(0, 1000, {1, 16})
  model:generate(prompt, {max_new_tokens = 4, eos_token_id = {}})
  local began = clock.now()
  local out = model:generate(prompt, {max_new_tokens = count, eos_token_id = {}})
  assert(out.shape[2] == 16 + count)
  return (clock.now() - began) / count * 1e3
end

if what == 'first' then
  local ids = read 'large':generate(torch.tensor({{1, 2, 3}}, {dtype = 'int64'}), {max_new_tokens = 1, eos_token_id = {}})
  print(ids[0][-1]:item())
else
  torch.manual_seed(1)
  report('step_gpt2', step_ms(read 'gpt2', 2, 256))
  report('step_llama', step_ms(read 'llama', 4, 256))
  report('token', token_ms(read 'llama', 64))
  local began = clock.now()
  read 'large'
  report('load', (clock.now() - began) * 1e3)
  report('step_llama_compiled', step_ms(read 'llama', 4, 256, true))
end
