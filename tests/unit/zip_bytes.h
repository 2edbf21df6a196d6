// tests/unit/zip_bytes.h: zip archives of uncompressed records, made byte by byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace rtrain {

template <class T>
std::string little_endian(T number) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &number, sizeof(T));
  return out;
}
inline std::string u16(size_t number) { return little_endian(static_cast<uint16_t>(number)); }
inline std::string u32(size_t number) { return little_endian(static_cast<uint32_t>(number)); }
inline std::string u64(size_t number) { return little_endian(static_cast<uint64_t>(number)); }

// Replaces the bytes from `place` on.
inline std::string patched(std::string bytes, size_t place, const std::string& with) {
  return bytes.replace(place, with.size(), with);
}

struct ZipBytes {
  std::string bytes;
  std::vector<size_t> headers;  // where each record's header begins
  std::vector<size_t> entries;  // where each entry of the directory begins
  size_t directory = 0;
  size_t end = 0;  // where the plain end of the directory begins
};

inline ZipBytes zip_of(const std::vector<std::pair<std::string, std::string>>& records) {
  ZipBytes out;
  for (const auto& [name, data] : records) {
    out.headers.push_back(out.bytes.size());
    out.bytes += "PK\x03\x04" + u16(20) + u16(0) + u16(0) + u32(0) + u32(0) + u32(data.size()) +
                 u32(data.size()) + u16(name.size()) + u16(0) + name + data;
  }
  out.directory = out.bytes.size();
  for (size_t i = 0; i < records.size(); ++i) {
    const auto& [name, data] = records[i];
    out.entries.push_back(out.bytes.size());
    out.bytes += "PK\x01\x02" + u16(20) + u16(20) + u16(0) + u16(0) + u32(0) + u32(0) +
                 u32(data.size()) + u32(data.size()) + u16(name.size()) + u16(0) + u16(0) + u16(0) +
                 u16(0) + u32(0) + u32(out.headers[i]) + name;
  }
  out.end = out.bytes.size();
  out.bytes += "PK\x05\x06" + u16(0) + u16(0) + u16(records.size()) + u16(records.size()) +
               u32(out.end - out.directory) + u32(out.directory) + u16(0);
  return out;
}

}  // namespace rtrain
