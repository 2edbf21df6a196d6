// WandbLog: the file's records, read by a reader of the format that knows nothing of it.
#include "host/track/wandb_log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "host/base/codec/protobuf.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::track {
namespace {

uint32_t crc32_of(std::string_view bytes) {
  uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes) {
    sum ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320U : 0);
  }
  return ~sum;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The records of a file in blocks of 32 KiB.
std::vector<std::string> records_of(const std::string& bytes) {
  constexpr size_t kBlock = 32768;
  EXPECT_EQ(bytes.substr(0, 7), std::string(":W&B\xE1\xBE\0", 7));
  std::vector<std::string> out;
  std::string open;
  for (size_t at = 7; at < bytes.size();) {
    const size_t left = kBlock - at % kBlock;
    if (left < 7) {
      at += left;
      continue;
    }
    const size_t size = little_endian<uint16_t>(std::string_view(bytes).substr(at + 4));
    const char type = bytes[at + 6];
    EXPECT_LE(7 + size, left);
    EXPECT_EQ(little_endian<uint32_t>(std::string_view(bytes).substr(at)),
              crc32_of(bytes.substr(at + 6, 1 + size)));
    EXPECT_EQ(open.empty(), type == 1 || type == 2);
    open += bytes.substr(at + 7, size);
    if (type == 1 || type == 4) {
      out.push_back(open);
      open.clear();
    }
    at += 7 + size;
  }
  EXPECT_TRUE(open.empty());
  return out;
}

TEST(WandbLog, RecordsOfAllSizesAtAllPlacesOfABlock) {
  const TempFolder folder;
  std::vector<std::string> records;
  for (const size_t size : {1, 32747, 3, 32761, 32754, 32768, 100'000, 5, 32740, 20, 1}) {
    records.emplace_back(size, static_cast<char>('a' + records.size()));
  }
  WandbLog log(folder / "run.wandb", 0);
  for (const std::string& record : records) log.add(record);
  const int64_t size = log.flush();
  const std::string bytes = file_text(folder / "run.wandb");
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), size);
  EXPECT_EQ(records_of(bytes), records);
}

TEST(WandbLog, AnotherObjectDropsWhatCameLaterAndGoesOn) {
  const TempFolder folder;
  int64_t size = 0;
  {
    WandbLog log(folder / "run.wandb", 0);
    log.add("first");
    size = log.flush();
    log.add("half");
    log.flush();
  }
  WandbLog log(folder / "run.wandb", size);
  log.add("second");
  log.flush();
  EXPECT_EQ(records_of(file_text(folder / "run.wandb")),
            (std::vector<std::string>{"first", "second"}));
}

}  // namespace
}  // namespace rtrain::track
