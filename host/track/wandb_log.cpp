#include "host/track/wandb_log.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "host/base/codec/protobuf_message.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::track {
namespace {

constexpr std::string_view kHeader(":W&B\xE1\xBE\x00", 7);
constexpr int64_t kBlock = int64_t{32} << 10;
constexpr int64_t kPartHeader = 7;  // checksum, length, type

// Which part of a record a part of a block is.
enum Part : char { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

}  // namespace

WandbLog::WandbLog(std::string path, int64_t size) : path_(std::move(path)), size_(size) {
  std::error_code ignored;
  if (size_ > 0) std::filesystem::resize_file(path_, static_cast<uintmax_t>(size_), ignored);
  out_.open(path_, std::ios::binary | (size_ > 0 ? std::ios::app : std::ios::trunc));
  if (size_ == 0) write(kHeader);
}

void WandbLog::add(std::string_view record) {
  bool is_first = true;
  do {
    const int64_t left = kBlock - size_ % kBlock;
    if (left < kPartHeader) {
      write(std::string(static_cast<size_t>(left), '\0'));
      continue;
    }
    const auto room = static_cast<size_t>(left - kPartHeader);
    const std::string_view part = record.substr(0, room);
    record.remove_prefix(part.size());
    const Part type = record.empty() ? (is_first ? kFull : kLast) : (is_first ? kFirst : kMiddle);
    const auto* type_byte = reinterpret_cast<const Bytef*>(&type);
    const auto* bytes = reinterpret_cast<const Bytef*>(part.data());
    const uLong sum = crc32(crc32(0, type_byte, 1), bytes, static_cast<uInt>(part.size()));
    std::string header;
    add_little_endian(header, static_cast<uint32_t>(sum));
    add_little_endian(header, static_cast<uint16_t>(part.size()));
    header += static_cast<char>(type);
    write(header);
    write(part);
    is_first = false;
  } while (is_first || !record.empty());
}

int64_t WandbLog::flush() {
  errno = 0;
  out_.flush();
  if (out_.good()) return size_;
  throw Error(Code::kEnvironment,
              cat("cannot write ", path_, ": ", std::string(std::strerror(errno))));
}

void WandbLog::write(std::string_view bytes) {
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  size_ += static_cast<int64_t>(bytes.size());
}

}  // namespace rtrain::track
