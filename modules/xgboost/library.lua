-- xgboost/library.lua: the C interface of libxgboost.so, which is loaded at the first call.
--
-- PyPI's wheels contain the library; host/machine/libraries/tree_library.h describes where it is searched.

local errors = require 'base.errors'
local ffi = require 'ffi'
local ForeignLibrary = require 'base.foreign_library'

ffi.cdef [[
typedef void *rt_xgb_handle;
typedef uint64_t rt_xgb_size;
const char *XGBGetLastError(void);
int XGBSetGlobalConfig(const char *config);
int XGBGetGlobalConfig(const char **out);
void XGBoostVersion(int *major, int *minor, int *patch);

int XGDMatrixCreateFromURI(const char *config, rt_xgb_handle *out);
int XGDMatrixCreateFromDense(const char *data, const char *config, rt_xgb_handle *out);
int XGDMatrixCreateFromColumnar(const char *data, const char *config, rt_xgb_handle *out);
int XGProxyDMatrixCreate(rt_xgb_handle *out);
int XGProxyDMatrixSetDataDense(rt_xgb_handle handle, const char *data);
int XGProxyDMatrixSetDataColumnar(rt_xgb_handle handle, const char *data);
typedef int rt_xgb_next(void *iter);
typedef void rt_xgb_reset(void *iter);
int XGQuantileDMatrixCreateFromCallback(void *iter, rt_xgb_handle proxy, rt_xgb_handle ref, rt_xgb_reset *reset,
                                        rt_xgb_next *next, const char *config, rt_xgb_handle *out);
int XGExtMemQuantileDMatrixCreateFromCallback(void *iter, rt_xgb_handle proxy, rt_xgb_handle ref, rt_xgb_reset *reset,
                                              rt_xgb_next *next, const char *config, rt_xgb_handle *out);
int XGDMatrixFree(rt_xgb_handle handle);
int XGDMatrixSetInfoFromInterface(rt_xgb_handle handle, const char *field, const char *interface);
int XGDMatrixSetStrFeatureInfo(rt_xgb_handle handle, const char *field, const char **features, rt_xgb_size size);
int XGDMatrixGetStrFeatureInfo(rt_xgb_handle handle, const char *field, rt_xgb_size *size, const char ***out);
int XGDMatrixGetFloatInfo(rt_xgb_handle handle, const char *field, rt_xgb_size *size, const float **out);
int XGDMatrixGetUIntInfo(rt_xgb_handle handle, const char *field, rt_xgb_size *size, const unsigned **out);
int XGDMatrixNumRow(rt_xgb_handle handle, rt_xgb_size *out);
int XGDMatrixNumCol(rt_xgb_handle handle, rt_xgb_size *out);
int XGDMatrixNumNonMissing(rt_xgb_handle handle, rt_xgb_size *out);
int XGDMatrixSliceDMatrixEx(rt_xgb_handle handle, const int *rows, rt_xgb_size size, rt_xgb_handle *out, int groups);
int XGDMatrixSaveBinary(rt_xgb_handle handle, const char *fname, int silent);

int XGBoosterCreate(const rt_xgb_handle *dmats, rt_xgb_size size, rt_xgb_handle *out);
int XGBoosterFree(rt_xgb_handle handle);
int XGBoosterReset(rt_xgb_handle handle);
int XGBoosterSlice(rt_xgb_handle handle, int begin_layer, int end_layer, int step, rt_xgb_handle *out);
int XGBoosterBoostedRounds(rt_xgb_handle handle, int *out);
int XGBoosterGetNumFeature(rt_xgb_handle handle, rt_xgb_size *out);
int XGBoosterSetParam(rt_xgb_handle handle, const char *name, const char *value);
int XGBoosterUpdateOneIter(rt_xgb_handle handle, int iter, rt_xgb_handle dtrain);
int XGBoosterTrainOneIter(rt_xgb_handle handle, rt_xgb_handle dtrain, int iter, const char *grad, const char *hess);
int XGBoosterEvalOneIter(rt_xgb_handle handle, int iter, rt_xgb_handle *dmats, const char **names, rt_xgb_size size,
                         const char **out);
int XGBoosterPredictFromDMatrix(rt_xgb_handle handle, rt_xgb_handle dmat, const char *config, const rt_xgb_size **shape,
                                rt_xgb_size *dim, const float **out);
int XGBoosterPredictFromDense(rt_xgb_handle handle, const char *values, const char *config, rt_xgb_handle proxy,
                              const rt_xgb_size **shape, rt_xgb_size *dim, const float **out);
int XGBoosterPredictFromColumnar(rt_xgb_handle handle, const char *values, const char *config, rt_xgb_handle proxy,
                                 const rt_xgb_size **shape, rt_xgb_size *dim, const float **out);
int XGBoosterLoadModel(rt_xgb_handle handle, const char *fname);
int XGBoosterSaveModel(rt_xgb_handle handle, const char *fname);
int XGBoosterLoadModelFromBuffer(rt_xgb_handle handle, const void *bytes, rt_xgb_size size);
int XGBoosterSaveModelToBuffer(rt_xgb_handle handle, const char *config, rt_xgb_size *size, const char **out);
int XGBoosterSerializeToBuffer(rt_xgb_handle handle, rt_xgb_size *size, const char **out);
int XGBoosterUnserializeFromBuffer(rt_xgb_handle handle, const void *bytes, rt_xgb_size size);
int XGBoosterSaveJsonConfig(rt_xgb_handle handle, rt_xgb_size *size, const char **out);
int XGBoosterLoadJsonConfig(rt_xgb_handle handle, const char *config);
int XGBoosterDumpModelEx(rt_xgb_handle handle, const char *fmap, int with_stats, const char *format, rt_xgb_size *size,
                         const char ***out);
int XGBoosterGetAttr(rt_xgb_handle handle, const char *key, const char **out, int *success);
int XGBoosterSetAttr(rt_xgb_handle handle, const char *key, const char *value);
int XGBoosterGetAttrNames(rt_xgb_handle handle, rt_xgb_size *size, const char ***out);
int XGBoosterSetStrFeatureInfo(rt_xgb_handle handle, const char *field, const char **features, rt_xgb_size size);
int XGBoosterGetStrFeatureInfo(rt_xgb_handle handle, const char *field, rt_xgb_size *size, const char ***out);
int XGBoosterFeatureScore(rt_xgb_handle handle, const char *config, rt_xgb_size *num_features, const char ***features,
                          rt_xgb_size *dim, const rt_xgb_size **shape, const float **scores);

int XGCommunicatorInit(const char *config);
int XGCommunicatorFinalize(void);
int XGCommunicatorGetRank(void);
int XGCommunicatorGetWorldSize(void);
int XGCommunicatorIsDistributed(void);
int XGCommunicatorBroadcast(void *bytes, size_t size, int root);
int XGCommunicatorAllreduce(void *values, size_t count, int data_type, int op);
int XGTrackerCreate(const char *config, rt_xgb_handle *out);
int XGTrackerRun(rt_xgb_handle handle, const char *config);
int XGTrackerWaitFor(rt_xgb_handle handle, const char *config);
int XGTrackerWorkerArgs(rt_xgb_handle handle, const char **out);
int XGTrackerFree(rt_xgb_handle handle);
]]

