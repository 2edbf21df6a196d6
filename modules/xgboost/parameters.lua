-- xgboost/parameters.lua: converts a table of parameters to the library's form: names and texts.

local errors = require 'base.errors'
local index_of = require 'base.index_of'
local ordered = require 'base.ordered'

local parameters = {}

-- The library only warns of an unknown name, and late. A name that is similar to one of these raises an error at once.
local KNOWN = {
  'alpha', 'aft_loss_distribution', 'aft_loss_distribution_scale', 'base_score', 'booster', 'colsample_bylevel',
  'colsample_bynode', 'colsample_bytree', 'device', 'disable_default_eval_metric', 'eta', 'eval_metric', 'feature_selector',
  'gamma', 'grow_policy', 'huber_slope', 'interaction_constraints', 'lambda', 'lambdarank_bias_norm',
  'lambdarank_normalization', 'lambdarank_num_pair_per_sample', 'lambdarank_pair_method', 'lambdarank_score_normalization',
  'lambdarank_unbiased', 'learning_rate', 'max_bin', 'max_cached_hist_node', 'max_cat_threshold', 'max_cat_to_onehot',
  'max_delta_step', 'max_depth', 'max_leaves', 'min_child_weight', 'min_split_loss', 'monotone_constraints',
  'multi_strategy', 'n_jobs', 'ndcg_exp_gain', 'normalize_type', 'nthread', 'num_class', 'num_parallel_tree', 'objective',
  'one_drop', 'process_type', 'quantile_alpha', 'rate_drop', 'random_state', 'refresh_leaf', 'reg_alpha', 'reg_lambda',
  'sample_type', 'sampling_method', 'scale_pos_weight', 'seed', 'seed_per_iteration', 'skip_drop', 'subsample', 'top_k',
  'tree_method', 'tweedie_variance_power', 'updater', 'validate_parameters', 'verbosity',
}

local function check_name(who, name)
  if type(name) ~= 'string' then
    errors.raise('argument', ('%s: params is a table {name = value}, got the key %s'):format(who, tostring(name)))
  end
  if index_of(KNOWN, name) then return end
  local hint = errors.suggestion(name, KNOWN)
  if hint ~= '' then errors.raise('argument', ("%s: unknown parameter '%s'%s"):format(who, name, hint)) end
end

local function number_text(value)
  if value ~= value then return 'nan' end
  return value % 1 == 0 and math.abs(value) < 2 ^ 53 and ('%d'):format(value) or ('%.17g'):format(value)
end

local text_of

-- Formats {1, -1} as '(1,-1)', like a Python tuple; {{0, 1}, {2}} as JSON '[[0,1],[2]]'.
local function list_text(who, name, list)
  local out = {}
  for i, item in ipairs(list) do out[i] = text_of(who, name, item) end
  local is_nested = type(list[1]) == 'table'
  return (is_nested and '[%s]' or '(%s)'):format(table.concat(out, ','))
end

function text_of(who, name, value)
  local kind = type(value)
  if kind == 'string' then return value end
  if kind == 'number' then return number_text(value) end
  if kind == 'boolean' then return value and '1' or '0' end
  if kind == 'table' and #value > 0 then return list_text(who, name, value) end
  errors.raise('argument', ('%s: parameter %s is a %s, expected a number, a string, true or false, or a list'):format(who, name,
    kind))
end

-- Converts the name of a feature to its number.
local function place_of(who, name, feature, features)
  local place = index_of(features or {}, feature)
  if place then return place end
  errors.raise('argument', ("%s: %s names a feature '%s' that the training data do not have%s"):format(who, name,
    tostring(feature), errors.suggestion(tostring(feature), features or {})))
end

local function monotone(who, value, features)
  if type(value) ~= 'table' or #value > 0 then return value end
  local out = {}
  for i = 1, #(features or {}) do out[i] = 0 end
  for _, feature in ipairs(ordered.keys_of(value)) do
    out[place_of(who, 'monotone_constraints', feature, features)] = value[feature]
  end
  return out
end

local function interaction(who, value, features)
  if type(value) ~= 'table' then return value end
  local out = {}
  for i, set in ipairs(value) do
    local places = {}
    for k, feature in ipairs(set) do
      places[k] = type(feature) == 'number' and feature or place_of(who, 'interaction_constraints', feature, features) - 1
    end
    out[i] = '[' .. table.concat(places, ',') .. ']'
  end
  return '[' .. table.concat(out, ',') .. ']'
end

---Returns names and texts, in an order that is the same on every rank; eval_metric, which may be a list, appears once
---for each metric.
---@param who string for messages
---@param params table<string, any>
---@param features? string[] names of the features, for constraints by name
---@return string[][] pairs of name and text
---Raises code 'argument' for a name that is similar to a known one, and for a value of another type.
function parameters.texts(who, params, features)
  if type(params) ~= 'table' then
    errors.raise('argument', ('%s: params is a %s, expected a table {name = value}'):format(who, type(params)))
  end
  local out = {}
  for _, name in ipairs(ordered.keys_of(params)) do
    check_name(who, name)
    local value = params[name]
    if name == 'monotone_constraints' then value = monotone(who, value, features) end
    if name == 'interaction_constraints' then value = interaction(who, value, features) end
    if name == 'eval_metric' and type(value) == 'table' then
      for _, metric in ipairs(value) do out[#out + 1] = {name, text_of(who, name, metric)} end
    else
      out[#out + 1] = {name, text_of(who, name, value)}
    end
  end
  return out
end

return parameters
