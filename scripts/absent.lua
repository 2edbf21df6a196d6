-- scripts/absent.lua: a page ABSENT.md, made from absent.lua of modules/torch or modules/torch/nn, for scripts/documents.
--
--     build/rtrain exec scripts/absent.lua torch|nn      prints it

local WIDTH = 100

local function wrapped(text)
  local lines, line = {}, ''
  for word in text:gmatch '%S+' do
    -- Characters count, not bytes: those that go on one are left out.
    local longer = line == '' and word or line .. ' ' .. word
    if line ~= '' and #longer:gsub('[\128-\191]', '') > WIDTH then
      lines[#lines + 1] = line
      line = word
    else
      line = longer
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, '\n')
end

local function names_text(names)
  local out = {}
  for name in names:gmatch '%S+' do out[#out + 1] = ('`%s`'):format(name) end
  return table.concat(out, ', ')
end

-- A page of sections: {heading, reason, names}.
local function page(title, introduction, sections)
  local parts = {'# ' .. title, wrapped(introduction)}
  for _, section in ipairs(sections) do
    parts[#parts + 1] = '## ' .. section[1]
    parts[#parts + 1] = wrapped(('Reason: %s.'):format(section[2]))
    parts[#parts + 1] = wrapped(names_text(section[3]))
  end
  return table.concat(parts, '\n\n') .. '\n'
end

local function of_torch()
  local absent, sections = require 'torch.absent', {}
  for _, group in ipairs(absent.GROUPS) do sections[#sections + 1] = group end
  for _, place in ipairs(absent.PLACES) do sections[#sections + 1] = {('`torch.%s`'):format(place[1]), place[2], place[3]} end
  return page('Names of PyTorch that rtrain does not have', [[
    Every other public name of Python's `torch`, `torch.Tensor`, `torch.Size`, `torch.Generator`, `torch.linalg`,
    `torch.fft`, `torch.special`, `torch.random`, `torch.sparse`, `torch.testing` and `torch.profiler` is there.
    Using one of `torch` or of a tensor is an error of code `unsupported` that gives the reason, or what to write instead.
    This page is made from [absent.lua](absent.lua) by `scripts/documents`; `tests/oracle/names_test.lua` compares the
    list with Python's names.]], sections)
end

local function of_nn()
  local sections = {}
  for _, group in ipairs(require('torch.nn.absent').GROUPS) do
    sections[#sections + 1] = {('`%s`: %s'):format(group[1], group[2]), group[3], group[4]}
  end
  return page('Names of torch.nn that rtrain does not have', [[
    Every other public name of Python's `torch.nn`, `torch.nn.functional`, `torch.nn.init`, `torch.nn.utils` and of modules
    is there. Using one of these is an error of code `unsupported` that gives the reason, or what to write instead.
    This page is made from [absent.lua](absent.lua) by `scripts/documents`; `tests/oracle/nn_names_test.lua` compares
    the list with Python's names.]], sections)
end

io.write(({torch = of_torch, nn = of_nn})[(...)]())
