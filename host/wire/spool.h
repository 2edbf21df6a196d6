// host/wire/spool.h: frames of a link on disk, until the other side has acknowledged them.
//
// A folder of segments (host/wire/spool_segment.h) that belongs to one process at a time. What a
// process leaves there when it is killed, the next one finds: all that append() has returned for,
// unless the host itself went down; then what was synced. Belongs to one thread; the work of
// begin_sync() runs on any other.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "host/base/fd.h"
#include "host/wire/spool_segment.h"
#include "host/wire/wire_frame.h"

namespace rtrain {

class Spool {
 public:
  // Makes the folder where it is missing, for the user alone. `stream` names what this process
  // adds; a file is closed above that many bytes. Throws Error(kEnvironment), also when another
  // process has the folder.
  Spool(std::string folder, std::string stream, uint64_t segment_bytes);

  // Numbers of the frames that are here and not acknowledged; last() + 1 is the next one.
  uint64_t first() const { return first_; }
  uint64_t last() const { return last_; }
  // The streams of former processes to which those belong, each with its last number.
  const std::vector<FormerStream>& former() const { return former_; }
  uint64_t size_bytes() const;

  // Adds frames, the first of them with the number last() + 1; how many were written. When not all
  // were, error() says why.
  size_t append(std::span<const std::string> frames);
  const std::string& error() const { return error_; }
  // The other side has all up to that one. One behind last(): nothing of this is needed any more,
  // and the numbers go on from there.
  void acknowledge(uint64_t sequence);
  // Frames from that number on, with about that many bytes; at least one if there is one. Numbers
  // that are asked for never go back.
  std::deque<std::string> read(uint64_t from, size_t max_bytes);

  // Notes what is acknowledged, and returns the work that makes all of this survive the host: it
  // returns what failed, or "". No work when nothing has changed since the last call.
  std::function<std::string()> begin_sync();
  // Removes all of it. REQUIRES: all is acknowledged.
  void clear();

 private:
  void recover();
  void write(const std::string& records, uint64_t last);
  void note_acked();

  std::string folder_;
  std::string stream_;
  uint64_t segment_bytes_;
  Fd lock_;  // the folder
  std::deque<SpoolSegment> segments_;
  std::vector<FormerStream> former_;
  uint64_t first_ = 1;
  uint64_t last_ = 0;
  uint64_t noted_ = 0;  // acknowledged, as the files say
  std::string error_;
  bool is_dirty_ = false;
  uint64_t synced_ = 0;  // all up to that one
  // Where read() goes on.
  uint64_t read_next_ = 0;
  uint64_t read_segment_ = 0;  // its first number
  uint64_t read_place_ = 0;
};

}  // namespace rtrain
