-- What `rtrain doctor --train --gpus` makes of measured facts: links, devices, graphs.
local lu = require 'luaunit'
local device = require 'rtrain.doctor.device'
local graph = require 'rtrain.doctor.graph'
local link_report = require 'rtrain.doctor.link_report'
local wiring = require 'rtrain.doctor.wiring'

-- A device as base._system.gpu_wiring describes it.
local function wired(number, more)
  local out = {uuid = 'GPU-' .. number, bus = ('0000:%02x:00'):format(number + 1), pcie_generation = 0, pcie_width = 0,
               nvlink_gb_s = 0, switch_links = 0, peer_links = {}}
  for key, value in pairs(more or {}) do out[key] = value end
  return out
end

-- Facts of links.measure: rates['0 1'] is GB/s or a state, of all others 100.
local function facts_of(num, rates)
  local facts = {uuids = {}, pairs = {}, deadline_s = 10, sum = {state = 'measured', gb_s = 200, bytes = 2 ^ 26}}
  for from = 0, num - 1 do
    facts.uuids[from + 1] = 'GPU-' .. from
    for to = 0, num - 1 do
      local rate = rates[('%d %d'):format(from, to)] or 100
      if from ~= to then
        facts.pairs[#facts.pairs + 1] = {from = from, to = to, state = type(rate) == 'string' and rate or 'measured',
                                         gb_s = type(rate) == 'number' and rate or nil}
      end
    end
  end
  return facts
end

local function judged(facts, devices, set)
  return link_report.judge(facts, devices or {}, '', function(name) return (set or {})[name] end)
end

TestWiring = {}

function TestWiring:test_nvlinks_to_a_switch_connect_all()
  local one, other = wired(0, {switch_links = 18, nvlink_gb_s = 26.5}), wired(1, {switch_links = 12, nvlink_gb_s = 26.5})
  lu.assertEquals(wiring.nominal(one, other), {gb_s = 318, text = '12 NVLinks of 26.5 GB/s'})
end

function TestWiring:test_nvlinks_to_a_peer_connect_only_the_two()
  local one = wired(0, {nvlink_gb_s = 25, peer_links = {'0000:02:00', '0000:02:00', '0000:03:00'}, pcie_generation = 4,
                        pcie_width = 16})
  local two = wired(1, {nvlink_gb_s = 25, peer_links = {'0000:01:00', '0000:01:00'}, pcie_generation = 4, pcie_width = 8})
  lu.assertEquals(wiring.nominal(one, two), {gb_s = 50, text = '2 NVLinks of 25 GB/s'})
  local three = wired(3, {pcie_generation = 4, pcie_width = 8})
  local over_pcie = wiring.nominal(one, three)
  lu.assertEquals({over_pcie.gb_s, over_pcie.text}, {1.969 * 8, 'PCIe 4 x8'})
end

function TestWiring:test_a_driver_that_does_not_say_it() lu.assertNil(wiring.nominal(wired(0), wired(1))) end

TestLinks = {}

function TestLinks:test_a_table_of_all_pairs()
  local row = judged(facts_of(2, {['1 0'] = 98.76}))
  lu.assertEquals({row.status, row.mend}, {'ok', ''})
  lu.assertEquals(row.table, {'GB/s from, to    GPU 0   GPU 1', 'GPU 0                -     100',
                              'GPU 1             98.8       -'})
  lu.assertStrContains(row.finding, 'nominal unknown')
end

function TestLinks:test_one_far_below_the_others_is_named()
  local row = judged(facts_of(3, {['0 2'] = 49}))
  lu.assertEquals({row.status, row.finding}, {'warning', 'slow between GPU 0 and GPU 2: 49 GB/s, the others 100'})
  lu.assertStrContains(row.mend, 'nvidia-smi topo -m')
  lu.assertEquals(judged(facts_of(3, {['0 2'] = 51})).status, 'ok')
  lu.assertEquals(judged(facts_of(3, {['0 2'] = 40, ['2 0'] = 30})).finding,
    'slow between GPU 0 and GPU 2: 30 GB/s, the others 100')
end

function TestLinks:test_all_far_below_what_they_can_carry()
  local devices = {wired(0, {switch_links = 18, nvlink_gb_s = 26.5}), wired(1, {switch_links = 18, nvlink_gb_s = 26.5})}
  local row = judged(facts_of(2, {}), devices, {NCCL_P2P_DISABLE = '1'})
  lu.assertEquals(row.status, 'warning')
  lu.assertStrContains(row.finding, 'GPU 0 and GPU 1: 100 GB/s, of 477 that 18 NVLinks of 26.5 GB/s can carry')
  lu.assertStrContains(row.mend, 'NCCL_P2P_DISABLE=1 is set: try without')
