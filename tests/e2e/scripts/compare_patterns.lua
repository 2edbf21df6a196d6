-- compare_patterns.lua FILE: reads what tests/e2e/text/pattern_oracle.py has written, and prints what differs.
local json = require 'json'
local text = require 'text'

local function cutter(pattern)
  return text.Tokenizer.from_str(json.encode {
    model = {type = 'WordLevel', vocab = {['?'] = 0}, unk_token = '?'},
    pre_tokenizer = {type = 'Split', pattern = {Regex = pattern}, behavior = 'Isolated', invert = false},
  })
end

local function written(places)
  local out = {}
  for i, place in ipairs(places) do out[i] = place[1] .. '-' .. place[2] end
  return table.concat(out, ' ')
end

local compared, different = 0, 0
for line in io.lines((...)) do
  local case = json.decode(line)
  local tokenizer = cutter(case.pattern)
  for i, each in ipairs(case.texts) do
    local got, want = written(tokenizer:encode(each).offsets), written(case.want[i])
    compared = compared + 1
    if got ~= want then
      different = different + 1
      if different < 20 then print(case.pattern, json.encode(each), got, want) end
    end
  end
end
print(('%d compared, %d different'):format(compared, different))
