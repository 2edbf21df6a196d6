#include "host/train/resources/resource_broker.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <future>
#include <set>
#include <string>
#include <vector>

#include "host/machine/leases/resource_settings.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/test_spec.h"

namespace rtrain::train {
namespace {

// A node with four cores.
class ResourceBrokerTest : public testing::Test {
 protected:
  ResourceBrokerTest() {
    chmod(folder_.path().c_str(), 0700);
    setenv("RTRAIN_RUNTIME_DIR", folder_.path().c_str(), 1);
    machine::set_cpus_setting(4);
    spec_.resource_notice_s = 1000;
  }
  ~ResourceBrokerTest() override {
    wait_for_io();
    broker_.reset();
    unsetenv("RTRAIN_RUNTIME_DIR");
  }

  void make(int min_workers, int max_workers) {
    spec_.min_workers = min_workers;
    spec_.max_workers = max_workers;
    broker_.emplace(spec_, loop_, io_, node::NodeFiles{},
                    [this](const std::string& text) { notices_ += text; });
  }
  void request() {
    granted_ = 0;
    broker_->request([this](int workers) { granted_ = workers; });
  }
  int request_and_wait() {
    request();
    run_until(loop_, [this] { return granted_ > 0; });
    return granted_;
  }
  int look() {
    int seen = -1;
    broker_->look([&seen](int workers) { seen = workers; });
    run_until(loop_, [&seen] { return seen >= 0; });
    return seen;
  }
  // Runs the loop until the broker waits in the lease table and has asked once more.
  void run_until_it_waits() {
    run_until(loop_, [] { return machine::read_lease_table().waiting.size() == 1; });
    settle();
  }
  void settle() {
    io_.post([this] { loop_.post([this] { loop_.stop(); }); });
    loop_.run();
  }
  void wait_for_io() {
    std::promise<void> idle;
    io_.post([&idle] { idle.set_value(); });
    idle.get_future().wait();
  }

  TempFolder folder_;
  RunSpec spec_ = test_spec("mine");
  loop::Loop loop_;
  std::string notices_;
  int granted_ = 0;
  std::optional<machine::NodeLease> other_{std::in_place, machine::LeaseHolder{"other", 999999999}};
  std::optional<ResourceBroker> broker_;
  loop::TaskThread io_{"io"};
};

TEST_F(ResourceBrokerTest, EveryWorkerGetsCoresOfItsOwn) {
  spec_.cpus_per_worker = 2;
  make(2, 2);
  EXPECT_EQ(request_and_wait(), 2);
  EXPECT_EQ(machine::read_lease_table().free(), 0);
  std::set<int> fds;
  for (int rank = 0; rank < 2; ++rank) {
    const node::WorkerPlace place = broker_->place(rank, 2);
    EXPECT_EQ(place.lease_fds.size(), 2U);
    fds.insert(place.lease_fds.begin(), place.lease_fds.end());
  }
  EXPECT_EQ(fds.size(), 4U);
  EXPECT_EQ(notices_, "");
}

TEST_F(ResourceBrokerTest, ARunWaitsForCoresAndSaysWhoHasThem) {
  ASSERT_TRUE(other_->try_take(3, 3));
  make(2, 2);
  request();
  run_until(loop_, [this] { return !notices_.empty(); });
  EXPECT_NE(notices_.find("waiting for 2 cores: 1 of 4 are free"), std::string::npos) << notices_;
  EXPECT_NE(notices_.find("'other' (pid 999999999, 3 cores)"), std::string::npos) << notices_;
  EXPECT_EQ(granted_, 0);
  other_.reset();
  run_until(loop_, [this] { return granted_ == 2; });
  const double waited_s = broker_->waited_s();
  EXPECT_GT(waited_s, 0);
  run_for(loop_, std::chrono::milliseconds(2));
  EXPECT_EQ(broker_->waited_s(), waited_s) << "it waits no longer";
}

TEST_F(ResourceBrokerTest, ACancelledRequestIsNotAnswered) {
  ASSERT_TRUE(other_->try_take(4, 4));
  make(1, 1);
  request();
  run_until_it_waits();
  broker_->cancel();
  other_.reset();
  run_for(loop_, std::chrono::milliseconds(150));
  EXPECT_EQ(granted_, 0);
  EXPECT_TRUE(machine::read_lease_table().held.empty());
}

TEST_F(ResourceBrokerTest, AnAnswerThatComesAfterTheCancelIsDropped) {
  make(1, 1);
  request();
  broker_->cancel();
  settle();
  EXPECT_EQ(granted_, 0);
}

TEST_F(ResourceBrokerTest, ARunOfFixedSizeKeepsWhatItHas) {
  make(2, 2);
  request_and_wait();
  machine::set_cpus_setting(0);
  request();
  EXPECT_EQ(granted_, 2) << "at once, and without asking";
  EXPECT_EQ(machine::read_lease_table().held.size(), 2U);
}

TEST_F(ResourceBrokerTest, AnElasticRunAsksAgainForEachAttempt) {
  ASSERT_TRUE(other_->try_take(2, 2));
  make(1, 4);
  EXPECT_EQ(request_and_wait(), 2);
  EXPECT_EQ(look(), 2);
  other_.reset();
  EXPECT_EQ(look(), 4) << "those that run included";
  EXPECT_EQ(machine::read_lease_table().held.size(), 2U) << "to look takes nothing";
  EXPECT_EQ(request_and_wait(), 4);
  EXPECT_EQ(machine::read_lease_table().held.size(), 4U);
}

TEST_F(ResourceBrokerTest, OversubscribingTakesNothingAndSaysWhoseCoresTheyAre) {
  ASSERT_TRUE(other_->try_take(4, 4));
  spec_.oversubscribe = true;
  make(2, 2);
  EXPECT_EQ(request_and_wait(), 2);
  EXPECT_NE(notices_.find("--oversubscribe"), std::string::npos) << notices_;
  EXPECT_NE(notices_.find("'other'"), std::string::npos) << notices_;
  EXPECT_EQ(machine::read_lease_table().shares().size(), 1U);
  EXPECT_TRUE(broker_->place(0, 2).lease_fds.empty());
}

TEST_F(ResourceBrokerTest, WithoutARuntimeFolderARunGoesOnWithoutLeases) {
  const std::string file = folder_.write("file", "");
  setenv("RTRAIN_RUNTIME_DIR", file.c_str(), 1);
  make(3, 3);
  EXPECT_EQ(request_and_wait(), 3);
  EXPECT_NE(notices_.find("cores are not shared with other runs"), std::string::npos) << notices_;
  notices_.clear();
  request();
  EXPECT_EQ(granted_, 3) << "the next attempt does not try again";
  EXPECT_EQ(notices_, "");
}

TEST_F(ResourceBrokerTest, MoreWorkersThanCoresShareThemWithANotice) {
  make(8, 8);
  EXPECT_EQ(request_and_wait(), 8);
  EXPECT_NE(notices_.find("8 workers share 4 cores"), std::string::npos) << notices_;
  EXPECT_EQ(broker_->place(7, 8).lease_fds, broker_->place(3, 8).lease_fds);
}

}  // namespace
}  // namespace rtrain::train
