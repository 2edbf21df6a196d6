#include "host/base/log_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "host/base/text.h"
#include "host/store/file.h"
#include "host/store/log_reader.h"
#include "tests/unit/temp_folder.h"

namespace rtrain {
namespace {

namespace fs = std::filesystem;

class LogFileTest : public ::testing::Test {
 protected:
  void add(LogFile& log, std::string_view bytes) {
    EXPECT_EQ(log.write(bytes), 0);
    EXPECT_EQ(bytes, "");
  }
  std::vector<std::string> lines(LogReader& reader, bool at_end = true) {
    std::vector<std::string> out;
    reader.read(at_end, [&out](std::string_view line) { out.emplace_back(line); });
    return out;
  }

  TempFolder temp;
  std::string path = temp / "rank-0.log";
};

using Lines = std::vector<std::string>;

TEST_F(LogFileTest, APartEndsWithALineAndTheOldestGoes) {
  LogFile log(path, 20);
  add(log, "aaa\nbbb\nccc\n");
  EXPECT_EQ(read_text(path + ".1"), "aaa\nbbb\n");
  EXPECT_EQ(read_text(path), "ccc\n");
  add(log, "dddddd\n");
  EXPECT_FALSE(fs::exists(path + ".1"));
  EXPECT_EQ(read_text(path + ".2"), "ccc\n");
  add(log, "a line longer than a part");
  EXPECT_EQ(read_text(path + ".5"), "ger than a");
  EXPECT_EQ(read_text(path), " part");
}

TEST_F(LogFileTest, AnotherWriterGoesOnWithTheSamePart) {
  {
    LogFile log(path, 20);
    add(log, "aaa\nbbb\n");
  }
  LogFile log(path, 20);
  add(log, "ccc\n");
  EXPECT_EQ(read_text(path + ".1"), "aaa\nbbb\n");
  EXPECT_EQ(read_text(path), "ccc\n");
}

TEST_F(LogFileTest, WithoutALimitThereIsOnePart) {
  LogFile log(path, 0);
  for (int i = 0; i < 1000; ++i) add(log, "line\n");
  EXPECT_EQ(fs::file_size(path), 5000u);
  EXPECT_EQ(last_log_part(path), 0);
}

TEST_F(LogFileTest, WhatCouldNotBeWrittenIsLeftInTheBytes) {
  LogFile log("/dev/full", 0);
  std::string_view bytes = "line\n";
  EXPECT_EQ(log.write(bytes), ENOSPC);
  EXPECT_EQ(bytes, "line\n");
}

TEST_F(LogFileTest, AReaderFollowsTheParts) {
  LogFile log(path, 20);
  add(log, "aaa\nbb");
  LogReader reader(path);
  EXPECT_EQ(lines(reader, false), Lines{"aaa"});
  add(log, "b\nccc\nddd\n");
  EXPECT_EQ(lines(reader, false), (Lines{"bbb", "ccc", "ddd"}));
  add(log, "e");
  EXPECT_EQ(lines(reader), Lines{"e"});
  EXPECT_FALSE(reader.lost_lines());
  LogReader second(path);
  EXPECT_EQ(second.lost_lines(), last_log_part(path) > 1);
}

}  // namespace
}  // namespace rtrain
