-- rtrain/results/failure.lua: formats a failed run's error for the user: one message, the first cause first, with the
-- user's own source lines.

local errors = require 'base.errors'
local excerpt = require 'base.errors.excerpt'

local failure = {}

local MAX_FRAMES = 4
local MAX_OTHERS = 3
-- A longer message is shortened to its first and last half of this length.
local MAX_CHARACTERS = 1000

---@class LogPlace
---@field path string the run's folder
---@field attempt integer

-- Removes the middle of a long text, which the rank's log contains.
local function shortened(text, rank, logs)
  if #text <= MAX_CHARACTERS then return text end
  local half = MAX_CHARACTERS / 2
  local where = logs and rank and ('%s/logs/attempt-%d/rank-%d.log'):format(logs.path, logs.attempt, rank)
    or "the rank's log (`rtrain logs`)"
  return ('%s ...\n... %d characters left out: all of it is in %s ...\n... %s')
    :format(text:sub(1, half), #text - MAX_CHARACTERS, where, text:sub(-half))
end

local function with_source(text)
  local lines = excerpt.of(text)
  return lines and text .. '\n' .. lines or text
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

-- Returns a key that is equal for errors that differ only in numbers (a size, an address). Their source line must be
-- the same.
local function identity(err)
  local site, rest = err.message:match '^([^:\n]+:%d+:)(.*)$'
  return ('%s\n%s%s'):format(err.code, site or '', ((rest or err.message):gsub('%d+', '#')))
end

-- Groups equal errors, sorted: {ranks = {0, 1}, error = the first one, differ = true if their numbers differ}. Ranks
-- that only lost a peer are left out.
local function grouped(ranks)
  local numbers = {}
  for rank in next, ranks do numbers[#numbers + 1] = tonumber(rank) end
  table.sort(numbers)
  local groups, by_text = {}, {}
  for _, rank in ipairs(numbers) do
    local err = ranks[rank] or ranks[tostring(rank)]
    local key = identity(err)
    if err.code ~= 'peer_lost' then
      local group = by_text[key]
      if group == nil then
        group = {ranks = {}, error = err}
        by_text[key] = group
        groups[#groups + 1] = group
      end
      group.differ = group.differ or err.message ~= group.error.message
      table.insert(group.ranks, rank)
    end
  end
  return groups
end

-- Returns the failed module, its tensors, and the user's frames with their source lines, except the frame in the
-- message itself.
local function frames_text(message, traceback)
  local at = message:match('^([^:\n]+:%d+):')
  local out, shown, hidden = {}, 0, 0
  for line in (traceback or ''):gmatch('[^\n]+') do
    local is_frame = line:match('^%s*[^:]+:%d+:')
    if line:match '^  in ' or line:match '^  with ' then
      out[#out + 1] = line
    elseif is_frame and not (at and line:find(at .. ':', 1, true)) then
      shown = shown + 1
      if shown <= MAX_FRAMES then
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

-- Returns an error object for error() from the error of another process. Its traceback is never nil, since the lines of
-- the script that raises it would be misleading.
local function error_object(cause, message)
  local err = errors.wrap('')
  err.code, err.message, err.where, err.value = cause.code, message, nil, nil
  err.traceback = frames_text(cause.message, cause.traceback) or cause.code == 'user' and '  in the train function' or ''
  return err
end

-- Returns 'rank 1 raised an error:', 'same error on ranks 0-3 (numbers differ):'.
local function heading(group)
  if #group.ranks == 1 then return rank_text(group.ranks) .. ' raised an error:' end
  return ('same error on %s%s:'):format(rank_text(group.ranks), group.differ and ' (numbers differ)' or '')
end

-- Returns the group of the cause.
local function own_group(groups, cause)
  for _, group in ipairs(groups) do
    if identity(group.error) == identity(cause) then return group end
  end
end

---Makes the run's error object from the controller's data. A long message is shortened in the middle.
---@param cause {code: string, message: string, kind?: string, rank?: integer, traceback?: string, ranks?: table}
---  ranks: rank → a table of the same form
---@param logs? LogPlace place of the ranks' logs
---@return table error with code, kind ('WorkerGroupError', 'ControllerError' or 'PreemptionError'), message (rank,
---  error, source line), traceback (the other frames), ranks (rank → its complete error)
function failure.make(cause, logs)
  local groups = grouped(cause.ranks or {})
  local own = own_group(groups, cause)
  local lines = {}
  if own and not cause.message:find('^ranks? %d') then lines[1] = heading(own) end
  lines[#lines + 1] = with_source(shortened(cause.message, cause.rank or own and own.ranks[1], logs))
  local others = 0
  for _, group in ipairs(groups) do
    if group ~= own and own then
      others = others + 1
      if others <= MAX_OTHERS then
        local text = shortened(first_line(group.error.message), group.ranks[1], logs)
        lines[#lines + 1] = ('also %s: %s'):format(rank_text(group.ranks), text)
      end
    end
  end
  local err = error_object(cause, table.concat(lines, '\n'))
  err.kind = cause.kind
  err.ranks = {}
  for rank, each in next, cause.ranks or {} do err.ranks[tonumber(rank)] = error_object(each, each.message) end
  return err
end

return failure
