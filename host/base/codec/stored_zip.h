// host/base/codec/stored_zip.h: the directory of a zip archive as torch.save and NumPy write
// it.
//
// Safe for untrusted bytes, and strict, so that two readers cannot see different contents: the
// central directory ends the file, it lists exactly as many records as it says, names are
// unique and plain relative paths, each record's header repeats its name, and no two records
// overlap. So all stored records together are never larger than the file. Refuses encrypted
// records and archives in several parts; find() refuses compressed records, because torch.save
// never compresses. Callers verify checksums, because torch can be configured to omit them
// (torch.serialization.set_crc32_options).
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

  // Returns the record with that full name; null if it does not exist. Valid as long as the
  // archive. Throws Error(kArgument) if it is compressed.
  const Record* find(std::string_view name) const;

  // All records by full name, including compressed ones.
  const std::map<std::string, Record, std::less<>>& records() const { return records_; }

  // The folder that contains all records ("archive"); empty if there is no such folder.
  const std::string& root() const { return root_; }

 private:
  std::map<std::string, Record, std::less<>> records_;
  std::string root_;
};

}  // namespace rtrain
