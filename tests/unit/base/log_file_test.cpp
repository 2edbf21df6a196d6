#include "host/base/files/log_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "host/base/text/text.h"
#include "host/store/files/file.h"
#include "host/store/read/logs/log_reader.h"
#include "tests/unit/temp_folder.h"

namespace rtrain {
namespace {

namespace fs = std::filesystem;

class LogFileTest : public ::testing::Test {
 protected:
  void add(LogFile& log, std::string_view bytes, int64_t time_ms = 1000) {
    EXPECT_EQ(log.write(bytes, time_ms), 0);
    EXPECT_EQ(bytes, "");
  }
  std::vector<std::string> lines(store::LogReader& reader, bool at_end = true) {
    std::vector<std::string> out;
    while (const auto line = reader.next(at_end)) out.emplace_back(line->text);
    return out;
  }

  TempFolder temp;
  std::string path = temp / "rank-0.log";
};

using Lines = std::vector<std::string>;

TEST_F(LogFileTest, APartEndsWithALineAndTheOldestGoes) {
  LogFile log(path, 20);
  add(log, "aaa\nbbb\nccc\n");
  EXPECT_EQ(store::read_text(path + ".1"), "aaa\nbbb\n");
  EXPECT_EQ(store::read_text(path), "ccc\n");
  add(log, "dddddd\n");
  EXPECT_FALSE(fs::exists(path + ".1"));
  EXPECT_EQ(store::read_text(path + ".2"), "ccc\n");
  add(log, "a line longer than a part");
  EXPECT_EQ(store::read_text(path + ".5"), "ger than a");
  EXPECT_EQ(store::read_text(path), " part");
}

TEST_F(LogFileTest, AnotherWriterGoesOnWithTheSamePart) {
  {
    LogFile log(path, 20);
    add(log, "aaa\nbbb\n");
  }
  LogFile log(path, 20);
  add(log, "ccc\n");
  EXPECT_EQ(store::read_text(path + ".1"), "aaa\nbbb\n");
  EXPECT_EQ(store::read_text(path), "ccc\n");
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
  EXPECT_EQ(log.write(bytes, 1000), ENOSPC);
  EXPECT_EQ(bytes, "line\n");
}

TEST_F(LogFileTest, AReaderFollowsTheParts) {
  LogFile log(path, 20);
  add(log, "aaa\nbb");
  store::LogReader reader(temp.path(), path);
  EXPECT_EQ(lines(reader, false), Lines{"aaa"});
  add(log, "b\nccc\nddd\n");
  EXPECT_EQ(lines(reader, false), (Lines{"bbb", "ccc", "ddd"}));
  add(log, "e");
  EXPECT_EQ(lines(reader), Lines{"e"});
  EXPECT_FALSE(reader.lost_lines());
  store::LogReader second(temp.path(), path);
  EXPECT_EQ(second.lost_lines(), last_log_part(path) > 1);
}

TEST_F(LogFileTest, ALineHasTheTimeOfItsEnd) {
  LogFile log(path, 20);
  add(log, "aaa\nbb", 1000);
  add(log, "b\n", 1300);
  add(log, "ccc\nddd\n", 5000);  // the next part
  {
    LogFile other(path, 20);
    add(other, "e", 4000);  // the clock was set back
  }
  store::LogReader reader(temp.path(), path);
  std::vector<int64_t> times;
  while (const auto line = reader.next(true)) times.push_back(line->time_ms);
  EXPECT_EQ(times, (std::vector<int64_t>{1000, 1300, 5000, 5000, 4000}));
  add(log, "eeeeeeeee\n", 6000);
  EXPECT_TRUE(fs::exists(temp / "rank-0.times.2"));
  EXPECT_FALSE(fs::exists(temp / "rank-0.times.1"));
}

TEST_F(LogFileTest, ALogWithoutTimesIsReadAll) {
  LogFile log(path, 0);
  add(log, "aaa\nbbb\n");
  fs::remove(temp / "rank-0.times");
  store::LogReader reader(temp.path(), path);
  EXPECT_EQ(reader.next(true)->time_ms, 0);
  EXPECT_EQ(lines(reader), Lines{"bbb"});
}

TEST_F(LogFileTest, TheLastLinesAreReadFromTheEnd) {
  LogFile log(path, 600000);
  for (int i = 0; i < 60000; ++i) add(log, cat("line ", i, "\n"), 1000 + i);
  for (const int64_t most : {1, 2, 3, 100}) {
    store::LogReader reader(temp.path(), path);
    reader.skip_to_last(most);
    int64_t count = 0;
    int64_t last_ms = 0;
    std::string text;
    int64_t first_ms = 0;
    while (const auto line = reader.next(true)) {
      if (count++ == 0) first_ms = line->time_ms - 1000;
      text = line->text;
      last_ms = line->time_ms;
    }
    EXPECT_EQ(text, "line 59999");
    EXPECT_EQ(last_ms, 60999);
    EXPECT_GE(count, most);
    EXPECT_EQ(first_ms, 60000 - count) << "whole lines with their times";
    EXPECT_TRUE(most > 2 || count < 30000) << count;
  }
}

TEST_F(LogFileTest, LongLinesAreCountedFromTheEndAsTheyAreRead) {
  LogFile log(path, 0);
  for (int i = 0; i < 5; ++i) add(log, std::string(200000, 'a') + "\n");
  store::LogReader all(temp.path(), path);
  store::LogReader tail(temp.path(), path);
  tail.skip_to_last(4);
  const Lines whole = lines(all);
  const Lines last = lines(tail);
  ASSERT_GE(last.size(), 4U);
  EXPECT_LT(last.size(), whole.size());
}

}  // namespace
}  // namespace rtrain
