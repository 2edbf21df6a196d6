#include "host/base/fault.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "host/base/error.h"
#include "host/base/text/text.h"

#ifndef RTRAIN_NO_FAULT_POINTS

namespace rtrain {
namespace {

// Clears the fault plan after each test.
class Fault : public ::testing::Test {
 protected:
  ~Fault() override {
    set_fault_plan("");
    set_fault_process(-1);
    set_fault_attempt(0);
  }

  static bool throws_at_rename() {
    try {
      fault_point("ckpt.rename");
      return false;
    } catch (const Error&) {
      return true;
    }
  }
};

TEST_F(Fault, PointsAreSortedAndExplained) {
  EXPECT_TRUE(std::ranges::is_sorted(kFaultPoints, {}, &FaultPointInfo::name));
  for (const FaultPointInfo& point : kFaultPoints) EXPECT_FALSE(point.place.empty()) << point.name;
}

TEST_F(Fault, HappensAtTheNthTimeOnly) {
  set_fault_plan("ckpt.rename:2:throw");
  EXPECT_FALSE(throws_at_rename());
  EXPECT_TRUE(throws_at_rename());
  EXPECT_FALSE(throws_at_rename());
}

TEST_F(Fault, HappensFromTheNthTimeOn) {
  set_fault_plan("ckpt.rename:2+:throw");
  EXPECT_FALSE(throws_at_rename());
  EXPECT_TRUE(throws_at_rename());
  EXPECT_TRUE(throws_at_rename());
}

TEST_F(Fault, APatternCountsAllItsPointsTogether) {
  set_fault_plan("ckpt.*:3:throw");
  fault_point("ckpt.merge");
  fault_point("db.commit");
  fault_point("ckpt.manifest");
  EXPECT_TRUE(throws_at_rename());
}

TEST_F(Fault, NamesTheReasonOfAnErrno) {
  set_fault_plan("ckpt.rename:1:errno=ENOSPC");
  try {
    fault_point("ckpt.rename");
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kEnvironment);
    EXPECT_EQ(e.message(), "fault point ckpt.rename: No space left on device");
  }
}

TEST_F(Fault, FiltersChooseTheProcess) {
  set_fault_plan("ckpt.rename:1+:throw:rank=1:attempt=2");
  set_fault_process(1);
  EXPECT_FALSE(throws_at_rename()) << "the attempt is not known yet";
  set_fault_attempt(2);
  EXPECT_TRUE(throws_at_rename());
  set_fault_process(0);
  EXPECT_FALSE(throws_at_rename());
  set_fault_plan("ckpt.rename:1+:throw:controller");
  EXPECT_FALSE(throws_at_rename());
  set_fault_process(-1);
  EXPECT_TRUE(throws_at_rename());
}

TEST_F(Fault, SignalsAndExitsEndTheProcess) {
  const auto reach = [](const char* action) {
    set_fault_plan(cat("ckpt.rename:1:", action));
    fault_point("ckpt.rename");
  };
  EXPECT_EXIT(reach("kill"), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(reach("abort"), ::testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(reach("exit"), ::testing::ExitedWithCode(0), "");
}

TEST_F(Fault, RefusesWhatItCannotUnderstand) {
  for (const char* text :
       {"ckpt.renam:1:kill", "ckpt.rename", "ckpt.rename:x:kill", "ckpt.rename:1:explode",
        "ckpt.rename:1:errno=ENOTHING", "ckpt.rename:1:sleep=soon", "ckpt.rename:1:kill:rank",
        "ckpt.rename:1:kill:host=2", "db.commit:1:kill,nothing.*:1:kill"}) {
    EXPECT_THROW(set_fault_plan(text), Error) << text;
  }
}

}  // namespace
}  // namespace rtrain

#endif
