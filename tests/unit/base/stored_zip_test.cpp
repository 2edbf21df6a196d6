#include "host/base/codec/stored_zip.h"

#include <gtest/gtest.h>

#include "host/base/error.h"
#include "host/base/files/memory_source.h"
#include "tests/unit/zip_bytes.h"

namespace rtrain {
namespace {

using namespace std::string_literals;

// Offsets of the fields in a record's header, in an entry and in the end of the directory.
constexpr size_t kHeaderName = 30;
constexpr size_t kEntryFlags = 8, kEntryMethod = 10, kEntryPacked = 20, kEntrySize = 24,
                 kEntryOffset = 42, kEntryName = 46;
constexpr size_t kEndDisk = 4, kEndHere = 8, kEndCount = 10, kEndSize = 12, kEndOffset = 16,
                 kEndComment = 20;

const ZipBytes kTwo = zip_of({{"a/one", "first"}, {"a/two", "second"}});

// The same archive with the zip64 end that LibTorch writes; its plain end repeats the numbers.
std::string with_zip64(const ZipBytes& zip, size_t count, size_t size, size_t offset) {
  return zip.bytes.substr(0, zip.end) + "PK\x06\x06" + u64(44) + u16(45) + u16(45) + u32(0) +
         u32(0) + u64(count) + u64(count) + u64(size) + u64(offset) + "PK\x06\x07" + u32(0) +
         u64(zip.end) + u32(1) + zip.bytes.substr(zip.end);
}

std::string refusal(const std::string& bytes) {
  try {
    const MemorySource source(bytes);
    const StoredZip zip(source);
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kArgument);
    return error.message();
  }
}

TEST(StoredZip, FindsRecords) {
  for (const std::string& bytes :
       {kTwo.bytes, with_zip64(kTwo, 2, kTwo.end - kTwo.directory, kTwo.directory)}) {
    const MemorySource source(bytes);
    const StoredZip zip(source);
    EXPECT_EQ(zip.root(), "a");
    EXPECT_EQ(zip.find("a/three"), nullptr);
    const StoredZip::Record* two = zip.find("a/two");
    ASSERT_NE(two, nullptr);
    EXPECT_EQ(source.text(two->offset, two->size), "second");
  }
}

TEST(StoredZip, ReadsNumbersOfZip64Entries) {
  // One entry whose size and offset fields hold 0xffffffff; a zip64 field holds the real numbers.
  const ZipBytes plain = zip_of({{"a/x", "data"}});
  std::string entry = plain.bytes.substr(plain.directory, plain.end - plain.directory);
  const std::string extra = u16(1) + u16(24) + u64(4) + u64(4) + u64(0);
  entry = patched(entry, kEntryPacked, u32(0xffffffff) + u32(0xffffffff));
  entry = patched(entry, kEntryOffset, u32(0xffffffff));
  entry = patched(entry, 30, u16(extra.size())) + extra;
  const std::string end = patched(plain.bytes.substr(plain.end), kEndSize, u32(entry.size()));
  const MemorySource source(plain.bytes.substr(0, plain.directory) + entry + end);
  const StoredZip zip(source);
  ASSERT_NE(zip.find("a/x"), nullptr);
  EXPECT_EQ(zip.find("a/x")->size, 4U);
}

TEST(StoredZip, RecordsOfSeveralFoldersHaveNoRoot) {
  const MemorySource source(zip_of({{"a/x", ""}, {"b/x", ""}}).bytes);
  EXPECT_EQ(StoredZip(source).root(), "");
}

TEST(StoredZip, EveryCutIsRefused) {
  for (size_t size = 0; size < kTwo.bytes.size(); ++size) {
    EXPECT_NE(refusal(kTwo.bytes.substr(0, size)), "accepted") << size;
  }
}

TEST(StoredZip, HostileArchivesAreRefused) {
  const std::string& good = kTwo.bytes;
  const size_t one = kTwo.entries[0], two = kTwo.entries[1], end = kTwo.end;
  const size_t size = end - kTwo.directory;
  struct Case {
    std::string bytes;
    std::string message;
  };
  const Case cases[] = {
      {good + "x", "does not end with a directory"},
      {"x" + good, "does not end it"},
      {good + kTwo.bytes, "does not end it"},  // two archives, two directories
      {patched(good, end + kEndComment, u16(1)) + "x", "does not end with a directory"},
      {patched(good, end + kEndComment, u16(1)), "comment"},
      {patched(good, end + kEndDisk, u16(1)), "one part of several"},
      {patched(good, end + kEndHere, u16(1)), "one part of several"},
      {patched(good, end + kEndHere, u16(1) + u16(1)), "more records than it says"},
      {patched(good, end + kEndHere, u16(3) + u16(3)), "ends too early"},
      {patched(good, end + kEndHere, u16(0xffff) + u16(0xffff)), "ends too early"},
      {patched(good, end + kEndSize, u32(size - 1)), "does not end it"},
      {patched(good, end + kEndOffset, u32(0xffffffff)), "does not end it"},
      {patched(good, one, "PK\x03\x04"), "wrong entry"},
      {patched(good, one + kEntryFlags, u16(1)), "encrypted"},
      {patched(good, one + kEntryFlags, u16(1 << 13)), "encrypted"},
      {patched(good, one + kEntrySize, u32(1000000)), "two sizes"},
      {patched(good, one + kEntryPacked, u32(1000) + u32(1000)), "not where it should be"},
      {patched(good, one + kEntryPacked, u32(0xffffffff) + u32(0xffffffff)), "not where it should"},
      {patched(good, one + kEntryOffset, u32(1)), "not where it should be"},
      {patched(good, one + kEntryOffset, u32(0xfffffffe)), "not where it should be"},
      {patched(good, one + kEntryName, "a/two"), "two names"},
      {patched(good, kTwo.headers[0] + kHeaderName, "a/two"), "two names"},
      // Zip bombs: two entries that share one record, and a record that spans the next one.
      {patched(patched(good, two + kEntryOffset, u32(0)), two + kEntryName, "a/one"), "twice"},
      {patched(patched(good, one + kEntryPacked, u32(20) + u32(20)), 0, good.substr(0, 4)),
       "overlap"},
      {with_zip64(kTwo, 2, size, kTwo.directory + 1), "does not end it"},
      {with_zip64(kTwo, 2, size + 1, kTwo.directory), "does not end it"},
      {with_zip64(kTwo, 2, ~size_t{0}, ~size_t{0}), "does not end it"},
      {with_zip64(kTwo, 3, size, kTwo.directory), "disagree"},
      {patched(with_zip64(kTwo, 2, size, kTwo.directory), end + 56 + 8, u64(end + 1)),
       "not where it should be"},
      {patched(with_zip64(kTwo, 2, size, kTwo.directory), end + 56 + 16, u32(2)), "several"},
      {zip_of({{"../x", ""}}).bytes, "relative path"},
      {zip_of({{"/etc/x", ""}}).bytes, "relative path"},
      {zip_of({{"a/./x", ""}}).bytes, "relative path"},
      {zip_of({{"a//x", ""}}).bytes, "relative path"},
      {zip_of({{"a\\x", ""}}).bytes, "relative path"},
      {zip_of({{"a/x\0y"s, ""}}).bytes, "relative path"},
      {zip_of({{"", ""}}).bytes, "relative path"},
      {zip_of({{"a/x", "1"}, {"a/x", "2"}}).bytes, "twice"},
  };
  for (const Case& hostile : cases) {
    EXPECT_NE(refusal(hostile.bytes).find(hostile.message), std::string::npos)
        << "case " << &hostile - cases << ": " << refusal(hostile.bytes);
  }
}

TEST(StoredZip, RecordsSayHowTheyArePacked) {
  const std::string bytes = patched(patched(kTwo.bytes, kTwo.entries[0] + kEntryMethod, u16(8)),
                                    kTwo.entries[0] + kEntrySize, u32(77));
  const MemorySource source(bytes);
  const StoredZip zip(source);
  ASSERT_EQ(zip.records().size(), 2U);
  const StoredZip::Record& one = zip.records().at("a/one");
  EXPECT_EQ(one.method, StoredZip::kDeflated);
  EXPECT_EQ(one.size, 5U);
  EXPECT_EQ(one.unpacked_size, 77U);
  EXPECT_EQ(zip.records().at("a/two").unpacked_size, 6U);
}

TEST(StoredZip, ACompressedRecordIsRefusedWhenItIsAskedFor) {
  // A zip bomb: nine bytes that claim to expand to a gigabyte.
  const std::string bytes = patched(patched(kTwo.bytes, kTwo.entries[0] + kEntryMethod, u16(8)),
                                    kTwo.entries[0] + kEntrySize, u32(1 << 30));
  const MemorySource source(bytes);
  const StoredZip zip(source);
  EXPECT_TRUE(zip.contains("a/one"));
  EXPECT_THROW(zip.find("a/one"), Error);
  EXPECT_NE(zip.find("a/two"), nullptr);
}

// The directory of two records claims 2^60: the reader spends neither memory nor time on them.
TEST(StoredZip, AHugeCountCostsNothing) {
  const std::string bytes =
      with_zip64(kTwo, size_t{1} << 60, kTwo.end - kTwo.directory, kTwo.directory);
  const size_t plain_end = bytes.size() - 22;
  const std::string full = u16(0xffff) + u16(0xffff);
  EXPECT_NE(refusal(patched(bytes, plain_end + kEndHere, full)).find("ends too early"),
            std::string::npos);
}

}  // namespace
}  // namespace rtrain
