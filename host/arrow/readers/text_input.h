// host/arrow/readers/text_input.h: reads a text file from beginning to end, and unpacks it if it is
// packed.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "host/arrow/readers/unpacker.h"

namespace rtrain::arrow {

// Detects packing from the first bytes, not from the name. Used by one thread at a time. Errors
// name the file.
class TextInput {
 public:
  // Whether a file with these first bytes is not packed, whatever they look like.
  using IsPlain = bool (*)(std::string_view head);

  // `path`: of a file, or a URI. Throws as open_input does.
  explicit TextInput(const std::string& path, IsPlain is_plain = nullptr);

  // The next `wanted` bytes; fewer only at the end. Throws Error(kArgument) for a packed file that
  // is damaged or ends early, and for an unpacked file whose name says that it is packed.
  std::shared_ptr<::arrow::Buffer> read(int64_t wanted);
  // Passes over the next `count` bytes, without reading those of a file that is not packed. Returns
  // how many there were: fewer only at the end.
  int64_t skip(int64_t count);
  // Known after the first read().
  bool is_packed() const { return unpacker_ != nullptr; }

 private:
  void begin(int64_t wanted);
  std::shared_ptr<::arrow::Buffer> read_plain(int64_t wanted);
  void refill();
  bool begins_another();
  int64_t unpack(uint8_t* to, int64_t wanted);
  [[noreturn]] void fail_packed(const ::arrow::Status& status) const;

  std::string path_;
  IsPlain is_plain_;
  std::shared_ptr<::arrow::io::RandomAccessFile> file_;
  std::shared_ptr<::arrow::Buffer> bytes_;  // read from the file, not yet returned or unpacked
  Packing packing_{};
  std::unique_ptr<Unpacker> unpacker_;  // null if the file is not packed
  bool started_ = false;
  bool file_ended_ = false;
};

}  // namespace rtrain::arrow