end

function TestLinks:test_links_of_another_kind_are_not_the_measure()
  local devices = {}
  for number = 0, 3 do
    local peer = ('0000:%02x:00'):format(number % 2 == 0 and number + 2 or number)
    devices[number + 1] = wired(number, {nvlink_gb_s = 100, peer_links = {peer}, pcie_generation = 4, pcie_width = 16})
  end
  local rates = {['0 1'] = 90, ['1 0'] = 90, ['2 3'] = 90, ['3 2'] = 90}
  for _, names in ipairs {'0 2', '0 3', '1 2', '1 3', '2 0', '3 0', '2 1', '3 1'} do rates[names] = 24 end
  lu.assertEquals(judged(facts_of(4, rates), devices).status, 'ok')
end

function TestLinks:test_one_that_hangs_is_named_and_slow_ones_are_not_the_matter()
  local facts = facts_of(3, {['0 1'] = 'hangs', ['1 0'] = 'not tested', ['0 2'] = 1})
  facts.sum = nil
  local row = judged(facts)
  lu.assertEquals({row.status, row.finding}, {'failure', 'a message between GPU 0 and GPU 1 does not arrive within 10 s'})
end

function TestLinks:test_a_device_that_all_hanging_ones_have_in_common()
  local facts = facts_of(3, {['0 1'] = 'hangs', ['1 2'] = 'hangs'})
  facts.sum = nil
  lu.assertStrContains(judged(facts).finding, 'GPU 1 is in all of them')
end

function TestLinks:test_a_test_that_never_came_back()
  local facts = facts_of(2, {['0 1'] = 'begun'})
  facts.sum = nil
  lu.assertEquals(link_report.judge(facts, {}, 'it does not end within 60 s').finding,
    'the test does not come back from GPU 0 and GPU 1: it does not end within 60 s')
  lu.assertEquals(link_report.judge(nil, {}, 'NCCL error').finding, 'the devices do not come together: NCCL error')
end

function TestLinks:test_wrong_numbers_and_sums()
  lu.assertEquals(judged(facts_of(2, {['0 1'] = 'wrong'})).finding,
    'numbers are others after the way between GPU 0 and GPU 1')
  local facts = facts_of(2, {})
  facts.sum = {state = 'wrong'}
  lu.assertEquals({judged(facts).status, judged(facts).finding},
    {'failure', 'the sum over all devices is wrong, each pair is right'})
end

TestDevice = {}

local function device_facts(more)
  local out = {name = 'X', error = 1e-7, tflops = 50, copies = {within_gb_s = 1000, to_device_gb_s = 50, to_host_gb_s = 50},
               memory = {free_bytes = 9e9, total_bytes = 10e9, allocated_bytes = 8e9, is_kept = true}}
  for key, value in pairs(more or {}) do out[key] = value end
  return out
end

function TestDevice:test_what_is_measured()
  lu.assertEquals(device.judge('GPU 0', device_facts(), '').finding,
    'X: 50 TFLOP/s in float32, copies 1e+03 GB/s within, 50 to it, 50 from it, 8.0 of 10.0 GB allocated')
end

function TestDevice:test_failures()
  local function status_of(facts) return device.judge('GPU 1', facts, 'lost').status end
  lu.assertEquals(status_of(device_facts {error = 0.01}), 'failure')
  lu.assertEquals(status_of(device_facts {error = 0 / 0}), 'failure')
  local memory = {free_bytes = 9e9, total_bytes = 10e9, allocated_bytes = 8e9, is_kept = false}
  lu.assertEquals(status_of(device_facts {memory = memory}), 'failure')
  lu.assertEquals(status_of(device_facts {memory = {free_bytes = 4e9, total_bytes = 10e9, allocated_bytes = 3e9,
    is_kept = true}}), 'warning')
  lu.assertEquals(status_of {error_text = 'an illegal memory access'}, 'failure')
  lu.assertStrContains(device.judge('GPU 1', false, 'lost').finding, 'lost')
end

TestGraph = {}

function TestGraph:test_each_device_counts()
  local good = {state = 'captured', error = 0}
  lu.assertEquals(graph.judge({good, good}).status, 'ok')
  lu.assertStrContains(graph.judge({good, {state = 'eager', reason = 'the shape changed', error = 0}}).finding,
    'GPU 1: the step is not captured: the shape changed')
  lu.assertEquals(graph.judge({good, {state = 'captured', error = 0.1}}).status, 'failure')
  lu.assertEquals(graph.judge({good, false}).status, 'failure')
end

os.exit(lu.LuaUnit.run(), true)
