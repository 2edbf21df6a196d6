-- rtrain/doctor/row.lua: a line of `rtrain doctor`: {name, status, finding, mend, table, figures}.

local row = {}

local function made(status, name, finding, more)
  more = more or {}
  return {name = name, status = status, finding = finding, mend = more.mend or '', table = more.table or {},
          figures = more.figures}
end

---@alias rtrain.DoctorRow {name: string, status: string, finding: string, mend: string, table: string[], figures: any}

---@param name string
---@param finding string one line
---@param more? {mend: string, table: string[], figures: any} table: lines below it
---@return rtrain.DoctorRow
function row.ok(name, finding, more) return made('ok', name, finding, more) end

---@param name string
---@param finding string
---@param more? {mend: string, table: string[], figures: any}
---@return rtrain.DoctorRow
function row.warning(name, finding, more) return made('warning', name, finding, more) end

---@param name string
---@param finding string
---@param more? {mend: string, table: string[], figures: any}
---@return rtrain.DoctorRow
function row.failure(name, finding, more) return made('failure', name, finding, more) end

---Whether an error is at most that large; NaN is not.
---@param value number
---@param most number
---@return boolean
function row.is_within(value, most) return value <= most end

---Returns a note's error as one line, without its trace.
---@param err any
---@return string
function row.error_text(err)
  local text = type(err) == 'table' and err.message or tostring(err)
  return (text:match '^[^\n]*')
end

return row
