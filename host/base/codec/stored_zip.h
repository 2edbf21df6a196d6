// host/base/codec/stored_zip.h: the table of contents of a zip archive, as torch.save and NumPy
// write it.
//
// For foreign bytes, and strict, so that no two readers can see different contents: the central
// directory ends the file, nothing follows it, it lists exactly as many records as it says, its
// names are unique and plain relative paths, each record's header repeats its name, and no two
// records overlap. So the stored records together are never larger than the file. Encrypted records
// and archives in several parts are refused, and compressed records when find() is asked for them:
// torch.save stores all of them. Checksums are left to the caller: torch can be asked to leave them
// out (torch.serialization.set_crc32_options).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "host/base/files/byte_source.h"

namespace rtrain {

class StoredZip {
 public:
  static constexpr uint16_t kStored = 0, kDeflated = 8;

  struct Record {
    uint64_t offset;  // of its first byte in the source
    uint64_t size;    // in the archive
    uint64_t unpacked_size;
    uint32_t checksum;  // CRC-32 of what is unpacked
    uint16_t method;
  };

  // Throws Error(kArgument) that says what is wrong with the archive.
  explicit StoredZip(const ByteSource& source);

  bool contains(std::string_view name) const { return records_.contains(name); }

  // The record of that full name; null when there is none. Valid as long as the archive. Throws
  // Error(kArgument) when it is compressed.
  const Record* find(std::string_view name) const;

  // All records by full name, compressed ones too.
  const std::map<std::string, Record, std::less<>>& records() const { return records_; }

  // The folder that all records lie in ("archive"); empty when they share none.
  const std::string& root() const { return root_; }

 private:
  std::map<std::string, Record, std::less<>> records_;
  std::string root_;
};

}  // namespace rtrain
