-- rtrain/doctor/link_report.lua: what the measured links mean: which two devices hang, have wrong numbers, or are slow.

local row = require 'rtrain.doctor.row'
local wiring = require 'rtrain.doctor.wiring'

local link_report = {}

local SLOW = 0.5  -- a link is slow below this share of its nominal bandwidth, or of the others' median

local HOW = '`nvidia-smi topo -m` shows how they are connected, `nvidia-smi nvlink -s` which NVLinks are up; ACS and the '
  .. 'IOMMU send what goes between GPUs through the processor: switch them off in the firmware'

-- Returns advice, beginning with NCCL's settings where they are the likely cause.
local function mend_of(settings)
  local set = {}
  for _, name in ipairs {'NCCL_P2P_DISABLE', 'NCCL_P2P_LEVEL', 'NCCL_SHM_DISABLE', 'NCCL_ALGO', 'NCCL_PROTO'} do
    local value = settings(name)
    if value then set[#set + 1] = name .. '=' .. value end
  end
  return (#set == 0 and '' or ('%s is set: try without; '):format(table.concat(set, ' '))) .. HOW
end

local function median(values)
  if #values == 0 then return nil end
  table.sort(values)
  local middle = math.floor(#values / 2)
  return #values % 2 == 1 and values[middle + 1] or (values[middle] + values[middle + 1]) / 2
end

local function is_same_link(pair, other)
  return pair.from == other.from and pair.to == other.to or pair.from == other.to and pair.to == other.from
end

-- The median of what other links of the same nominal bandwidth carry.
local function median_of_others(pairs_, pair)
  local values = {}
  for _, other in ipairs(pairs_) do
    local is_alike = (other.nominal and other.nominal.gb_s) == (pair.nominal and pair.nominal.gb_s)
    if other.gb_s and is_alike and not is_same_link(pair, other) then values[#values + 1] = other.gb_s end
  end
  return median(values)
end

local function between(pair)
  return ('GPU %d and GPU %d'):format(math.min(pair.from, pair.to), math.max(pair.from, pair.to))
end

-- Returns why a link is slow, or nil.
local function slowness(pairs_, pair)
  local nominal, others = pair.nominal, median_of_others(pairs_, pair)
  if nominal and pair.gb_s < SLOW * nominal.gb_s then
    return ('%.3g GB/s, of %.3g that %s can carry'):format(pair.gb_s, nominal.gb_s, nominal.text)
  end
  if others and pair.gb_s < SLOW * others then return ('%.3g GB/s, the others %.3g'):format(pair.gb_s, others) end
  return nil
end

local MARKS = {hangs = 'hangs', wrong = 'wrong', begun = 'begun', ['not tested'] = '?'}

-- Returns the lines of a table: GB/s from the device of the line to that of the column.
local function table_of(facts)
  local num, cells = #facts.uuids, {}
  for _, pair in ipairs(facts.pairs) do
    cells[pair.from .. ' ' .. pair.to] = pair.gb_s and ('%.3g'):format(pair.gb_s) or MARKS[pair.state] or '?'
  end
  local function line(first, cell)
    local words = {('%-14s'):format(first)}
    for to = 0, num - 1 do words[#words + 1] = ('%8s'):format(cell(to)) end
    return table.concat(words)
  end
  local lines = {line('GB/s from, to', function(to) return 'GPU ' .. to end)}
  for from = 0, num - 1 do
    lines[#lines + 1] = line('GPU ' .. from, function(to) return from == to and '-' or cells[from .. ' ' .. to] or '?' end)
  end
  return lines
end

-- Writes the nominal bandwidth into each pair; returns the names of the different ones.
local function add_nominal(facts, devices)
  local by_uuid, texts, has = {}, {}, {}
  for _, device in ipairs(devices) do by_uuid[device.uuid] = device end
  for _, pair in ipairs(facts.pairs) do
    local from, to = by_uuid[facts.uuids[pair.from + 1]], by_uuid[facts.uuids[pair.to + 1]]
    pair.nominal = from and to and wiring.nominal(from, to)
    local text = pair.nominal and ('%.3g GB/s (%s)'):format(pair.nominal.gb_s, pair.nominal.text) or 'unknown'
    if not has[text] then texts[#texts + 1], has[text] = text, true end
  end
  return table.concat(texts, ', ')
end

-- Returns the links of a state, each as words.
local function of_state(facts, state)
  local out, has = {}, {}
  for _, pair in ipairs(facts.pairs) do
    local name = between(pair)
    if pair.state == state and not has[name] then out[#out + 1], has[name] = name, true end
  end
  return out
end

-- Returns the slower direction of each link.
local function slower_directions(pairs_)
  local out, at = {}, {}
  for _, pair in ipairs(pairs_) do
    local name = between(pair)
    local place = at[name] or #out + 1
    if pair.gb_s and (not out[place] or pair.gb_s < out[place].gb_s) then out[place], at[name] = pair, place end
  end
  return out
end

-- Names the device that all of several hanging pairs have in common.
local function culprit(facts)
  local hanging = {}
  for _, pair in ipairs(facts.pairs) do
    if pair.state == 'hangs' then hanging[#hanging + 1] = pair end
  end
  if #hanging < 2 then return '' end
  for _, number in ipairs {hanging[1].from, hanging[1].to} do
    local is_common = true
    for _, pair in ipairs(hanging) do is_common = is_common and (pair.from == number or pair.to == number) end
    if is_common then return ('; GPU %d is in all of them'):format(number) end
  end
  return ''
end

local function failure_of(facts, said)
  local hanging, wrong = of_state(facts, 'hangs'), of_state(facts, 'wrong')
  if #hanging > 0 then
    return ('a message between %s does not arrive within %g s%s'):format(table.concat(hanging, ', '), facts.deadline_s,
      culprit(facts))
  end
  if #wrong > 0 then return ('numbers are others after the way between %s'):format(table.concat(wrong, ', ')) end
  if not facts.sum then
    return ('the test does not come back from %s: %s'):format(table.concat(of_state(facts, 'begun'), ', '), said)
  end
  if facts.sum.state == 'wrong' then return 'the sum over all devices is wrong, each pair is right' end
  if facts.sum.state ~= 'measured' then
    return ('the sum over all devices does not end within %g s, each pair does'):format(facts.deadline_s)
  end
  return nil
end

---Says what the facts of links.measure mean.
---@param facts? table nil if there are none
---@param devices table[] of base._system.gpu_wiring
---@param said string the error with which the test has ended
---@param settings? fun(name: string): string? of the environment; default os.getenv
---@return rtrain.DoctorRow
function link_report.judge(facts, devices, said, settings)
  local mend = mend_of(settings or os.getenv)
  if not facts then
    return row.failure('links', 'the devices do not come together: ' .. said, {
      mend = 'NCCL_DEBUG=INFO says where it stops; ' .. mend})
  end
  local nominal = add_nominal(facts, devices)
  local more = {mend = mend, table = table_of(facts), figures = facts}
  local failure = failure_of(facts, said)
  if failure then return row.failure('links', failure, more) end
  local slow = {}
  for _, pair in ipairs(slower_directions(facts.pairs)) do
    local reason = slowness(facts.pairs, pair)
    if reason then slow[#slow + 1] = ('%s: %s'):format(between(pair), reason) end
  end
  if #slow > 0 then return row.warning('links', 'slow between ' .. table.concat(slow, '; '), more) end
  more.mend = nil
  return row.ok('links', ('all_reduce of %.0f MB: %.3g GB/s over the bus; each pair below, nominal %s'):format(
    facts.sum.bytes / 2 ^ 20, facts.sum.gb_s, nominal), more)
end

return link_report
