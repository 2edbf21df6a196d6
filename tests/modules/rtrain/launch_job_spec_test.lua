-- rtrain.launch.job_spec: the part of an Allocation that the executable gets.

local lu = require 'luaunit'
local job_spec = require 'rtrain.launch.job_spec'
local launch = require 'rtrain.launch'
local places = require 'rtrain.launch.place'

local function find(variables)
  return launch.find(function(name) return variables[name] end, {parent = function() return 4711 end})
end

local function torchrun(changes)
  local variables = {
    RANK = '3', LOCAL_RANK = '1', WORLD_SIZE = '4', LOCAL_WORLD_SIZE = '2', GROUP_RANK = '1', GROUP_WORLD_SIZE = '2',
    MASTER_ADDR = '10.0.0.1', MASTER_PORT = '29500', TORCHELASTIC_RUN_ID = 'abc', TORCHELASTIC_RESTART_COUNT = '2',
  }
  for name, value in next, changes or {} do variables[name] = value end
  return find(variables)
end

TestJobSpec = {}

function TestJobSpec.test_one_node_is_no_job()
  lu.assertNil(job_spec.of(find {}))
  lu.assertNil(job_spec.of(torchrun {RANK = '1', WORLD_SIZE = '2', GROUP_RANK = '0', GROUP_WORLD_SIZE = '1'}))
end

function TestJobSpec.test_each_process_is_a_rank()
  local found = torchrun()
  lu.assertEquals(job_spec.of(found), {
    num_tasks = 4, task = 3, local_task = 1, join = {socket = places.socket(found), num_ranks = 2},
    id = found.group .. '.2', hosts = {}, master = '10.0.0.1', port = found.port, cores = found.cores,
    has_own_disks = false,
  })
end

function TestJobSpec.test_one_process_on_each_node()
  local found = find {
    RTRAIN_NNODES = '2', RTRAIN_NODE_RANK = '1', RTRAIN_MASTER_ADDR = 'n0', RTRAIN_MASTER_PORT = '29501', RTRAIN_JOB_ID = 'j',
  }
  local job = job_spec.of(found)
  lu.assertEquals({job.num_tasks, job.task, job.local_task, job.join}, {2, 1, 0, nil})
  lu.assertEquals({job.id, job.master, job.hosts}, {'j', 'n0', found.hosts or {}})
  lu.assertEquals(job.port, found.port)
end

os.exit(lu.LuaUnit.run(), true)
