-- rtrain/doctor/gpus.lua: the parts of `rtrain doctor --train --gpus`. Each part is a run with a worker for each device,
-- in a process of its own that may hang; what it means is said afterwards, by another process, from the notes.

local notes = require 'rtrain.doctor.notes'
local row = require 'rtrain.doctor.row'

local gpus = {}

-- Runs work(device) on each rank, and notes its facts or its error as 'NAME-RANK'.
local function noted(folder, name, work)
  local train = require 'rtrain'
  local errors = require 'base.errors'
  local ok, facts = xpcall(work, errors.wrap, train.torch.get_device())
  local rank = train.get_context():get_world_rank()
  notes.write(folder, ('%s-%d'):format(name, rank), ok and facts or {error_text = row.error_text(facts)})
  if not ok then error(facts, 0) end
end

-- LibTorch warns of messages that wait for others of their communicator; here each pair has its own.
local WORKER_ENV = {TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING = 'false'}

local function test_devices(config)
  noted(config.folder, 'device', require('rtrain.doctor.device').measure)
  noted(config.folder, 'graph', require('rtrain.doctor.graph').measure)
end

local function test_links(config)
  local train = require 'rtrain'
  local hangs = require('rtrain.doctor.links').measure(train.torch.get_device(), config.folder)
  if hangs then require('base.errors').raise('environment', 'a link between two devices hangs') end
end

local function test_heal(config)
  require('rtrain.doctor.heal').train(require('rtrain').torch.get_device(), config.folder)
end

local function judge_devices(folder, num, said)
  local rows, graph = {}, require 'rtrain.doctor.graph'
  for rank, facts in ipairs(notes.of_ranks(folder, 'device', num)) do
    rows[rank] = require('rtrain.doctor.device').judge(('GPU %d'):format(rank - 1), facts, said)
  end
  rows[#rows + 1] = graph.judge(notes.of_ranks(folder, 'graph', num))
  return rows
end

local function judge_links(folder, _, said)
  local devices = require('base._system').gpu_wiring()
  return {require('rtrain.doctor.link_report').judge(notes.read(folder, 'links'), devices, said)}
end

local function judge_heal(folder, num, said)
  local rows = {require('rtrain.doctor.heal').judge(folder, num, said)}
  rows[2] = rows[1].status ~= 'failure' and require('rtrain.doctor.checkpoint').judge(folder) or nil
  return rows
end

local PARTS = {
  devices = {test = test_devices, judge = judge_devices},
  links = {test = test_links, judge = judge_links},
  heal = {test = test_heal, judge = judge_heal},
}

---Runs a part: 'devices', 'links' or 'heal'. Raises the error of the run.
---@param part string
---@param num integer of devices
---@param folder string of the notes
function gpus.run(part, num, folder)
  local train = require 'rtrain'
  local result = train.TorchTrainer{
    train_loop_per_worker = PARTS[part].test,
    train_loop_config = {folder = folder},
    scaling_config = train.ScalingConfig{num_workers = num, use_gpu = true},
    run_config = train.RunConfig{name = 'doctor-' .. part, worker_env = WORKER_ENV},
  }:fit()
  if part == 'heal' then require('rtrain.doctor.checkpoint').check(result, folder) end
end

---Prints the rows of a part as JSON.
---@param part string
---@param num integer of devices
---@param folder string of the notes
---@param said string the error with which it has ended, or ''
function gpus.judge(part, num, folder, said)
  print(require('base._system').to_json(PARTS[part].judge(folder, num, said)))
end

return gpus
