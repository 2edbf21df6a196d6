#include "host/http/file_body.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "host/base/codec/hash.h"
#include "host/base/error.h"
#include "host/base/files/inner_file.h"
#include "host/base/text/text.h"

namespace rtrain::http {
namespace {

std::optional<int64_t> number_of(std::string_view digits) {
  int64_t out = 0;
  const auto [end, status] = std::from_chars(digits.begin(), digits.end(), out);
  if (status != std::errc() || end != digits.end() || out < 0) return std::nullopt;
  return out;
}

}  // namespace

FileBody::FileBody(const std::string& folder, const std::vector<std::string>& paths) {
  std::string facts;
  for (const std::string& path : paths) {
    File file{.fd = Fd(open_beneath(folder, path, O_RDONLY | O_NONBLOCK)), .begin = size_};
    struct stat info {};
    if (!file.fd.is_open() || ::fstat(file.fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
      throw Error(Code::kNotFound, cat("there is no file ", path));
    }
    file.size = info.st_size;
    size_ += file.size;
    facts +=
        cat(info.st_ino, " ", file.size, " ", info.st_mtim.tv_sec, " ", info.st_mtim.tv_nsec, "\n");
    files_.push_back(std::move(file));
  }
  tag_ = cat('"', hash_text(hash64(facts)), '"');
}

std::string FileBody::read(int64_t begin, size_t most) const {
  const auto file = std::find_if(files_.begin(), files_.end(),
                                 [&](const File& each) { return begin < each.begin + each.size; });
  RT_CHECK(file != files_.end());
  const int64_t offset = begin - file->begin;
  std::string out(std::min(most, static_cast<size_t>(file->size - offset)), '\0');
  const ssize_t count = ::pread(file->fd.get(), out.data(), out.size(), offset);
  out.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return out;
}

std::optional<ByteRange> parse_range(std::string_view header, int64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit)) return std::nullopt;
  const std::string_view range = trim(header.substr(kUnit.size()));
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = range.substr(dash + 1);
  const auto from = number_of(first);
  const auto to = number_of(last);
  if ((!first.empty() && !from) || (!last.empty() && !to) || (!from && !to)) return std::nullopt;
  if (!from && *to == 0) return ByteRange{0, 0};
  if (!from) return ByteRange{std::max<int64_t>(0, size - *to), size};
  if (to && *to < *from) return std::nullopt;
  if (*from >= size) return ByteRange{0, 0};
  return ByteRange{*from, to ? std::min(*to, size - 1) + 1 : size};
}

}  // namespace rtrain::http
