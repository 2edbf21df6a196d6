// base._arrow.open_ipc: files and streams.
#include "host/arrow/readers/ipc_reader.h"

#include "tests/soak/fuzz/table_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  using namespace rtrain::arrow;
  const MemoryFile file(data, size);
  return run_reader([&] { read_table(*open_ipc(file.path())); });
}
