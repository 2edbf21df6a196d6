-- compare_truncation.lua FOLDER: reads what tests/e2e/text/truncation_oracle.py has written, and prints what differs.
local json = require 'json'
local text = require 'text'

local folder = (...)
local FIELDS = {'ids', 'tokens', 'offsets', 'type_ids', 'attention_mask', 'special_tokens_mask'}
local compared, different, parts = 0, 0, 0
local tokenizers = {}

local function same(a, b)
  if type(a) ~= 'table' then return a == b end
  if #a ~= #b then return false end
  for i = 1, #a do
    if not same(a[i], b[i]) then return false end
  end
  return true
end

local function value_of(field) return field ~= json.null and field or nil end

-- The field that differs; nil for none.
local function difference(encoding, want, path)
  for _, name in ipairs(FIELDS) do
    if not same(encoding[name], want[name]) then return path .. name end
  end
  if #encoding.overflowing ~= #want.overflowing then return path .. 'overflowing' end
  parts = parts + #want.overflowing
  for i, part in ipairs(want.overflowing) do
    local found = difference(encoding.overflowing[i], part, path .. 'overflowing ' .. i .. ': ')
    if found then return found end
  end
end

local function encoded(tokenizer, case)
  local truncation = case.truncation
  tokenizer:enable_truncation(truncation.max_length, {
    stride = truncation.stride, strategy = truncation.strategy, direction = truncation.direction,
  })
  if value_of(case.padding) then tokenizer:enable_padding(case.padding) else tokenizer:no_padding() end
  return tokenizer:encode(case.text, value_of(case.pair), {
    add_special_tokens = case.add_special_tokens, return_overflowing_tokens = true,
  })
end

local function check_single(tokenizer, case)
  local ok, encoding = pcall(encoded, tokenizer, case)
  if ok and case.want then return difference(encoding, case.want, '') end
  return ok ~= (case.want ~= nil) and tostring(encoding) or nil
end

local function check_batch(tokenizer, case)
  local options, inputs = case.options, {}
  for i, each in ipairs(case.texts) do inputs[i] = value_of(case.pairs) and {each, case.pairs[i]} or each end
  tokenizer:no_padding()
  tokenizer:enable_truncation(options.max_length, {stride = options.stride, strategy = options.truncation})
  local encodings, mapping = tokenizer:encode_batch(inputs, {return_overflowing_tokens = true})
  for i, encoding in ipairs(encodings) do encodings[i], mapping[i] = encoding.ids, mapping[i] - 1 end
  if not same(encodings, case.want.ids) then return 'ids of a batch' end
  return not same(mapping, case.want.mapping) and 'overflow_to_sample_mapping' or nil
end

for file, check in pairs {single = check_single, batch = check_batch} do
  for line in io.lines(('%s/%s.lines'):format(folder, file)) do
    local case = json.decode(line)
    local name = case.name
    tokenizers[name] = tokenizers[name] or text.Tokenizer.from_file(('%s/%s.json'):format(folder, name))
    local found = check(tokenizers[name], case)
    compared = compared + 1
    if found then
      different = different + 1
      if different < 20 then print(name, found, line:sub(1, 300)) end
    end
  end
end
print(('%d compared, %d parts, %d different'):format(compared, parts, different))
