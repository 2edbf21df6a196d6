-- When the device's memory is used up, garbage is collected and the operator is repeated; if that fails, the error
-- says where the memory is. gpu: alone, at most 60 s
local lu = require 'luaunit'
local torch = require 'torch'

local MIB = 1024 * 1024

local function total_memory() return torch.cuda.get_device_properties(0).total_memory end

TestOutOfMemory = {}

function TestOutOfMemory:tearDown()
  collectgarbage()
  collectgarbage()
  torch.cuda.synchronize()
end

-- Allocates three times the device's memory, in tensors that are not kept.
function TestOutOfMemory:test_garbage_is_collected_before_memory_is_short()
  local size = math.floor(total_memory() / 20)
  for i = 1, 60 do
    local tensor = torch.empty(size, {dtype = 'uint8', device = 'cuda'})
    if i % 20 == 0 then tensor:narrow(0, 0, 16):fill_(1) end
  end
end

-- Garbage fills the device while the collector is stopped: only the second try finds free memory.
function TestOutOfMemory:test_an_operator_without_room_is_tried_again_after_a_collection()
  local size = math.floor(total_memory() / 3)
  collectgarbage 'stop'
  for _ = 1, 6 do torch.empty(size, {dtype = 'uint8', device = 'cuda'}) end
  collectgarbage 'restart'
end

function TestOutOfMemory:test_what_cannot_be_had_is_an_error_with_the_numbers()
  local ok, err = pcall(torch.empty, 4 * total_memory(), {dtype = 'uint8', device = 'cuda'})
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'out_of_memory')
  for _, part in ipairs{'out of memory', 'Tried to allocate', 'GiB', 'free'} do lu.assertStrContains(err.message, part) end
  lu.assertNotStrContains(err.message, 'Exception raised from')
end

function TestOutOfMemory:test_training_goes_on_after_the_error_was_caught()
  local model = torch.nn.Linear(64, 64):to 'cuda'
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
  local function step(rows)
    optimizer:zero_grad()
    local loss = model(torch.ones(rows, 64, {device = 'cuda'})):pow(2):mean()
    loss:backward()
    optimizer:step()
    return loss:item()
  end
  local first = step(16)
  lu.assertErrorMsgContains('out of memory', step, math.floor(4 * total_memory() / 256))
  lu.assertTrue(step(16) < first)
end

function TestOutOfMemory:test_the_tensors_that_are_held_stay_as_they_were()
  local held = torch.arange(MIB, {device = 'cuda', dtype = 'float32'})
  local sum = held:double():sum():item()
  pcall(torch.empty, 4 * total_memory(), {dtype = 'uint8', device = 'cuda'})
  lu.assertEquals(held:double():sum():item(), sum)
end

os.exit(lu.LuaUnit.run(), true)
