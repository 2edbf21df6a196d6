-- When replicas are compared: every n counts, or as often as costs little.
local lu = require 'luaunit'
local VerifyPace = require 'rtrain.elastic.verify_pace'

TestVerifyPace = {}

function TestVerifyPace:test_a_number_is_that_of_commits()
  local pace = VerifyPace(3, false)
  lu.assertEquals({pace:is_due(3), pace:is_due(4), pace:is_due(6)}, {true, false, true})
end

function TestVerifyPace:test_a_comparison_costs_less_than_a_five_hundredth_of_the_work()
  lu.assertEquals(VerifyPace.every_for(0.001, 1), 1)
  lu.assertEquals(VerifyPace.every_for(0.0015, 1), 1)
  lu.assertEquals(VerifyPace.every_for(0.003, 1), 2)
  lu.assertEquals(VerifyPace.every_for(0.09, 1), 60)
  lu.assertEquals(VerifyPace.every_for(1, 0), 1000)
end

function TestVerifyPace:test_all_ranks_follow_the_first_one()
  local pace = VerifyPace('auto', false)
  lu.assertTrue(pace:is_due(1))
  lu.assertEquals(pace:start(1), 1)
  pace:finish(1, 7)
  lu.assertEquals({pace:is_due(7), pace:is_due(8)}, {false, true})
  pace:reset()
  lu.assertTrue(pace:is_due(2))
end

os.exit(lu.LuaUnit.run(), true)
