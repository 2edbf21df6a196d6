#include "host/base/codec/stored_zip.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

constexpr uint32_t kRecordSignature = 0x04034b50;
constexpr uint32_t kEntrySignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr uint64_t kRecordBytes = 30, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint16_t kZip64Extra = 1;
// A field of 32 or 16 bits that is too small has all bits set, and the number is in a zip64 field.
constexpr uint32_t kFull32 = 0xffffffff;
constexpr uint16_t kFull16 = 0xffff;
constexpr uint16_t kEncryptedFlags = 1 << 0 | 1 << 6 | 1 << 13;
// Limit for the directory, which is read into memory; enough for a million records.
constexpr uint64_t kMaxDirectoryBytes = uint64_t{100} << 20;

[[noreturn]] void damaged(std::string_view what) {
  throw Error(Code::kArgument, cat("damaged zip archive: ", what));
}

// Reads consecutive little-endian numbers.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  std::string_view take(size_t size) {
    if (bytes_.size() < size) damaged("its directory ends too early");
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }
  void skip(size_t size) { take(size); }
  uint16_t u16() { return number<uint16_t>(); }
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  bool empty() const { return bytes_.empty(); }

 private:
  template <class T>
  T number() {
    T out;
    std::memcpy(&out, take(sizeof(T)).data(), sizeof(T));
    return out;
  }

  std::string_view bytes_;
};

struct Directory {
  uint64_t offset;
  uint64_t size;
  uint64_t count;
};

struct Entry {
  std::string name;
  uint64_t header = 0;  // offset of the record's own header
  uint64_t size = 0;    // in the archive
  uint64_t unpacked_size = 0;
  uint32_t checksum = 0;
  uint16_t method = StoredZip::kStored;
};

// Whether the bytes from the offset on begin with the signature.
bool has_signature(const ByteSource& source, uint64_t offset, uint32_t signature) {
  uint32_t found = 0;
  source.read(offset, &found, sizeof(found));
  return found == signature;
}

// The zip64 end of the directory, if its locator is directly before the plain end at `end`.
std::optional<Directory> find_end64(const ByteSource& source, uint64_t end) {
  if (end < kLocator64Bytes + kEnd64Bytes) return std::nullopt;
  const uint64_t locator_at = end - kLocator64Bytes;
  if (!has_signature(source, locator_at, kLocator64Signature)) return std::nullopt;
  const std::string locator_bytes = source.text(locator_at, kLocator64Bytes);
  Fields locator(locator_bytes);
  locator.skip(4);
  const uint32_t disk = locator.u32();
  const uint64_t end64_at = locator.u64();
  const uint32_t disks = locator.u32();
  if (disk != 0 || disks > 1) damaged("it is one part of several");
  if (end64_at != locator_at - kEnd64Bytes || !has_signature(source, end64_at, kEnd64Signature)) {
    damaged("its zip64 directory's end is not where it should be");
  }
  const std::string bytes = source.text(end64_at, kEnd64Bytes);
  Fields fields(bytes);
  fields.skip(4);
  const uint64_t rest = fields.u64();
  fields.skip(4);
  const uint32_t this_disk = fields.u32(), directory_disk = fields.u32();
  const uint64_t count_here = fields.u64(), count = fields.u64();
  const uint64_t size = fields.u64(), offset = fields.u64();
  if (rest != kEnd64Bytes - 12) damaged("its zip64 directory's end has another size");
  if (this_disk != 0 || directory_disk != 0 || count_here != count) {
    damaged("it is one part of several");
  }
  if (offset > end64_at || size != end64_at - offset) damaged("its directory does not end it");
  return Directory{offset, size, count};
}

// A field of the plain end must equal the zip64 one, unless all its bits are set.
void check_repeats(uint64_t plain, uint64_t full, uint64_t number) {
  if (plain != full && plain != number) damaged("its two directory ends disagree");
}

Directory find_directory(const ByteSource& source) {
  if (source.size() < kEndBytes) damaged("it is too short");
  const uint64_t end = source.size() - kEndBytes;
  if (!has_signature(source, end, kEndSignature)) {
    damaged("it does not end with a directory: it is cut off, or something is appended to it");
  }
  const std::string bytes = source.text(end, kEndBytes);
  Fields fields(bytes);
  fields.skip(4);
  const uint16_t this_disk = fields.u16(), directory_disk = fields.u16();
  const uint16_t count_here = fields.u16(), count = fields.u16();
  const uint32_t size = fields.u32(), offset = fields.u32();
  if (fields.u16() != 0) damaged("it has a comment");
  const std::optional<Directory> wide = find_end64(source, end);
  if (wide) {
    check_repeats(count, kFull16, wide->count);
    check_repeats(size, kFull32, wide->size);
    check_repeats(offset, kFull32, wide->offset);
    return *wide;
  }
  if (this_disk != 0 || directory_disk != 0 || count_here != count) {
    damaged("it is one part of several");
  }
  if (offset > end || size != end - offset) damaged("its directory does not end it");
  return Directory{offset, size, count};
}

