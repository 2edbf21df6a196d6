// host/http/file_body.h: consecutive files as the body of an answer. They are read in pieces as the
// answer is sent, so that their size costs no memory.
//
// Their sizes are those at the time of opening. Any thread, one at a time.
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
  // Opens paths "<folder>/…". Throws Error(kNotFound) for everything but regular files; follows no
  // symlink below the folder.
  FileBody(const std::string& folder, const std::vector<std::string>& paths);

  int64_t size() const { return size_; }
  // An ETag, with its quotes, which differs if the bytes do.
  const std::string& tag() const { return tag_; }
  // Returns bytes from `begin` on, at most that many and not beyond the end of a file; "" when they
  // cannot be read any more. REQUIRES: begin < size().
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

// Returns the part that "bytes=2-5", "bytes=2-" or "bytes=-3" means for a body of that size; {0, 0}
// if it is outside of the body. Nothing for a header that means all or several parts, or is
// invalid: then all of the body is sent, as RFC 9110 says.
std::optional<ByteRange> parse_range(std::string_view header, int64_t size);

}  // namespace rtrain::http
