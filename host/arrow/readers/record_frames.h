// host/arrow/readers/record_frames.h: the records of a TFRecord file, as bytes.
//
// A record is its length, the length's checksum, its bytes and their checksum
// (host/base/codec/masked_crc.h). Used by one thread at a time. Safe for untrusted bytes: errors
// are Error(kArgument), which names the file, the record and its first byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/arrow/readers/text_input.h"
#include "host/arrow/types/status.h"

namespace rtrain::arrow {

class RecordFrames {
 public:
  // Unpacks a packed file. Throws as TextInput does.
  explicit RecordFrames(const std::string& path);

  // The next record, valid until the next call; nullopt at the end of the file.
  std::optional<std::string_view> next();
  // Passes over records without a look at their bytes. Returns how many there were: fewer than
  // `count` only at the end.
  int64_t skip(int64_t count);

  // The last record, for messages.
  FileTask task() const;

 private:
  // Goes to the next record and returns its length; nullopt at the end of the file.
  std::optional<int64_t> begin();
  // The next bytes, fewer at the end of the file.
  std::string_view look(int64_t size);
  void pass(int64_t size);
  [[noreturn]] void fail(std::string_view detail) const;

  std::string path_;
  TextInput input_;
  std::string bytes_;  // read from the file, not yet returned from at_ on
  size_t at_ = 0;
  int64_t offset_ = 0;  // of bytes_[at_] in the file
  int64_t record_ = -1;
  int64_t record_offset_ = 0;
};

}  // namespace rtrain::arrow
