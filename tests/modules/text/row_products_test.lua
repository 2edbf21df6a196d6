-- What generate asks the engine for: linear layers of one row.

local lu = require 'luaunit'
local engine = require 'torch._C'
local torch = require 'torch'
local F = torch.nn.functional

TestRowProducts = {}

-- Calls fn, and returns what it passed to torch.compile last, compiled.
local function last_compiled(fn)
  local compile, last = torch.compile, nil
  rawset(torch, 'compile', function(...)
    last = compile(...)
    return last
  end)
  local ok, err = pcall(fn)
  rawset(torch, 'compile', compile)
  assert(ok, err)
  return last
end

function TestRowProducts:tearDown() engine.set_row_products(false) end

local function both(x, weight, bias)
  return torch.no_grad(function()
    engine.set_row_products(false)
    local usual = F.linear(x, weight, bias)
    engine.set_row_products(true)
    return usual, F.linear(x, weight, bias)
  end)
end

function TestRowProducts:test_a_row_is_what_linear_gives_within_rounding()
  torch.manual_seed(1)
  for _, size in ipairs {{1, 1}, {3, 5}, {7, 64}, {130, 65}, {257, 1000}} do
    local weight, bias = torch.randn(size[1], size[2]), torch.randn(size[1])
    for _, x in ipairs {torch.randn(size[2]), torch.randn(1, size[2]), torch.randn(1, 1, size[2])} do
      for _, each in ipairs {bias, false} do
        local usual, own = both(x, weight, each or nil)
        lu.assertTrue(torch.allclose(usual, own, {rtol = 1e-5, atol = 1e-4}), table.concat(size, ' x '))
        lu.assertEquals(own.shape, usual.shape)
      end
    end
  end
end

function TestRowProducts:test_other_tensors_are_computed_as_ever()
  torch.manual_seed(2)
  local weight, row = torch.randn(300, 200), torch.randn(1, 200)
  local cases = {
    {torch.randn(2, 200), weight}, {row:double(), weight:double()}, {row, torch.randn(200, 300):t()},
    {row:bfloat16(), weight:bfloat16()},
  }
  for _, case in ipairs(cases) do
    local usual, own = both(unpack(case))
    lu.assertTrue(torch.equal(usual, own))
  end
  engine.set_row_products(true)
  local trained = F.linear(row, weight:clone():requires_grad_())
  lu.assertTrue(trained.requires_grad)
  lu.assertErrorMsgContains('shapes cannot be multiplied', function()
    torch.no_grad(function() return F.linear(torch.randn(1, 199), weight) end)
  end)
end

function TestRowProducts:test_plans_have_them_where_they_were_asked_for()
  torch.manual_seed(3)
  local weight, bias = torch.randn(130, 65), torch.randn(130)
  local function usual(x) return F.linear(F.relu(x), weight, bias) * 2 end
  local fast = torch.compile(usual)
  torch.no_grad(function()
    for i = 1, 16 do
      engine.set_row_products(i % 2 == 0)
      local x = torch.randn(1, 65)
      lu.assertTrue(torch.equal(fast(x), usual(x)), i)
    end
  end)
  lu.assertEquals(fast.state, 'compiled')
  local text = fast:explain()
  lu.assertStrContains(text, '1  row product')
  lu.assertStrContains(text, '1  aten::addmm')
  local shown
  engine.set_row_products(true)
  torch.profiler.profile({}, function(profile)
    torch.no_grad(function() fast(torch.randn(1, 65)) end)
    shown = profile
  end)
  lu.assertEquals(shown:key_averages():find('row product').count, 1)
end

function TestRowProducts:test_a_token_with_a_cache_that_keeps_its_size_is_a_plan()
  local text = require 'text'
  torch.manual_seed(4)
  local model = text.models.GPT2LMHeadModel {vocab_size = 50, n_embd = 16, n_layer = 2, n_head = 2, n_positions = 64}
  local prompt = torch.randint(0, 50, {1, 5})
  local ids = {}
  local step = last_compiled(function()
    for i, cache in ipairs {'dynamic', 'static'} do
      ids[i] = model:generate(prompt, {max_new_tokens = 40, eos_token_id = {}, cache_implementation = cache})
    end
  end)
  lu.assertTrue(torch.equal(ids[1], ids[2]))
  lu.assertEquals(step.state, 'compiled', step.reason)
end

function TestRowProducts:test_generate_takes_them_and_leaves_them_also_after_an_error()
  local text = require 'text'
  local model = text.models.GPT2LMHeadModel {vocab_size = 20, n_embd = 8, n_layer = 1, n_head = 2, n_positions = 16}
  local prompt, seen = torch.tensor({{1, 2}}, {dtype = 'int64'}), nil
  local function look()
    seen = engine.set_row_products(true)
    error 'stop here'
  end
  lu.assertErrorMsgContains('stop here', model.generate, model, prompt, {streamer = look})
  lu.assertTrue(seen)
  lu.assertFalse(engine.set_row_products(false))
end

os.exit(lu.LuaUnit.run())
