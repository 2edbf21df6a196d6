// host/store/event_file.h: scalars as TensorBoard reads them: records with checksums, each an Event
// of its protocol buffers.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace rtrain {

class EventFile {
 public:
  // Writes to `out`, which must outlive it and whose owner looks for its errors.
  // `began_ms`: the time of the first record, which says what the file is.
  EventFile(std::ostream& out, int64_t began_ms);

  // As a 32 bit float: TensorBoard has no others.
  void add_scalar(std::string_view tag, int64_t step, int64_t time_ms, double value);

 private:
  void add_record(const std::string& event);

  std::ostream& out_;
};

}  // namespace rtrain
