-- rtrain/data/operators/function_options.lua: Ray's options of methods that call a user function.

local args = require 'base.args'
local errors = require 'base.errors'
local UserFunction = require 'rtrain.data.operators.user_function'

local functions = {}

-- All operators share the threads, so the options about resources have no effect.
local OPTIONS = {{'fn_args'}, {'fn_kwargs'}, {'fn_constructor_args'}, {'fn_constructor_kwargs'}, {'compute'}, {'num_cpus'},
                 {'num_gpus'}, {'memory'}, {'concurrency'}, {'dtypes'}}

---Returns a signature with the parameters of a method, followed by these options.
---@param name string
---@param parameters (string|table)[]
---@return table signature a result of args.signature
function functions.signature(name, parameters)
  for _, option in ipairs(OPTIONS) do parameters[#parameters + 1] = option end
  return args.signature(name, parameters)
end

---Returns the function that the arguments describe.
---@param name string the method
---@param a table the arguments that the signature has bound
---@return data.UserFunction
function functions.made(name, a)
  if a.num_gpus and a.num_gpus ~= 0 then
    errors.raise('unsupported', ('%s: num_gpus: functions of a dataset run on the CPU'):format(name))
  end
  if a.dtypes ~= nil and type(a.dtypes) ~= 'table' then
    errors.raise('argument', ("%s: dtypes is a table {column = 'float32', …}, got a %s"):format(name, type(a.dtypes)))
  end
  return UserFunction(a.fn, {operator = name, fn_args = a.fn_args, fn_kwargs = a.fn_kwargs,
    fn_constructor_args = a.fn_constructor_args, fn_constructor_kwargs = a.fn_constructor_kwargs})
end

---Raises an error for an unknown batch format.
---@param owner string the method
---@param format string
function functions.check_format(owner, format)
  if format == 'pandas' or format == 'pyarrow' then
    errors.raise('unsupported', ("%s: batch_format = '%s': a batch is a table of tensors and lists"):format(owner, format))
  end
  args.one_of(owner .. ': batch_format', format, {'default', 'torch', 'numpy'})
end

return functions
