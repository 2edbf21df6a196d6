// torch.load_numpy: a .npy file, or a .npz archive of them.
#include "host/engine/data/npy.h"

#include "host/base/files/memory_source.h"
#include "tests/soak/fuzz/run_reader.h"
#include "tests/soak/fuzz/touch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  using namespace rtrain::engine;
  const MemorySource source(std::string(reinterpret_cast<const char*>(data), size));
  return run_reader([&] {
    if (size < 1 || data[0] != 'P') return touch(read_npy(source));
    for (const auto& [name, array] : read_npz(source)) touch(array);
  });
}
