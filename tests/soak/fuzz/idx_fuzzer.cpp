// torch._C.read_idx: the header and the numbers, plain or compressed.
#include "host/engine/data/idx.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/soak/fuzz/run_reader.h"
#include "tests/soak/fuzz/touch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  using namespace rtrain::engine;
  const int file = memfd_create("idx", MFD_CLOEXEC);
  RT_CHECK(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size));
  const int result =
      run_reader([&] { touch(read_idx("/proc/self/fd/" + std::to_string(file)).values); });
  close(file);
  return result;
}
