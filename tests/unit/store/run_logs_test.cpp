// RunLogs: the lines of all ranks in order of time, also when they are read in small portions.
#include "host/store/read/logs/run_logs.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "host/base/files/log_file.h"
#include "host/base/text/text.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

class RunLogsTest : public ::testing::Test {
 protected:
  RunLogsTest() { std::filesystem::create_directories(temp / "logs/attempt-1"); }

  void print(int rank, std::string_view text, int64_t time_ms) {
    LogFile log(temp / cat("logs/attempt-1/rank-", rank, ".log"), 0);
    EXPECT_EQ(log.write(text, time_ms), 0);
  }

  // Calls each_new_line, which stops after `most` lines.
  bool read(RunLogs& logs, int most) {
    logs.find();
    return logs.each_new_line(
        true, [&](const RunLogLine& line) { seen += cat(line.rank, line.log.text, " "); },
        [&] { return --most > 0; });
  }

  TempFolder temp;
  const RunRef run{.run_id = "", .name = "mine", .path = temp.path()};
  std::string seen;
};

TEST_F(RunLogsTest, GoesOnWhereItWasStopped) {
  for (int64_t i = 0; i < 4; ++i) {
    print(0, cat("a", i, "\n"), 1000 + 10 * i);
    print(1, cat("b", i, "\n"), 1005 + 10 * i);
  }
  RunLogs logs(run, {});
  int calls = 1;
  while (!read(logs, 2)) ++calls;
  EXPECT_EQ(seen, "0a0 1b0 0a1 1b1 0a2 1b2 0a3 1b3 ");
  EXPECT_GT(calls, 3);
  print(1, "b4\n", 2000);
  seen.clear();
  while (!read(logs, 1)) ++calls;
  EXPECT_EQ(seen, "1b4 ");
}

TEST_F(RunLogsTest, StopsAmongLinesThatNobodyWants) {
  for (int64_t i = 0; i < 100; ++i) print(0, cat("a", i, "\n"), 1000 + i);
  RunLogs logs(run, {.matches = [](std::string_view line) { return line == "a77"; }});
  EXPECT_FALSE(read(logs, 50));
  EXPECT_EQ(seen, "");
  EXPECT_TRUE(read(logs, 200));
  EXPECT_EQ(seen, "0a77 ");
}

}  // namespace
}  // namespace rtrain::store
