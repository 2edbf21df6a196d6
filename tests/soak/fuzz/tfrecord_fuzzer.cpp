// base._arrow.open_tfrecords: the bytes as a file, and as one example with right checksums.
#include "host/arrow/readers/example_reader.h"
#include "host/base/codec/masked_crc.h"
#include "tests/soak/fuzz/table_reader.h"

namespace rtrain {
namespace {

void read_file(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  run_reader([&] {
    arrow::ExampleOptions options;
    options.block_bytes = 64;
    read_table(*arrow::open_examples(file.path(), options));
    options.first_record = 1;
    read_table(*arrow::open_examples(file.path(), options));
  });
  run_reader([&] { arrow::count_records(file.path()); });
}

template <class Number>
void add(std::string& out, Number number) {
  for (size_t i = 0; i < sizeof(number); ++i) out += static_cast<char>(number >> (8 * i));
}

std::string record(std::string_view example) {
  std::string out;
  add(out, uint64_t{example.size()});
  add(out, masked_crc(out));
  out += example;
  add(out, masked_crc(example));
  return out;
}

}  // namespace
}  // namespace rtrain

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  read_file(data, size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string records = record(text.substr(0, size / 2)) + record(text.substr(size / 2));
  read_file(reinterpret_cast<const uint8_t*>(records.data()), records.size());
  return 0;
}
