-- lightgbm/library.lua: the C interface of lib_lightgbm.so, which is loaded at the first call.
--
-- PyPI's wheel contains the library; host/machine/libraries/tree_library.h describes where it is searched. It is loaded
-- with a separate C library because of malloc: up to 4.7 (https://github.com/lightgbm-org/LightGBM/issues/5222) a rank
-- that has no row in a leaf reads the four bytes before an array, and needs zeros there. With glibc's malloc they are
-- the upper half of a length.

local ffi = require 'ffi'
local ForeignLibrary = require 'base.foreign_library'

ffi.cdef [[
typedef void *rt_lgb_handle;
typedef void (*rt_lgb_reduce)(const char *from, char *to, int type_size, int32_t size);
typedef void rt_lgb_reduce_scatter(char *input, int32_t input_size, int type_size, const int32_t *starts,
                                   const int32_t *sizes, int count, char *output, int32_t output_size,
                                   const rt_lgb_reduce *reducer);
typedef void rt_lgb_allgather(char *input, int32_t input_size, const int32_t *starts, const int32_t *sizes, int count,
                              char *output, int32_t output_size);
]]

local FUNCTIONS = [[
const char *LGBM_GetLastError(void);
int LGBM_DumpParamAliases(int64_t buffer_size, int64_t *size, char *out);

int LGBM_DatasetCreateFromMat(const void *data, int data_type, int32_t rows, int32_t columns, int is_row_major,
                              const char *parameters, rt_lgb_handle reference, rt_lgb_handle *out);
int LGBM_GetSampleCount(int32_t rows, const char *parameters, int *out);
int LGBM_SampleIndices(int32_t rows, const char *parameters, void *out, int32_t *out_count);
int LGBM_DatasetCreateFromSampledColumn(double **values, int **places, int32_t columns, const int *counts, int32_t sampled_rows,
                                        int32_t rows, int64_t all_rows, const char *parameters, rt_lgb_handle *out);
int LGBM_DatasetPushRows(rt_lgb_handle handle, const void *data, int data_type, int32_t rows, int32_t columns, int32_t first);
int LGBM_DatasetFree(rt_lgb_handle handle);
int LGBM_DatasetSaveBinary(rt_lgb_handle handle, const char *filename);
int LGBM_DatasetSetFeatureNames(rt_lgb_handle handle, const char **names, int count);
int LGBM_DatasetSetField(rt_lgb_handle handle, const char *field, const void *data, int count, int type);
int LGBM_DatasetGetNumData(rt_lgb_handle handle, int32_t *out);
int LGBM_DatasetGetNumFeature(rt_lgb_handle handle, int32_t *out);

int LGBM_BoosterCreate(rt_lgb_handle train_data, const char *parameters, rt_lgb_handle *out);
int LGBM_BoosterCreateFromModelfile(const char *filename, int *iterations, rt_lgb_handle *out);
int LGBM_BoosterLoadModelFromString(const char *text, int *iterations, rt_lgb_handle *out);
int LGBM_BoosterFree(rt_lgb_handle handle);
int LGBM_BoosterMerge(rt_lgb_handle handle, rt_lgb_handle other);
int LGBM_BoosterAddValidData(rt_lgb_handle handle, rt_lgb_handle valid);
int LGBM_BoosterResetParameter(rt_lgb_handle handle, const char *parameters);
int LGBM_BoosterGetNumClasses(rt_lgb_handle handle, int *out);
int LGBM_BoosterUpdateOneIter(rt_lgb_handle handle, int *is_finished);
int LGBM_BoosterUpdateOneIterCustom(rt_lgb_handle handle, const float *grad, const float *hess, int *is_finished);
int LGBM_BoosterRollbackOneIter(rt_lgb_handle handle);
int LGBM_BoosterGetCurrentIteration(rt_lgb_handle handle, int *out);
int LGBM_BoosterNumModelPerIteration(rt_lgb_handle handle, int *out);
int LGBM_BoosterNumberOfTotalModel(rt_lgb_handle handle, int *out);
int LGBM_BoosterGetNumFeature(rt_lgb_handle handle, int *out);
int LGBM_BoosterGetEvalCounts(rt_lgb_handle handle, int *out);
int LGBM_BoosterGetEvalNames(rt_lgb_handle handle, int count, int *out_count, size_t buffer_size, size_t *out_size,
                             char **out);
int LGBM_BoosterGetFeatureNames(rt_lgb_handle handle, int count, int *out_count, size_t buffer_size, size_t *out_size,
                                char **out);
int LGBM_BoosterGetEval(rt_lgb_handle handle, int data, int *count, double *out);
int LGBM_BoosterGetNumPredict(rt_lgb_handle handle, int data, int64_t *out);
int LGBM_BoosterGetPredict(rt_lgb_handle handle, int data, int64_t *count, double *out);
int LGBM_BoosterCalcNumPredict(rt_lgb_handle handle, int rows, int type, int first, int iterations, int64_t *out);
int LGBM_BoosterPredictForMat(rt_lgb_handle handle, const void *data, int data_type, int32_t rows, int32_t columns,
                              int is_row_major, int type, int first, int iterations, const char *parameters,
                              int64_t *count, double *out);
int LGBM_BoosterSaveModel(rt_lgb_handle handle, int first, int iterations, int importance, const char *filename);
int LGBM_BoosterSaveModelToString(rt_lgb_handle handle, int first, int iterations, int importance, int64_t buffer_size,
                                  int64_t *size, char *out);
int LGBM_BoosterDumpModel(rt_lgb_handle handle, int first, int iterations, int importance, int64_t buffer_size,
                          int64_t *size, char *out);
int LGBM_BoosterFeatureImportance(rt_lgb_handle handle, int iterations, int type, double *out);

int LGBM_NetworkInitWithFunctions(int num_machines, int rank, void *reduce_scatter, void *allgather);
int LGBM_NetworkFree(void);
]]
ffi.cdef(FUNCTIONS)

local MAJOR = '4.'

-- The library does not report its version; a file next to it does.
local function check(_, _, version) return version ~= '' and version or MAJOR .. 'x' end

local function last_error(functions) return (ffi.string(functions.LGBM_GetLastError()):gsub('%s+$', '')) end

local foreign = ForeignLibrary {
  name = 'lightgbm', check = check, last_error = last_error, code_of = function() return 'argument' end,
  isolated = FUNCTIONS,
}

local library = {strings = ForeignLibrary.strings, string_list = ForeignLibrary.string_list}

-- The error of a network callback, kept until the library has returned.
library.network = {}

---Returns the library's version. Python equivalent: lightgbm.__version__.
---@return string version '4.7.0'
function library.version() return foreign:version() end

---Returns whether several ranks may train: they need a separate C library, see above.
---@return boolean
function library.has_own_malloc() return foreign:is_isolated() end

---Calls a function of the library.
---@param who string name of the function that the script called, for the message: 'lightgbm.train'
---@param fn string
---@param ... any its arguments
---Raises the library's error message, or the error of a collective that the library has called.
function library.call(who, fn, ...)
  local ok, failure = pcall(foreign.call, foreign, who, fn, ...)
  if library.network.error then error(library.network.error, 0) end
  if not ok then error(failure, 0) end
end

---Returns a function that the library can call back, see ForeignLibrary.callback.
---@param f fun(...: any)
---@return fun(...: any)
function library.callback(f) return ForeignLibrary.callback(library.network, nil, f) end

---Returns a handle that is freed with the last reference to it.
---@param handle ffi.cdata* rt_lgb_handle[1]
---@param free string
---@return ffi.cdata* rt_lgb_handle
function library.owned(handle, free) return foreign:owned(ffi.cast('rt_lgb_handle', handle[0]), free) end

---Returns a text that the library writes into a buffer.
---@param who string
---@param fn string
---@param ... any its arguments before the size of the buffer
---@return string
function library.text(who, fn, ...)
  local size, capacity = ffi.new 'int64_t[1]', 2 ^ 16
  local arguments = {...}
  while true do
    local buffer = ffi.new('char[?]', capacity)
    local all = {unpack(arguments)}
    all[#arguments + 1], all[#arguments + 2], all[#arguments + 3] = capacity, size, buffer
    library.call(who, fn, unpack(all, 1, #arguments + 3))
    local needed = tonumber(size[0])
    if needed <= capacity then return ffi.string(buffer) end
    capacity = needed
  end
end

---Returns names that the library writes into buffers.
---@param who string
---@param fn string
---@param handle ffi.cdata*
---@param count integer
---@return string[]
function library.names(who, fn, handle, count)
  local out_count, size, capacity = ffi.new 'int[1]', ffi.new 'size_t[1]', 256
  while true do
    local list, buffers = ffi.new('char *[?]', math.max(count, 1)), {}
    for i = 1, count do
      buffers[i] = ffi.new('char[?]', capacity)
      list[i - 1] = buffers[i]
    end
    library.call(who, fn, handle, count, out_count, capacity, size, list)
    local needed = tonumber(size[0])
    if needed <= capacity then
      local out = {}
      for i = 1, out_count[0] do out[i] = ffi.string(buffers[i]) end
      return out
    end
    capacity = needed
  end
end

return library
