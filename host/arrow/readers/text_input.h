// host/arrow/readers/text_input.h: a text file from its beginning to its end, unpacked where it is
// packed.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <cstdint>
#include <memory>
#include <string>

#include "host/arrow/readers/unpacker.h"

namespace rtrain {

// A file is packed when its first bytes say so, whatever its name. Used by one thread at a time.
// Errors name the file.
class TextInput {
 public:
  // `path`: of a file, or a URI. Throws what open_input throws.
  explicit TextInput(const std::string& path);

  // The next bytes, as many as wanted; fewer at the end alone. Throws Error(kArgument) for a packed
  // file that is damaged or ends early, and for one that is packed by its name alone.
  std::shared_ptr<arrow::Buffer> read(int64_t wanted);

 private:
  void begin(int64_t wanted);
  std::shared_ptr<arrow::Buffer> read_plain(int64_t wanted);
  void refill();
  bool begins_another();
  int64_t unpack(uint8_t* to, int64_t wanted);
  [[noreturn]] void fail_packed(const arrow::Status& status) const;

  std::string path_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<arrow::Buffer> bytes_;  // read, and not given or unpacked yet
  Packing packing_{};
  std::unique_ptr<Unpacker> unpacker_;  // none for a file that is not packed
  bool started_ = false;
  bool file_ended_ = false;
};

}  // namespace rtrain
