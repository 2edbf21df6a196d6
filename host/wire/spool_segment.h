// host/wire/spool_segment.h: one file of a spool: frames as they are sent, each behind its hash.
//
// Layout: a line with the stream's name, then records: XXH3-64 of the frame, the frame
// (host/wire/wire_frame.h). A data frame is kept until it is acknowledged; an ack frame says up to
// where that has happened. A record that was not written whole ends the file: open() cuts it off.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/fd.h"

namespace rtrain {

class SpoolSegment {
 public:
  // A new file. Throws Error(kEnvironment).
  static SpoolSegment create(std::string path, const std::string& stream, uint64_t first);
  // One that is there, without what is not whole; nothing when it holds no frame. Throws
  // Error(kEnvironment) when it cannot be read.
  static std::optional<SpoolSegment> open(std::string path);

  const std::string& stream() const { return stream_; }
  uint64_t first() const { return first_; }
  uint64_t last() const { return last_; }    // first() - 1 without a frame
  uint64_t acked() const { return acked_; }  // the highest that it names as acknowledged; or 0
  uint64_t size_bytes() const { return size_; }
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

  // Records, all or none. `last`: the highest frame with them. Throws Error(kEnvironment).
  void append(std::string_view records, uint64_t last);
  // Data frames from the place on, up to some of that many bytes; moves the place behind them.
  // Throws Error(kEnvironment) when they are no longer as they were written.
  void read(uint64_t& place, size_t max_bytes, std::deque<std::string>& out) const;
  // Where the first record is.
  static uint64_t begin();
  void remove() const;

  // The record of a frame.
  static void add_record(std::string& out, std::string_view frame);

 private:
  SpoolSegment(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  bool scan();
  std::string read_bytes(uint64_t place, size_t count) const;

  std::string path_;
  Fd fd_;
  std::string stream_;
  uint64_t first_ = 1;
  uint64_t last_ = 0;
  uint64_t acked_ = 0;
  uint64_t size_ = 0;
};

}  // namespace rtrain
