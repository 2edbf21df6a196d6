-- torch.utils.checkpoint: gradients, random numbers and memory of what runs again in the backward pass.
local lu = require 'luaunit'
local torch = require 'torch'
local nn = torch.nn

TestCheckpoint = {}

local function block() return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 4)) end

-- Runs the model once and returns the gradients of its parameters and input.
local function gradients(model, run)
  local x = torch.ones(2, 4, {requires_grad = true})
  torch.manual_seed(3)
  local y = run(x)
  local after = torch.rand(1):item()
  y:sum():backward()
  local out = {x.grad}
  for _, p in ipairs(model:parameters()) do
    out[#out + 1] = p.grad
    p.grad = nil
  end
  return out, after
end

local function assert_same(got, wanted)
  lu.assertEquals(#got, #wanted)
  for i, grad in ipairs(wanted) do lu.assertTrue(grad:equal(got[i])) end
end

function TestCheckpoint:test_same_gradients_and_random_numbers()
  local model = block()
  local checkpoint = torch.utils.checkpoint.checkpoint
  local wanted, after = gradients(model, model)
  local got, after_too = gradients(model, function(x) return checkpoint(model, x) end)
  assert_same(got, wanted)
  lu.assertEquals(after_too, after)
  local nested = gradients(model, function(x)
    return checkpoint(function(y) return checkpoint(model, y) end, x)
  end)
  assert_same(nested, wanted)
  local sequential = gradients(model, function(x)
    return torch.utils.checkpoint.checkpoint_sequential(model, 2, x)
  end)
  assert_same(sequential, wanted)
end

function TestCheckpoint:test_runs_again_under_autocast()
  local layer, dtypes = nn.Linear(4, 4), {}
  local function forward(x)
    local y = layer(x)
    dtypes[#dtypes + 1] = y.dtype
    return y:exp()
  end
  local y = torch.autocast('cpu', {dtype = 'bfloat16'}, function()
    return torch.utils.checkpoint.checkpoint(forward, torch.ones(2, 4, {requires_grad = true}))
  end)
  y:float():sum():backward()
  lu.assertEquals(dtypes, {'bfloat16', 'bfloat16'})
end

function TestCheckpoint:test_backward_twice()
  local x = torch.tensor({1, 2}, {requires_grad = true})
  local y = torch.utils.checkpoint.checkpoint(function(z) return (z * z):sum() end, x)
  y:backward{retain_graph = true}
  y:backward()
  lu.assertEquals(x.grad:tolist(), {4, 8})
end

function TestCheckpoint:test_keeps_less()
  local x = torch.ones(256, 1024, {requires_grad = true})
  local function chain(y)
    for _ = 1, 8 do y = y:exp():neg():exp() end
    return y
  end
  local function kept(run)
    collectgarbage()
    collectgarbage()
    local before = torch.memory_stats().live_bytes
    local y = run()
    collectgarbage()
    collectgarbage()
    return torch.memory_stats().live_bytes - before, y
  end
  local all = kept(function() return chain(x) end)
  local few = kept(function() return torch.utils.checkpoint.checkpoint(chain, x) end)
  lu.assertTrue(few * 4 < all, ('%d of %d bytes'):format(few, all))
end

function TestCheckpoint:test_a_function_that_changes_is_an_error()
  local x, calls = torch.tensor({1, 2}, {requires_grad = true}), 0
  local function changing(y)
    calls = calls + 1
    return calls == 1 and y:exp() or (y:exp():exp())
  end
  lu.assertErrorMsgContains('must do the same each time', function()
    torch.utils.checkpoint.checkpoint(changing, x):sum():backward()
  end)
  lu.assertErrorMsgContains('use_reentrant', function()
    torch.utils.checkpoint.checkpoint(changing, x, {use_reentrant = true})
  end)
end

os.exit(lu.LuaUnit.run(), true)
