-- rtrain.run.time_limit with a simulated clock and simulated commands.

local lu = require 'luaunit'
local TimeLimit = require 'rtrain.run.time_limit'

TestTimeLimit = {}

-- `answers`: the outputs of the command, one after the other; false: the command hangs.
local function limit_with(answers, grace_s)
  local self = {now = 1000, asked = 0, near = {}, problems = {}}
  self.limit = TimeLimit('squeue', {
    grace_s = grace_s or 30,
    on_near = function(left) table.insert(self.near, left) end,
    on_problem = function(text) table.insert(self.problems, text) end,
    clock = function() return self.now end,
    start = function(command)
      lu.assertEquals(command, 'squeue 2>&1')
      self.asked = self.asked + 1
      local answer = answers[math.min(self.asked, #answers)]
      return {finish = function() return answer ~= false, answer or '' end, release = function() end}
    end,
  })
  function self.ticks(_, seconds)
    for _ = 1, seconds * 2 do
      self.limit:tick()
      self.now = self.now + 0.5
    end
  end
  return self
end

function TestTimeLimit.test_the_run_is_asked_to_end_when_there_is_time_to_save()
  local self = limit_with {'1:00:00\n', '50:00\n', '0:46\n', '0:45\n'}
  self:ticks(1199)
  lu.assertEquals({self.asked, #self.near}, {2, 0})
  self:ticks(6)  -- after ten minutes the command runs again: the limit was lowered
  lu.assertEquals({self.asked, self.near}, {4, {45}})
  self:ticks(1000)
  lu.assertEquals({self.asked, #self.near}, {4, 1})
end

function TestTimeLimit.test_a_short_job_trains_for_most_of_its_time()
  local self = limit_with {'1:00\n', '0:15\n'}
  self:ticks(45)
  lu.assertEquals(self.near, {})
  self:ticks(2)
  lu.assertEquals(self.near, {15})
end

function TestTimeLimit.test_a_limit_that_was_raised_is_the_new_one()
  local self = limit_with {'2:00\n', '1-00:00:00\n'}
  self:ticks(300)
  lu.assertEquals({self.asked, self.near}, {2, {}})
end

function TestTimeLimit.test_without_a_limit_nothing_ends()
  local self = limit_with {'UNLIMITED\n'}
  self:ticks(1300)
  lu.assertEquals({self.asked, self.near, self.problems}, {3, {}, {}})
end

function TestTimeLimit.test_a_scheduler_that_no_longer_answers_does_not_hide_a_known_limit()
  for _, answer in ipairs {false, 'slurm_load_jobs error: Unable to contact slurm controller\n'} do
    local self = limit_with {'2:00\n', answer}
    self:ticks(89)
    lu.assertEquals(self.near, {})
    self:ticks(13)
    lu.assertEquals({#self.near, self.problems}, {1, {}})
    lu.assertTrue(self.near[1] > 15, self.near[1])
  end
end

function TestTimeLimit.test_a_limit_that_cannot_be_found_out_is_named_once()
  for answer, text in pairs {['sh: 1: squeue: not found\n'] = 'sh: 1: squeue: not found', [''] = 'no answer',
    [false] = 'no answer for 10 s'} do
    local self = limit_with {answer}
    self:ticks(100)
    lu.assertEquals({self.asked, self.problems}, {1, {'the time limit of the job is not known: squeue: ' .. text}})
  end
end

function TestTimeLimit.test_the_command_is_a_real_one()
  local near
  local limit = TimeLimit('echo 0:00', {grace_s = 1, on_near = function(left) near = left end, on_problem = error})
  for _ = 1, 1000 do
    limit:tick()
    if near then break end
    os.execute 'sleep 0.01'
  end
  limit:close()
  lu.assertTrue(near <= 0, near)
end

os.exit(lu.LuaUnit.run(), true)
