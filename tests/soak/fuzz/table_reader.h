// tests/soak/fuzz/table_reader.h: runs a reader of tables on bytes and reads every value through
// the views that the engine uses.
//
// libarrow is the ordinary library, without coverage: only this project's code is explored.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "host/arrow/readers/table_cursor.h"
#include "host/base/text/text.h"
#include "host/engine/data/arrow/arrow_array.h"
#include "tests/soak/fuzz/run_reader.h"

namespace rtrain {

inline constexpr int64_t kMostRows = 100'000;

// An unnamed file that holds the bytes.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || write(fd_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return cat("/proc/self/fd/", fd_); }

 private:
  int fd_;
};

inline void look(const void* data, size_t size) {
  volatile uint8_t sum = 0;
  for (size_t i = 0; i < size; ++i) sum = sum + static_cast<const uint8_t*>(data)[i];
}

inline size_t width_of(std::string_view format) {
  if (format.size() != 1) return 0;
  switch (format[0]) {
    case 'c':
    case 'C':
      return 1;
    case 's':
    case 'S':
    case 'e':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    case 'l':
    case 'L':
    case 'g':
      return 8;
    default:
      return 0;
  }
}

inline void look(const engine::ArrowView& view) {
  volatile int64_t sum = 0;
  for (int64_t i = 0; i < view.size(); ++i) sum = sum + (view.is_valid(i) ? 1 : 0);
  if (view.format() == "b" && view.values(0) != nullptr) {
    for (int64_t i = 0; i < view.size(); ++i) sum = sum + (view.bit(i) ? 1 : 0);
  }
  const size_t width = width_of(view.format());
  if (width > 0) look(view.values(width), static_cast<size_t>(view.size()) * width);
  if (view.is_text() || view.is_bytes() || view.is_list()) view.check_offsets();
  if (view.is_text() || view.is_bytes()) {
    const int64_t begin = view.offset(0);
    look(view.bytes() + begin, static_cast<size_t>(view.offset(view.size()) - begin));
  }
  if (view.is_list() || view.list_size() >= 0) return look(view.list_items(0, view.size()));
  for (int64_t i = 0; i < view.num_children(); ++i) look(view.child(i));
}

inline void read_table(arrow::TableCursor& cursor) {
  int64_t rows = 0;
  while (rows < kMostRows) {
    const std::shared_ptr<api::ArrowBatch> batch = cursor.next();
    if (batch == nullptr) return;
    for (const auto& column : batch->columns) {
      look(engine::ArrowView(column->schema, column->array, column->name));
    }
    rows += batch->num_rows;
  }
}

}  // namespace rtrain