local MAJOR = 3

local function check(functions, path)
  local version = ffi.new 'int[3]'
  functions.XGBoostVersion(version, version + 1, version + 2)
  if version[0] ~= MAJOR then
    errors.raise('environment', ('%s is XGBoost %d.%d.%d, need %d.x'):format(path, version[0], version[1], version[2], MAJOR))
  end
  return ('%d.%d.%d'):format(version[0], version[1], version[2])
end

-- Extracts the sentence of "[21:04:00] /workspace/src/data/data.cc:507: Check failed: valid: Label contains NaN.\nStack
-- trace:\n …".
local function last_error(functions)
  local text = ffi.string(functions.XGBGetLastError())
  text = text:gsub('\n?Stack trace:.*$', ''):gsub('^%[%d+:%d+:%d+%] ', ''):gsub('^%S+%.[ch]%a*:%d+: ', '')
  local words = text:match '^Check failed: .-: (.*)$'
  if words and words:find '%S' then text = words end
  text = text:gsub('^%s+', ''):gsub('%s+$', '')
  -- The allowed values follow, one a line.
  return (text:gsub('\n%u%l+ candidate: ', '; there are: ', 1):gsub('\n%u%l+ candidate: ', ', '))
end

-- Words in errors about a lost peer of the group. They are not this rank's error: the lost process reports the cause.
local LOST_PEER = {'rabit', 'allreduce', 'allgather', 'broadcast.cc', 'socket', 'tracker', 'Connection reset'}

local function code_of(text)
  if require('xgboost.collective').is_distributed() then
    for _, words in ipairs(LOST_PEER) do
      if text:find(words, 1, true) then return 'peer_lost' end
    end
  end
  return 'argument'
end

local foreign = ForeignLibrary {name = 'xgboost', check = check, last_error = last_error, code_of = code_of}

local library = {strings = ForeignLibrary.strings, string_list = ForeignLibrary.string_list, callback = ForeignLibrary.callback}

---Returns the functions of the library. The first call loads it.
---@return ffi.namespace* functions
---Raises code 'environment', with advice, if the library is not found.
function library.functions() return foreign:functions() end

---Returns the library's version. Python equivalent: xgboost.__version__.
---@return string version '3.2.0'
function library.version() return foreign:version() end

---Calls a function of the library.
---@param who string name of the function that the script called, for the message: 'xgboost.train'
---@param fn string
---@param ... any its arguments
---Raises the library's error message; code 'peer_lost' if another rank is lost.
function library.call(who, fn, ...) foreign:call(who, fn, ...) end

---Returns a handle that is freed with the last reference to it.
---@param handle ffi.cdata* rt_xgb_handle[1]
---@param free string
---@return ffi.cdata* rt_xgb_handle
function library.owned(handle, free) return foreign:owned(ffi.cast('rt_xgb_handle', handle[0]), free) end

---Sets the library's settings: `xgboost.set_config {verbosity = 2}`. Python equivalent: xgboost.set_config.
---@param config {verbosity: integer, use_rmm: boolean}
function library.set_config(config)
  library.call('xgboost.set_config', 'XGBSetGlobalConfig', require('base._system').to_json(config))
end

---Returns the library's settings. Python equivalent: xgboost.get_config.
---@return {verbosity: integer, use_rmm: boolean}
function library.get_config()
  local out = ffi.new 'const char *[1]'
  library.call('xgboost.get_config', 'XGBGetGlobalConfig', out)
  return require('base._system').from_json(ffi.string(out[0]))
end

return library
