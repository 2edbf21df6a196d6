-- compare_tokenizers.lua FOLDER: reads what tests/e2e/text/tokenizer_oracle.py has written, and prints what differs.
local json = require 'json'
local text = require 'text'

local FIELDS = {'ids', 'tokens', 'type_ids', 'attention_mask', 'special_tokens_mask'}

local function listed(offsets)
  local out = {}
  for i, offset in ipairs(offsets) do out[i] = offset[1] .. '-' .. offset[2] end
  return table.concat(out, ' ')
end

-- The fields in which the encoding differs from what was wanted.
local function differences(tokenizer, case)
  local ok, encoding = pcall(tokenizer.encode, tokenizer, case.text, case.pair, {add_special_tokens = case.add_special_tokens})
  local out = {}
  if not ok or not case.want then return ok == (case.want ~= nil) and out or {'error', tostring(encoding)} end
  for _, name in ipairs(FIELDS) do
    if table.concat(encoding[name], '\0') ~= table.concat(case.want[name], '\0') then out[#out + 1] = name end
  end
  if listed(encoding.offsets) ~= listed(case.want.offsets) then out[#out + 1] = 'offsets' end
  if tokenizer:decode(case.want.ids, {skip_special_tokens = false}) ~= case.want.decoded then out[#out + 1] = 'decoded' end
  if tokenizer:decode(case.want.ids) ~= case.want.skipped then out[#out + 1] = 'skipped' end
  return out
end

local compared, different = 0, 0
for _, path in ipairs{select(2, ...)} do
  local tokenizer = text.Tokenizer.from_file(path)
  for line in io.lines((path:gsub('json$', 'lines'))) do
    local case = json.decode(line)
    local found = differences(tokenizer, case)
    compared = compared + 1
    if #found > 0 then
      different = different + 1
      if different < 20 then print(path, table.concat(found, ' '), json.encode(case.text), json.encode(case.pair or '')) end
    end
  end
  tokenizer:save((path:gsub('json$', 'saved')))
end
print(('%d compared, %d different'):format(compared, different))
