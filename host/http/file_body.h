// host/http/file_body.h: files, one behind the other, as the body of an answer: read piece by piece
// as it is sent, so that its size costs no memory.
//
// Their sizes are those when they were opened. Any thread, one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/files/fd.h"

namespace rtrain::http {

class FileBody {
 public:
  // Of paths "<folder>/…". Throws Error(kNotFound) for any other entry than a regular file; no
  // symlink below the folder is followed.
  FileBody(const std::string& folder, const std::vector<std::string>& paths);

  int64_t size() const { return size_; }
  // Differs where the bytes do, with its quotes: an ETag.
  const std::string& tag() const { return tag_; }
  // Bytes from `begin` on, at most that many and not beyond the end of a file; empty when they are
  // gone. REQUIRES: begin < size().
  std::string read(int64_t begin, size_t most) const;

 private:
  struct File {
    Fd fd;
    int64_t begin = 0;
    int64_t size = 0;
  };
  std::vector<File> files_;
  int64_t size_ = 0;
  std::string tag_;
};

// Bytes of a body: [begin, end).
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// The part that "bytes=2-5", "bytes=2-" or "bytes=-3" asks of a body of that size; {0, 0} where the
// body has none of it. Nothing for a header that asks for all, for several parts, or is wrong:
// those are answered with all of it, as RFC 9110 says.
std::optional<ByteRange> parse_range(std::string_view header, int64_t size);

}  // namespace rtrain::http
