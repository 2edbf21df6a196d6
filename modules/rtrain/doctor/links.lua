-- rtrain/doctor/links.lua: the test of the links between the devices: messages of each pair in both directions, one pair
-- at a time, so that one that hangs is known; then a sum over all devices.
--
-- Each pair has a communicator of its own, so that one that hangs holds no other one up. After each pair the ranks tell
-- each other its result through the CPU's memory, which needs no device.

local notes = require 'rtrain.doctor.notes'

local links = {}

local FEW, MANY = 2 ^ 18, 2 ^ 24  -- numbers of 4 bytes: 1 MB, 64 MB
local SHORT_S = 0.02              -- a message of FEW that takes longer is not followed by one of MANY
local REPEATS = 4                 -- messages of MANY, one after another
local TRIES = 3                   -- of which the best one counts: others may find other programs at work
local DEADLINE_S = 10             -- of a message, with what NCCL does before the first one
local MOST_HANGING = 2            -- a device that hangs with that many others is not tested with more

-- Returns the seconds until the last of these works ends; nil after the deadline.
local function seconds_of(works, deadline_s)
  local system, time = require 'base._system', require 'rtrain.time'
  local start, last = system.monotonic(), works[#works]
  while not last:is_completed() do
    local taken = system.monotonic() - start
    if taken > deadline_s then return nil end
    if taken > 0.05 then time.sleep(0.001) end
  end
  return system.monotonic() - start
end

-- What a rank says of a message instead of its seconds.
local HANGS, IS_WRONG, TAKES_NO_PART = -1, -2, 0

-- Sends `count` messages from one rank to another one; returns the seconds they took, or one of the above.
local function exchange(rank, group, pair, tensor, count, deadline_s)
  local dist = require('torch').distributed
  local works = {}
  for i = 1, count do
    if rank == pair.from then works[i] = dist.isend(tensor, pair.to, {group = group}) end
    if rank == pair.to then works[i] = dist.irecv(tensor, pair.from, {group = group}) end
  end
  return #works == 0 and TAKES_NO_PART or seconds_of(works, deadline_s) or HANGS
end

-- Returns what all ranks together say: HANGS or IS_WRONG where one says so, else the most seconds.
local function of_all_ranks(said)
  local torch = require 'torch'
  local most = torch.tensor {said, said == HANGS and 1 or 0, said == IS_WRONG and 1 or 0}
  torch.distributed.all_reduce(most, 'max')
  local seconds, hangs, is_wrong = unpack(most:tolist())
  return hangs == 1 and HANGS or is_wrong == 1 and IS_WRONG or seconds
end

local function marked(size, value, where)
  return require('torch').full({size}, value, {dtype = 'float32', device = where})
end

-- Not that of other streams: where a message hangs, its stream never ends.
local function finish_own_work() require('torch').cuda.current_stream():synchronize() end

local function holds(tensor, value)
  local first, last = tensor:narrow(0, 0, 1), tensor:narrow(0, tensor:numel() - 1, 1)
  return first:cpu():item() == value and last:cpu():item() == value
end

-- Calls pass(size, count) with few numbers, and with many where few are quick. pass returns the rank's seconds, or what it
-- says instead. Returns the state, the bytes of a call, and the seconds of the best.
local function best_of(pass, repeats)
  local function tried(size, count)
    local best = math.huge
    for _ = 1, TRIES do
      local seconds = of_all_ranks(pass(size, count))
      if seconds < 0 then return seconds end
      best = math.min(best, seconds)
    end
    return best
  end
  local bytes, seconds = 4 * FEW, tried(FEW, 1)
  if seconds >= 0 and seconds < SHORT_S then bytes, seconds = 4 * MANY * repeats, tried(MANY, repeats) end
  if seconds < 0 then return seconds == HANGS and 'hangs' or 'wrong' end
  return 'measured', bytes, seconds
end

-- Tests one direction of a pair.
local function test_pair(rank, pair, group, where, deadline_s)
  local mark = 1 + 100 * pair.from + pair.to
  local state, bytes, seconds = best_of(function(size, count)
    local tensor = marked(size, rank == pair.from and mark or 0, where)
    finish_own_work()
    local taken = exchange(rank, group, pair, tensor, count, deadline_s)
    return rank == pair.to and taken >= 0 and not holds(tensor, mark) and IS_WRONG or taken
  end, REPEATS)
  pair.state, pair.gb_s = state, bytes and bytes / seconds / 1e9
end

-- Returns the bandwidth of a sum over all devices, as NCCL's own tests count it.
local function test_sum(rank, num, where, deadline_s)
  local torch = require 'torch'
  local state, bytes, seconds = best_of(function(size)
    local tensor = marked(size, rank + 1, where)
    finish_own_work()
    local taken = seconds_of({torch.distributed.all_reduce(tensor, 'sum', {async_op = true})}, deadline_s) or HANGS
    return taken >= 0 and not holds(tensor, num * (num + 1) / 2) and IS_WRONG or taken
  end, 1)
  return {state = state, bytes = bytes, gb_s = bytes and bytes / seconds * 2 * (num - 1) / num / 1e9}
end

local function directions(num)
  local out = {}
  for a = 0, num - 1 do
    for b = a + 1, num - 1 do
      out[#out + 1] = {from = a, to = b}
      out[#out + 1] = {from = b, to = a}
    end
  end
  return out
end

---Tests the links of all ranks' devices; each rank calls it. Rank 0 notes the facts as 'links', before each pair too.
---@param where string the rank's device
---@param folder string of the notes
---@param deadline_s? number of a message
---@return boolean hangs
function links.measure(where, folder, deadline_s)
  local torch, train = require 'torch', require 'rtrain'
  local context = train.get_context()
  local rank, num = context:get_world_rank(), context:get_world_size()
  deadline_s = deadline_s or DEADLINE_S
  local uuids = {}
  torch.distributed.all_gather_object(uuids, 'GPU-' .. torch.cuda.get_device_properties(where).uuid)
  local facts = {uuids = uuids, pairs = {}, deadline_s = deadline_s}
  local hanging, is_any_hanging, group = {}, false, nil
  local function note()
    if rank == 0 then notes.write(folder, 'links', facts) end
  end
  for _, pair in ipairs(directions(num)) do
    local known = facts.pairs[#facts.pairs]
    local is_back = pair.from > pair.to and known.state == 'hangs'
    facts.pairs[#facts.pairs + 1] = pair
    if is_back or (hanging[pair.from] or 0) >= MOST_HANGING or (hanging[pair.to] or 0) >= MOST_HANGING then
      pair.state = 'not tested'
    else
      pair.state = 'begun'
      note()
      if pair.from < pair.to then group = torch.distributed.new_group {ranks = {pair.from, pair.to}} end
      test_pair(rank, pair, group, where, deadline_s)
      if pair.state == 'hangs' then
        is_any_hanging = true
        for _, number in ipairs {pair.from, pair.to} do hanging[number] = (hanging[number] or 0) + 1 end
      end
    end
  end
  if not is_any_hanging then
    facts.sum = {state = 'begun'}
    note()
    facts.sum = test_sum(rank, num, where, deadline_s)
  end
  note()
  return is_any_hanging or facts.sum.state == 'hangs'
end

return links
