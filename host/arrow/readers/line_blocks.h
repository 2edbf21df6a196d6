// host/arrow/readers/line_blocks.h: a text file cut into blocks of whole records.
#pragma once

#include <arrow/buffer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "host/arrow/readers/text_input.h"

namespace rtrain {

// Bytes of the text, from its beginning, that make whole records; 0 when not even one is complete.
using FindRecordsEnd = std::function<int64_t(const std::shared_ptr<arrow::Buffer>& text)>;

class LineBlocks {
 public:
  // A packed file is unpacked on the way. A byte order mark at the beginning is left out.
  LineBlocks(const std::string& path, int64_t block_bytes, FindRecordsEnd find_end);

  // The next records; the file's last may lack its line's end. Null at the end. Throws
  // Error(kArgument) with the line for a record longer than 256 MiB, and what the file throws.
  std::shared_ptr<arrow::Buffer> next();

  // The line of a place in the last block.
  int64_t line_of(int64_t offset) const;
  // True once the last block was the file's last.
  bool at_end() const { return end_; }

 private:
  std::shared_ptr<arrow::Buffer> read(int64_t wanted);

  std::string path_;
  TextInput file_;
  int64_t block_bytes_;
  FindRecordsEnd find_end_;
  std::shared_ptr<arrow::Buffer> rest_;   // read, and not given yet
  std::shared_ptr<arrow::Buffer> block_;  // the last one given
  int64_t first_line_ = 1;                // of the last block
  bool started_ = false;
  bool end_ = false;
};

}  // namespace rtrain
