// A tool that NVTX loads through NVTX_INJECTION64_PATH: writes each call to the file FAKE_NVTX_LOG.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>

namespace {

int depth = 0;

void tell(const char* what, const char* text) {
  FILE* log = std::fopen(std::getenv("FAKE_NVTX_LOG"), "a");
  if (log == nullptr) return;
  std::fprintf(log, "%s %s\n", what, text);
  std::fclose(log);
}

int push(const char* text) {
  tell("push", text);
  return depth++;
}

int pop() {
  tell("pop", "");
  return --depth;
}

void mark(const char* text) { tell("mark", text); }

nvtxRangeId_t start(const char* text) {
  tell("start", text);
  return ~nvtxRangeId_t{0};  // larger than a Lua number can hold exactly
}

void end(nvtxRangeId_t range) { tell("end", range == ~nvtxRangeId_t{0} ? "the same" : "another"); }

template <class Function>
void set(NvtxFunctionTable table, NvtxCallbackIdCore id, Function* function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0) {
    return 0;
  }
  set(table, NVTX_CBID_CORE_RangePushA, &push);
  set(table, NVTX_CBID_CORE_RangePop, &pop);
  set(table, NVTX_CBID_CORE_MarkA, &mark);
  set(table, NVTX_CBID_CORE_RangeStartA, &start);
  set(table, NVTX_CBID_CORE_RangeEnd, &end);
  return 1;
}
