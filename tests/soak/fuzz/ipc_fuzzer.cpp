// base._arrow.open_ipc and open_ipc_batches: files and streams, from beginning to end, and their
// batches from the last to the first.
#include <arrow/type.h>

#include "host/arrow/readers/ipc_batches.h"
#include "host/arrow/readers/ipc_reader.h"
#include "tests/soak/fuzz/table_reader.h"

namespace {

using namespace rtrain;
using namespace rtrain::arrow;

void read_batches(const std::string& path) {
  const auto reader = std::make_shared<IpcBatches>(path);
  for (int64_t batch = reader->num_batches() - 1; batch >= 0; --batch) {
    run_reader([&] { read_table(*reader->read(batch, 1, std::nullopt, 0)); });
  }
  const std::vector<std::string> names = reader->schema().field_names();
  if (names.empty()) return;
  read_table(*reader->read(0, reader->num_batches(), std::vector{names.back()}, 100));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  run_reader([&] { read_table(*open_ipc(file.path())); });
  return run_reader([&] { read_batches(file.path()); });
}
