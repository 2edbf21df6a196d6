#include "host/store/runs/report_spool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "host/base/error.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

class ReportSpoolTest : public ::testing::Test {
 protected:
  ReportSpoolTest() { setenv("RTRAIN_RUNTIME_DIR", (temp_ / "runtime").c_str(), 1); }
  ~ReportSpoolTest() override { unsetenv("RTRAIN_RUNTIME_DIR"); }

  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const SpooledReport& each : read_spools(folder_)) {
      out.push_back(std::to_string(each.attempt) + "-" + std::to_string(each.rank) + ": " +
                    each.report);
    }
    return out;
  }
  uint64_t size_bytes() const {
    uint64_t out = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) out += entry.file_size();
    return out;
  }

  TempFolder temp_;
  std::string folder_ = temp_ / "spool/run-1";
};

TEST_F(ReportSpoolTest, WhatWasAddedIsThereForTheNextProcess) {
  {
    ReportSpool first(folder_, 1, 2);
    first.add(0, "a");
    first.add(1, "b");
    ReportSpool(folder_, 2, 0).add(2, "c");
  }
  EXPECT_EQ(texts(), (std::vector<std::string>{"1-2: a", "1-2: b", "2-0: c"}));
  EXPECT_EQ(sync_spools(folder_), "");
}

TEST_F(ReportSpoolTest, ItIsBelowTheRuntimeFolderOfTheUserAlone) {
  ReportSpool(spool_folder("run-2"), 1, 0).add(0, "a");
  const std::string path = temp_ / "runtime/spool/run-2";
  EXPECT_EQ(read_spools(path).size(), 1u);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
}

TEST_F(ReportSpoolTest, NothingIsThereWithoutAFolder) {
  EXPECT_TRUE(read_spools(folder_).empty());
  EXPECT_EQ(sync_spools(folder_), "");
  remove_spools(folder_, 1);
}

TEST_F(ReportSpoolTest, WhatTheControllerHasMakesRoom) {
  ReportSpool spool(folder_, 1, 0);
  const std::string report(1000, 'x');
  for (int64_t index = 0; index < 10000; ++index) {
    spool.add(index, report);
    spool.acknowledge(index);
  }
  EXPECT_LT(size_bytes(), 1u << 20);
}

TEST_F(ReportSpoolTest, WhatTheControllerLacksStays) {
  ReportSpool spool(folder_, 1, 0);
  const std::string report(1000, 'x');
  for (int64_t index = 0; index < 2000; ++index) spool.add(index, report);
  spool.acknowledge(1500);
  for (int64_t index = 2000; index < 4000; ++index) spool.add(index, report);
  EXPECT_GE(read_spools(folder_).size(), 2500u);
}

TEST_F(ReportSpoolTest, ARecordThatIsNotWholeEndsAFile) {
  ReportSpool(folder_, 1, 0).add(0, "whole");
  const std::string path = folder_ + "/1-0.0";
  const auto size = fs::file_size(path);
  for (const std::string& end :
       {std::string(3, 'x'), std::string(40, 'x'), std::string(40, '\0')}) {
    fs::resize_file(path, size);
    std::ofstream(path, std::ios::app) << end;
    EXPECT_EQ(texts(), std::vector<std::string>{"1-0: whole"});
  }
  fs::resize_file(path, size - 1);
  EXPECT_TRUE(texts().empty());
}

TEST_F(ReportSpoolTest, WhatIsNoSpoolIsPassedOver) {
  ReportSpool(folder_, 1, 0).add(0, "a");
  for (const char* name : {"notes", "1-0", "1-0.x", "-1.0", "1-0.0.bak", "99999999999-0.0"}) {
    std::ofstream(folder_ + "/" + name) << "text";
  }
  EXPECT_EQ(texts().size(), 1u);
}

TEST_F(ReportSpoolTest, OnlyEarlierAttemptsAreRemoved) {
  ReportSpool(folder_, 1, 0).add(0, "a");
  ReportSpool(folder_, 2, 0).add(0, "b");
  remove_spools(folder_, 2);
  EXPECT_EQ(texts(), std::vector<std::string>{"2-0: b"});
  remove_spools(folder_, 3);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(ReportSpoolTest, WhatIsRemovedWhileItIsSyncedIsNoProblem) {
  std::atomic<bool> has_ended = false;
  std::thread run([&] {
    for (int i = 0; i < 500; ++i) {
      ReportSpool(folder_, 1, 0).add(0, "a");
      remove_spools(folder_, 2);
    }
    has_ended = true;
  });
  std::set<std::string> problems;
  while (!has_ended) problems.insert(sync_spools(folder_));
  run.join();
  problems.erase("");
  EXPECT_EQ(problems, std::set<std::string>());
}

TEST_F(ReportSpoolTest, AFolderThatCannotBeWrittenIsNamed) {
  temp_.write("spool", "a file");
  try {
    ReportSpool(folder_, 1, 0);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kEnvironment);
    EXPECT_NE(e.message().find(folder_), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace rtrain::store
