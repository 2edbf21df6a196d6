-- compare_pretrained.lua FOLDER NAME…: reads what tests/e2e/text/pretrained_oracle.py has written, and prints what differs.
local json = require 'json'
local text = require 'text'

local folder = (...)
local compared, different = 0, 0
for _, name in ipairs{select(2, ...)} do
  local tokenizer = text.Tokenizer.from_pretrained(folder .. '/' .. name)
  for line in io.lines(folder .. '/' .. name .. '.lines') do
    local case = json.decode(line)
    local got, want = table.concat(tokenizer:encode(case.text).ids, ' '), table.concat(case.ids, ' ')
    local decoded = tokenizer:decode(case.ids)
    compared = compared + 1
    if got ~= want or decoded ~= case.decoded then
      different = different + 1
      print(name, json.encode(case.text), 'want', want, 'got', got, 'decoded', json.encode(case.decoded), json.encode(decoded))
    end
  end
end
print(('%d compared, %d different'):format(compared, different))
