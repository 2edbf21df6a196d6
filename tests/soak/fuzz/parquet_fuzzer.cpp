// base._arrow.open_parquet: the metadata and every row group.
#include "host/arrow/readers/parquet_reader.h"

#include "tests/soak/fuzz/table_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  using namespace rtrain::arrow;
  const MemoryFile file(data, size);
  return run_reader([&] {
    const auto reader = std::make_shared<ParquetReader>(file.path());
    for (int group = 0; group < reader->num_row_groups(); ++group) {
      const auto cursor = reader->read(group, std::nullopt, 1024);
      read_table(*cursor);
    }
  });
}
