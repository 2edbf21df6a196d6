// from_json, as used for manifests and locks: a parsed value must survive writing and reading
// again.
#include "host/base/codec/json.h"
#include "tests/soak/fuzz/run_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  return run_reader([&] {
    const std::string text = to_json(from_json({reinterpret_cast<const char*>(data), size}));
    if (to_json(from_json(text)) != text) __builtin_trap();
  });
}
