-- compare_templates.lua FILE: renders what tests/e2e/text/template_oracle.py has written, and prints what differs.
local json = require 'json'
local text = require 'text'

local tokenizer = text.Tokenizer.from_str '{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}'
local compared, different = 0, 0
for line in io.lines((...)) do
  local case = json.decode(line)
  local ok, written = pcall(tokenizer.apply_chat_template, tokenizer, case.variables.messages, {
    tokenize = false, chat_template = case.template, tools = case.variables.tools, variables = case.variables,
    add_generation_prompt = case.variables.add_generation_prompt,
  })
  compared = compared + 1
  if ok ~= (case.want ~= nil) or (ok and written ~= case.want) then
    different = different + 1
    print(case.name, 'want', case.want, 'got', written)
  end
end
print(('%d compared, %d different'):format(compared, different))
