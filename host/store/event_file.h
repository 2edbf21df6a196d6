// host/store/event_file.h: scalars as TensorBoard reads them: records with checksums, each an Event
// of its protocol buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rtrain {

class EventFile {
 public:
  // `began_ms`: the time of the first record, which says what the file is.
  explicit EventFile(int64_t began_ms);

  // As a 32 bit float: TensorBoard has no others.
  void add_scalar(std::string_view tag, int64_t step, int64_t time_ms, double value);

  const std::string& bytes() const { return bytes_; }

 private:
  void add_record(const std::string& event);

  std::string bytes_;
};

}  // namespace rtrain
