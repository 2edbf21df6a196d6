// base._arrow.open_json, with blocks so small that lines cross them.
#include "host/arrow/readers/json_reader.h"

#include "tests/soak/fuzz/table_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  using namespace rtrain::arrow;
  const MemoryFile file(data, size);
  return run_reader([&] {
    JsonOptions options;
    options.block_bytes = 64;
    read_table(*open_json(file.path(), options));
  });
}
