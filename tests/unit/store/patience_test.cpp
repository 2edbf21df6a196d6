#include "host/store/files/patience.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rtrain::store {
namespace {

class PatienceTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("RTRAIN_STORE_PATIENCE_S"); }

  Patience patience(const char* seconds) {
    setenv("RTRAIN_STORE_PATIENCE_S", seconds, 1);
    Patience out;
    out.set_on_waiting([this](const Error&) { ++outages; });
    return out;
  }

  const StorageError full{Code::kEnvironment, "no space", true};
  int calls = 0;
  int outages = 0;
};

TEST_F(PatienceTest, WaitsForWhatMayPass) {
  const Patience patient = patience("60");
  const auto third = [this] {
    if (++calls < 3) throw full;
    return calls;
  };
  EXPECT_EQ(patient(third), 3);
  EXPECT_EQ(outages, 1) << "one line for each outage";
}

TEST_F(PatienceTest, ThrowsTheRestAtOnce) {
  const Patience patient = patience("60");
  const auto fails = [this] {
    ++calls;
    throw StorageError(Code::kEnvironment, "read-only", false);
  };
  EXPECT_THROW(patient(fails), StorageError);
  EXPECT_EQ(calls, 1);
}

TEST_F(PatienceTest, CopiesShareAnOutage) {
  const Patience patient = patience("0.3");
  const auto fails = [this] {
    ++calls;
    throw full;
  };
  EXPECT_THROW(patient(fails), StorageError);
  EXPECT_GT(calls, 1);
  calls = 0;
  const Patience copy = patient;
  EXPECT_THROW(copy(fails), StorageError);
  EXPECT_EQ(calls, 1) << "the time is over";
  copy([] {});
  calls = 0;
  EXPECT_THROW(patient(fails), StorageError);
  EXPECT_GT(calls, 1) << "a new outage";
  EXPECT_EQ(outages, 2);
}

}  // namespace
}  // namespace rtrain::store
