-- rtrain/failure.lua: a failed run's error as a user reads it: one message, the first cause first, the user's own lines.

local errors = require 'rtrain.errors'

local failure = {}

local MAX_FRAMES = 4
local MAX_OTHERS = 3

-- The text of a line of a file; nil when it cannot be read.
local function source_line(file, number)
  local handle = io.open(file)
  if handle == nil then return nil end
  local at = 0
  for line in handle:lines() do
    at = at + 1
    if at == number then
      handle:close()
      return (line:gsub('^%s+', ''))
    end
  end
  handle:close()
  return nil
end

-- Lua cuts the names of files that are longer than 60 bytes: '...folder/train.lua'. The script's is known.
local function whole_path(file)
  local tail, script = file:match '^%.%.%.(.+)$', (rawget(_G, 'arg') or {})[0]
  if tail and type(script) == 'string' and script:sub(-#tail) == tail then return script end
  return file
end

local function with_source(text)
  local file, number = text:match('^%s*([^:\n]+):(%d+):')
  local line = file and source_line(whole_path(file), tonumber(number))
  return line and text .. '\n      ' .. line or text
end

-- {0, 1, 2, 5} → 'ranks 0-2, 5'.
local function rank_text(ranks)
  local parts, i = {}, 1
  while i <= #ranks do
    local last = i
    while ranks[last + 1] == ranks[last] + 1 do last = last + 1 end
    parts[#parts + 1] = last == i and tostring(ranks[i]) or ('%d-%d'):format(ranks[i], ranks[last])
    i = last + 1
  end
  return (#ranks == 1 and 'rank ' or 'ranks ') .. table.concat(parts, ', ')
end

-- Rank → error as sorted groups of equal errors: {ranks = {0, 1}, error = …}. A rank that only lost its peer says nothing.
local function grouped(ranks)
  local numbers = {}
  for rank in next, ranks do numbers[#numbers + 1] = tonumber(rank) end
  table.sort(numbers)
  local groups, by_text = {}, {}
  for _, rank in ipairs(numbers) do
    local err = ranks[rank] or ranks[tostring(rank)]
    local text = err.code .. '\n' .. err.message
    if err.code ~= 'peer_lost' then
      if by_text[text] == nil then
        by_text[text] = {ranks = {}, error = err}
        groups[#groups + 1] = by_text[text]
      end
      table.insert(by_text[text].ranks, rank)
    end
  end
  return groups
end

-- The user's frames with their source lines, without the one that the message itself begins with.
local function frames_text(message, traceback)
  local at = message:match('^([^:\n]+:%d+):')
  local out, hidden = {}, 0
  for line in (traceback or ''):gmatch('[^\n]+') do
    local is_frame = line:match('^%s*[^:]+:%d+:')
    if is_frame and not (at and line:find(at .. ':', 1, true)) then
      if #out < MAX_FRAMES then
        out[#out + 1] = with_source(line)
      else
        hidden = hidden + 1
      end
    end
  end
  if hidden > 0 then out[#out + 1] = ('  (+%d more frames)'):format(hidden) end
  return #out > 0 and table.concat(out, '\n') or nil
end

local function first_line(text) return (text:match('^[^\n]*')) end

-- What error() may raise from what a process told. Its traceback is never empty: an error without one gets the script's
-- own when it is raised.
local function error_object(told, message)
  local err = errors.wrap('')
  err.code, err.message, err.where, err.value = told.code, message, nil, nil
  err.traceback = frames_text(told.message, told.traceback) or '  in the train function'
  return err
end

---The run's error object from what the controller says about it.
---@param told {code: string, message: string, traceback?: string, ranks?: table} ranks: rank → the same
---@return table error with code, message (who, what, the line), traceback (the frames behind it), ranks
function failure.make(told)
  local groups = grouped(told.ranks or {})
  local own
  for _, group in ipairs(groups) do
    if group.error.message == told.message then own = group end
  end
  local lines = {}
  if own and not told.message:find('^ranks? %d') then
    lines[1] = #own.ranks == 1 and rank_text(own.ranks) .. ' raised an error:'
      or ('same error on %s:'):format(rank_text(own.ranks))
  end
  lines[#lines + 1] = with_source(told.message)
  local others = 0
  for _, group in ipairs(groups) do
    if group ~= own and own then
      others = others + 1
      if others <= MAX_OTHERS then
        lines[#lines + 1] = ('also %s: %s'):format(rank_text(group.ranks), first_line(group.error.message))
      end
    end
  end
  local err = error_object(told, table.concat(lines, '\n'))
  err.ranks = {}
  for rank, each in next, told.ranks or {} do err.ranks[tonumber(rank)] = error_object(each, each.message) end
  return err
end

return failure