// Reads the zip64 field in an entry's extra bytes into those of the fields whose bits are all set.
void read_extra(std::string_view extra, std::initializer_list<uint64_t*> full_fields) {
  Fields fields(extra);
  bool found = false;
  while (!fields.empty()) {
    const uint16_t tag = fields.u16();
    Fields content(fields.take(fields.u16()));
    if (tag != kZip64Extra) continue;
    if (found) damaged("a record has two zip64 fields");
    found = true;
    for (uint64_t* field : full_fields) {
      if (*field == kFull32) *field = content.u64();
    }
  }
}

void check_name(const std::string& name) {
  bool plain =
      !name.empty() && name.find_first_of(std::string_view("\\\0", 2)) == std::string::npos;
  for (const std::string& part : split(name, '/')) {
    plain = plain && !part.empty() && part != "." && part != "..";
  }
  if (!plain) damaged("a record's name is not a plain relative path");
}

Entry read_entry(Fields& fields) {
  if (fields.u32() != kEntrySignature) damaged("its directory has a wrong entry");
  fields.skip(4);
  const uint16_t flags = fields.u16(), method = fields.u16();
  fields.skip(4);
  const uint32_t checksum = fields.u32();
  uint64_t packed = fields.u32(), size = fields.u32();
  const uint16_t name_size = fields.u16(), extra_size = fields.u16(), comment_size = fields.u16();
  fields.skip(8);
  uint64_t header = fields.u32();
  Entry out{std::string(fields.take(name_size))};
  read_extra(fields.take(extra_size), {&size, &packed, &header});
  fields.skip(comment_size);
  check_name(out.name);
  if ((flags & kEncryptedFlags) != 0) damaged(cat("the record ", out.name, " is encrypted"));
  if (method == StoredZip::kStored && packed != size)
    damaged(cat("the record ", out.name, " has two sizes"));
  out.header = header;
  out.size = packed;
  out.unpacked_size = size;
  out.checksum = checksum;
  out.method = method;
  return out;
}

// Returns the offset of the record's bytes. `limit` is the directory's offset.
uint64_t data_offset(const ByteSource& source, const Entry& entry, uint64_t limit) {
  const auto wrong = [&]() {
    damaged(cat("the record ", entry.name, " is not where it should be"));
  };
  if (limit < kRecordBytes || entry.header > limit - kRecordBytes) wrong();
  const std::string bytes = source.text(entry.header, kRecordBytes);
  Fields fields(bytes);
  if (fields.u32() != kRecordSignature) wrong();
  fields.skip(22);
  const uint16_t name_size = fields.u16(), extra_size = fields.u16();
  const uint64_t name_at = entry.header + kRecordBytes;
  const uint64_t data_at = name_at + name_size + extra_size;
  if (data_at > limit || entry.size > limit - data_at) wrong();
  if (source.text(name_at, name_size) != entry.name) {
    damaged(cat("the record ", entry.name, " has two names"));
  }
  return data_at;
}

std::string first_folder(std::string_view name) {
  const size_t slash = name.find('/');
  return std::string(name.substr(0, slash == std::string_view::npos ? 0 : slash));
}

}  // namespace

StoredZip::StoredZip(const ByteSource& source) {
  const Directory directory = find_directory(source);
  if (directory.size > kMaxDirectoryBytes) damaged("its directory is larger than 100 MiB");
  const std::string bytes = source.text(directory.offset, directory.size);
  Fields fields(bytes);
  std::vector<std::pair<uint64_t, uint64_t>> places;  // header and end of each record
  // No memory is reserved for `count`: if it is wrong, the directory ends too early or has bytes
  // left.
  for (uint64_t i = 0; i < directory.count; ++i) {
    Entry entry = read_entry(fields);
    const uint64_t offset = data_offset(source, entry, directory.offset);
    places.emplace_back(entry.header, offset + entry.size);
    const std::string folder = first_folder(entry.name);
    root_ = i == 0 || root_ == folder ? folder : std::string();
    const Record record{offset, entry.size, entry.unpacked_size, entry.checksum, entry.method};
    const auto [place, fresh] = records_.try_emplace(entry.name, record);
    if (!fresh) damaged(cat("the record ", place->first, " is there twice"));
  }
  if (!fields.empty()) damaged("its directory has more records than it says");
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i].first < places[i - 1].second) damaged("two of its records overlap");
  }
}

const StoredZip::Record* StoredZip::find(std::string_view name) const {
  const auto found = records_.find(name);
  if (found == records_.end()) return nullptr;
  if (found->second.method != kStored) {
    throw Error(Code::kArgument,
                cat("its record ", name, " is compressed, which torch.save never does"));
  }
  return &found->second;
}

}  // namespace rtrain
