// torch.load: a zip archive with its pickle and storages.
#include "host/base/files/memory_source.h"
#include "host/engine/files/archive.h"
#include "tests/soak/fuzz/run_reader.h"
#include "tests/soak/fuzz/touch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  using namespace rtrain::engine;
  const MemorySource source(std::string(reinterpret_cast<const char*>(data), size));
  return run_reader([&] { touch(load_archive(source, {c10::Device(c10::kCPU), {}})); });
}
