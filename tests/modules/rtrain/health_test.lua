-- How evaluators judge evidence against a node, who is notified of an eviction, and train.health.report's arguments.
local evaluators = require 'rtrain.run.evaluators'
local Evictions = require 'rtrain.run.evictions'
local lu = require 'luaunit'
local train = require 'rtrain'

local function refusal(f, ...)
  local ok, err = pcall(f, ...)
  lu.assertFalse(ok)
  return err.code, err.message
end

local function says(action) return function() return action end end

TestEvaluators = {}

function TestEvaluators.test_the_heaviest_action_is_done()
  local health = train.health
  lu.assertEquals(evaluators.decide({}, {}), 'NOOP')
  lu.assertEquals(evaluators.decide({says(nil), says(false)}, {}), 'NOOP')
  lu.assertEquals(evaluators.decide({says(health.EVICT), says(health.REATTEMPT)}, {}), 'EVICT')
  lu.assertEquals(evaluators.decide({says(health.DIAGNOSE), says(health.REATTEMPT)}, {}), 'REATTEMPT')
  lu.assertEquals(evaluators.decide({health.default_evaluator, says(health.DIAGNOSE)}, {default = 'NOOP'}), 'DIAGNOSE')
end

function TestEvaluators.test_they_get_the_evidence()
  local seen
  evaluators.decide({function(evidence) seen = evidence.kind end}, {kind = 'link'})
  lu.assertEquals(seen, 'link')
end

function TestEvaluators.test_an_unknown_action_is_an_error()
  local code, message = refusal(evaluators.decide, {says 'NOOP', says 'EVIKT'}, {})
  lu.assertEquals(code, 'user')
  lu.assertStrContains(message, 'evaluators[2] returned EVIKT')
  lu.assertStrContains(message, 'EVICT')
end

TestEvictions = {}

local function evictions_of(options)
  local lines = {}
  options.notice = function(text) lines[#lines + 1] = text end
  return Evictions(options), lines
end

function TestEvictions.test_the_launcher_hears_its_own_name_of_the_node()
  local path = os.tmpname()
  local evictions, lines = evictions_of {command = ('echo "$host/$reason" >%s'):format(path), hosts = {'a-0', 'a-1'}}
  evictions:add {node = 1, host = 'n1', reason = "link: it's gone"}
  evictions:finish()
  local file = io.open(path)
  lu.assertEquals(file:read '*a', "a-1/rtrain: link: it's gone\n")
  file:close()
  os.remove(path)
  lu.assertEquals(lines, {"the run did without these nodes, which should be looked at: n1 (link: it's gone)"})
end

function TestEvictions.test_what_the_launcher_says_is_why_it_was_not_told()
  local evictions, lines = evictions_of {command = 'echo Invalid user id'}
  evictions:add {node = 1, host = 'n1', reason = 'link'}
  evictions:finish()
  lu.assertEquals(lines[1], 'the launcher was not told of node n1: Invalid user id')
end

function TestEvictions.test_without_any_nothing_is_said()
  local evictions, lines = evictions_of {command = 'echo here'}
  evictions:finish()
  lu.assertEquals(lines, {})
end

TestReport = {}

function TestReport.test_it_is_for_a_train_function()
  local _, message = refusal(train.health.report, 'text')
  lu.assertStrContains(message, 'train.health.report()')
end

os.exit(lu.LuaUnit.run(), true)
