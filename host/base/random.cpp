#include "host/base/random.h"

#include <sys/random.h>

#include <cerrno>

#include "host/base/error.h"
#include "host/base/text/hex.h"

namespace rtrain {

// For more than 256 bytes the kernel may return fewer than requested.
std::string random_bytes(size_t count) {
  std::string out(count, '\0');
  for (size_t done = 0; done < count;) {
    const ssize_t n = ::getrandom(out.data() + done, count - done, 0);
    RT_CHECK(n >= 0 || errno == EINTR);
    if (n > 0) done += static_cast<size_t>(n);
  }
  return out;
}

std::string random_hex(int digits) {
  const auto count = static_cast<size_t>(digits);
  return to_hex(random_bytes((count + 1) / 2)).substr(0, count);
}

}  // namespace rtrain
