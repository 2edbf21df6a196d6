// host/arrow/readers/line_blocks.h: divides a text file into blocks of whole records.
#pragma once

#include <arrow/buffer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "host/arrow/readers/text_input.h"

namespace rtrain::arrow {

// How many bytes at the beginning of the text are whole records; 0 if not even one is complete.
using FindRecordsEnd = std::function<int64_t(const std::shared_ptr<::arrow::Buffer>& text)>;

class LineBlocks {
 public:
  // Unpacks a packed file. Leaves out a byte order mark at the beginning.
  LineBlocks(const std::string& path, int64_t block_bytes, FindRecordsEnd find_end);

  // The next records. The last record of the file may lack its line end. Null at the end of the
  // file. Throws Error(kArgument) with the line for a record longer than 256 MiB, and the file's
  // errors.
  std::shared_ptr<::arrow::Buffer> next();

  // The line number of an offset in the last returned block.
  int64_t line_of(int64_t offset) const;
  // True once the last block of the file was returned.
  bool at_end() const { return end_; }

 private:
  std::shared_ptr<::arrow::Buffer> read(int64_t wanted);

  std::string path_;
  TextInput file_;
  int64_t block_bytes_;
  FindRecordsEnd find_end_;
  std::shared_ptr<::arrow::Buffer> rest_;   // read from the file, not yet returned
  std::shared_ptr<::arrow::Buffer> block_;  // the block last returned
  int64_t first_line_ = 1;                  // of block_
  bool started_ = false;
  bool end_ = false;
};

}  // namespace rtrain::arrow
