-- text/chat_dataset.lua: conversations as ids and labels, for models that learn to answer.

local args = require 'base.args'
local Dataset = require('torch.utils.data').Dataset
local errors = require 'base.errors'
local json = require 'json'
local read_file = require 'base.read_file'
local torch = require 'torch'

local IGNORED = -100
local NAMES = {'tokenizer', 'max_length', 'chat_template', 'pad_token_id'}

local function fail(format, ...) errors.raise('argument', 'chat_dataset: ' .. format:format(...)) end

local function characters(text) return select(2, text:gsub('[^\128-\191]', '')) end

-- The parts of the text that the assistant says, in characters: from behind the words that ask for an answer to its end.
local function answers_of(self, messages, whole, number)
  local out = {}
  for i, message in ipairs(messages) do
    if message.role == 'assistant' then
      local before, with = {}, {}
      for k = 1, i - 1 do before[k], with[k] = messages[k], messages[k] end
      with[i] = message
      local options = {tokenize = false, chat_template = self.chat_template}
      local upto = self.tokenizer:apply_chat_template(with, options)
      options.add_generation_prompt = true
      local prompt = self.tokenizer:apply_chat_template(before, options)
      if whole:sub(1, #upto) ~= upto or upto:sub(1, #prompt) ~= prompt then
        fail("row %d: the template does not write a conversation one turn after another, so it is not known where an "
          .. "assistant's turn begins", number)
      end
      out[#out + 1] = {characters(prompt), characters(upto)}
    end
  end
  return out
end

-- Labels of a conversation: ids of what the assistant says, -100 elsewhere.
local function conversation(self, messages, number)
  local whole = self.tokenizer:apply_chat_template(messages, {tokenize = false, chat_template = self.chat_template})
  local answers = answers_of(self, messages, whole, number)
  local encoded = self.tokenizer:encode(whole, {add_special_tokens = false})
  local ids, offsets, labels = encoded.ids, encoded.offsets, {}
  for place, id in ipairs(ids) do
    labels[place] = IGNORED
    for _, range in ipairs(answers) do
      if offsets[place][1] >= range[1] and offsets[place][1] < range[2] then labels[place] = id end
    end
  end
  return ids, labels
end

---Conversations or texts whose samples are {input_ids, labels}, int64 of their length. Of a conversation only what the
---assistant says has labels, the rest -100; of a text every token has one.
---@class text.ChatDataset: data.Dataset
local ChatDataset = Dataset:extend 'ChatDataset'

function ChatDataset:init(rows, options)
  options = args.options(options, NAMES, 'chat_dataset')
  if not options.tokenizer then fail 'expected a tokenizer' end
  self.rows, self.tokenizer, self.max_length = rows, options.tokenizer, options.max_length
  self.chat_template, self.pad_token_id = options.chat_template, options.pad_token_id or 0
end

function ChatDataset:len() return #self.rows end

function ChatDataset:get(i)
  local row = self.rows[i + 1]
  local ids, labels
  if type(row.messages) == 'table' then
    ids, labels = conversation(self, row.messages, i + 1)
  elseif type(row.text) == 'string' then
    ids = self.tokenizer:encode(row.text).ids
    labels = ids
  else
    fail("row %d has neither 'messages', a list of {role, content}, nor 'text'", i + 1)
  end
  if #ids == 0 then fail('row %d has no tokens', i + 1) end
  local length = math.min(#ids, self.max_length or #ids)
  local function tensor(values) return torch.tensor({unpack(values, 1, length)}, {dtype = 'int64'}) end
  return {input_ids = tensor(ids), labels = tensor(labels)}
end

---Makes a batch of samples, padded on the right: for the option collate_fn of a DataLoader.
---@param samples {input_ids: torch.Tensor, labels: torch.Tensor}[]
---@return {input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor} each int64, (n, longest)
function ChatDataset:collate(samples)
  local n, longest = #samples, 0
  for _, sample in ipairs(samples) do longest = math.max(longest, sample.input_ids.shape[1]) end
  local function filled(value) return torch.full({n, longest}, value, {dtype = 'int64'}) end
  local out = {input_ids = filled(self.pad_token_id), attention_mask = filled(0), labels = filled(IGNORED)}
  for row, sample in ipairs(samples) do
    local length = sample.input_ids.shape[1]
    out.input_ids[row - 1]:narrow(0, 0, length):copy_(sample.input_ids)
    out.labels[row - 1]:narrow(0, 0, length):copy_(sample.labels)
    out.attention_mask[row - 1]:narrow(0, 0, length):fill_(1)
  end
  return out
end

local function read_rows(path)
  local content, reason = read_file(path)
  if not content then errors.raise('not_found', 'chat_dataset: ' .. reason) end
  local rows, number = {}, 0
  for line in (content .. '\n'):gmatch '(.-)\r?\n' do
    number = number + 1
    if line:find '%S' then
      local ok, row = pcall(json.decode, line)
      if not ok or type(row) ~= 'table' then
        fail('%s: line %d: %s', path, number, ok and 'expected an object' or tostring(row))
      end
      rows[#rows + 1] = row
    end
  end
  return rows
end

---Conversations or texts as samples for a DataLoader.
---
---A row is {messages = {{role, content}, …}}, which the tokenizer's chat template writes, or {text = …}. The labels of a
---conversation are what the assistant says, up to the end of its turn.
---@param rows table[]|string a list of rows, or the path of a file with a JSON object in each line
---@param options {tokenizer: text.Tokenizer, max_length: integer|nil, chat_template: string|nil, pad_token_id: integer|nil}
---  max_length: tokens of a sample, its beginning; pad_token_id: in batches (0)
---@return text.ChatDataset dataset its method collate makes a padded batch
---Errors: 'not_found' without the file; 'argument' with the line or row for what is neither.
---
---```lua
---local text = require 'text'
---local tokenizer = text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "unk_token": "?",
---  "vocab": {"?": 0, "Q": 1, "A": 2, "one": 3, "two": 4}}, "pre_tokenizer": {"type": "Whitespace"}}]]
---tokenizer.chat_template = "{% for m in messages %}{{ 'Q ' if m.role == 'user' else 'A ' }}{{ m.content }} {% endfor %}"
---  .. "{% if add_generation_prompt %}A {% endif %}"
---local messages = {{role = 'user', content = 'one'}, {role = 'assistant', content = 'two'}}
---local sample = text.chat_dataset({{messages = messages}}, {tokenizer = tokenizer}):get(0)
---assert(table.concat(sample.input_ids:tolist(), ' ') == '1 3 2 4')
---assert(table.concat(sample.labels:tolist(), ' ') == '-100 -100 -100 4')
---```
return function(rows, options)
  if type(rows) == 'string' then rows = read_rows(rows) end
  return ChatDataset(rows, options)
end
