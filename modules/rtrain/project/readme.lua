-- rtrain/project/readme.lua: the README.md of a folder that `rtrain init` makes.

local TEXT = [[
# @title@

@about@

```sh
rtrain check train.lua                # tries it out: two batches, shapes, memory
rtrain run train.lua                  # one worker
rtrain run train.lua -n 2             # two: each takes its part of the data
rtrain run train.lua --set lr=0.003   # another value of train_loop_config
rtrain run train.lua --gpus all       # a worker for each GPU
```

What came out:

```sh
rtrain ls                             # all runs
rtrain show last                      # all about the newest one
rtrain plot last loss                 # its curve
rtrain diff RUN last                  # what changed between two
```

Try something out: `rtrain repl`. What a function does: `rtrain doc nn.Conv2d`. When something does
not work: `rtrain doctor`; what this machine has: `rtrain env`.

| value of `train_loop_config` | at first |
|---|---|
@values@

Editors with a Lua language server show types and texts of the library: `.luarc.json` names the declarations in
`.rtrain/stubs`, which `rtrain doc --stubs .rtrain/stubs` writes again.
]]

-- Returns the comment at the head of the script, as one line.
local function about_of(script)
  local lines = {}
  for line in script:gmatch '[^\n]*' do
    local text = line:match '^%-%- ?(.*)$'
    if not text then break end
    lines[#lines + 1] = text
  end
  return table.concat(lines, ' ')
end

-- Returns the rows of the table: 'lr = 0.01, epochs = 10' of the script's train_loop_config.
local function rows_of(script)
  local rows = {}
  for name, value in script:match 'train_loop_config = (%b{})':gmatch "([%a_]+) = ([^,}]+)" do
    rows[#rows + 1] = ('| `%s` | `%s` |'):format(name, (value:match '^(.-)%s*$'))
  end
  return table.concat(rows, '\n')
end

---Returns the text for a script: its first comment, example commands, and its configuration.
---@param title string
---@param script string the text of a template
---@return string
---
---```lua
---local text = require 'rtrain.project.readme'('hello', '-- A line.\nf{train_loop_config = {lr = 0.1}}')
---assert(text:match '^# hello\n\nA line%.\n' and text:find('| `lr` | `0.1` |', 1, true))
---```
return function(title, script)
  local parts = {title = title, about = about_of(script), values = rows_of(script)}
  return (TEXT:gsub('@(%w+)@', parts))
end
