// The files that `rtrain import` reads: event files, events in records with correct checksums, and
// CSV tables.
#include "host/base/codec/csv_records.h"
#include "host/base/codec/masked_crc.h"
#include "host/store/import/event_records.h"
#include "tests/soak/fuzz/run_reader.h"

namespace rtrain {
namespace {

void add_fixed(std::string& out, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i) & 0xFF);
}

std::string record_of(std::string_view event) {
  std::string out;
  add_fixed(out, event.size(), 8);
  add_fixed(out, masked_crc(out), 4);
  out += event;
  add_fixed(out, masked_crc(event), 4);
  return out;
}

}  // namespace
}  // namespace rtrain

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  using namespace rtrain::store;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  run_reader([&] { read_event_records(bytes); });
  run_reader([&] { read_event_records(record_of(bytes)); });
  return run_reader([&] {
    for (const CsvRecord& record : read_csv_records(bytes, csv_separator(bytes))) {
      if (record.cells.empty() || record.line == 0) __builtin_trap();
    }
  });
}
