// base._arrow.open_csv, with blocks so small that records cross them.
#include "host/arrow/readers/csv_reader.h"

#include "tests/soak/fuzz/table_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  using namespace rtrain::arrow;
  const MemoryFile file(data, size);
  return run_reader([&] {
    CsvOptions options;
    options.block_bytes = 64;
    options.parse.newlines_in_values = true;
    read_table(*open_csv(file.path(), std::move(options)));
  });
}
