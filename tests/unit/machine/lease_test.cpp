#include "host/machine/leases/lease.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>

#include "host/base/error.h"
#include "host/machine/leases/resource_settings.h"
#include "host/machine/machine.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::machine {
namespace {

// Uses a private runtime folder that offers this many cores.
class LeaseTest : public ::testing::Test {
 protected:
  LeaseTest() {
    chmod(folder_.path().c_str(), 0700);
    setenv("RTRAIN_RUNTIME_DIR", folder_.path().c_str(), 1);
    set_cpus_setting(4);
  }
  ~LeaseTest() override { unsetenv("RTRAIN_RUNTIME_DIR"); }

  static NodeLease lease(const char* run, int pid = 999999999) { return NodeLease({run, pid}); }

  TempFolder folder_;
};

TEST_F(LeaseTest, TakesAsManyAsItCanBetweenMinAndMax) {
  NodeLease a = lease("a");
  EXPECT_TRUE(a.try_take(1, 3));
  EXPECT_EQ(a.size(), 3);
  NodeLease b = lease("b");
  EXPECT_TRUE(b.try_take(1, 3));
  EXPECT_EQ(b.size(), 1);
  EXPECT_NE(b.cores()[0].core, a.cores()[0].core);
}

TEST_F(LeaseTest, AllOrNothing) {
  NodeLease a = lease("a");
  ASSERT_TRUE(a.try_take(3, 3));
  NodeLease b = lease("b");
  EXPECT_FALSE(b.try_take(2, 2));
  EXPECT_EQ(b.size(), 0);
  const LeaseTable table = read_lease_table();
  EXPECT_EQ(table.held.size(), 3U);
  EXPECT_EQ(table.held[0].holder, (LeaseHolder{"a", 999999999}));
  ASSERT_EQ(table.waiting.size(), 1U);
  EXPECT_EQ(table.waiting[0].run, "b");
}

TEST_F(LeaseTest, WhoCameFirstIsServedFirst) {
  auto a = std::make_unique<NodeLease>(lease("a"));
  ASSERT_TRUE(a->try_take(4, 4));
  NodeLease large = lease("large");
  NodeLease small = lease("small");
  EXPECT_FALSE(large.try_take(4, 4));
  EXPECT_FALSE(small.try_take(1, 1));
  a.reset();
  EXPECT_FALSE(small.try_take(1, 1)) << "the large one came earlier";
  EXPECT_TRUE(large.try_take(4, 4));
  EXPECT_FALSE(small.try_take(1, 1));
  EXPECT_TRUE(read_lease_table().waiting.size() == 1);
}

TEST_F(LeaseTest, TheDeadKeepNobodyWaiting) {
  NodeLease a = lease("a");
  ASSERT_TRUE(a.try_take(3, 3));
  {
    NodeLease dead = lease("dead");
    ASSERT_FALSE(dead.try_take(4, 4));
  }
  NodeLease b = lease("b");
  EXPECT_TRUE(b.try_take(1, 1));
  EXPECT_TRUE(read_lease_table().waiting.empty());
}

TEST_F(LeaseTest, AWaiterHasABetterRightThanARunThatGrows) {
  NodeLease a = lease("a");
  ASSERT_TRUE(a.try_take(1, 2));
  EXPECT_EQ(a.capacity().cores, 4);
  NodeLease b = lease("b");
  ASSERT_FALSE(b.try_take(3, 3));
  EXPECT_EQ(a.capacity().cores, 2);
  ASSERT_TRUE(a.try_take(1, 4));
  EXPECT_EQ(a.size(), 2) << "what it has";
}

TEST_F(LeaseTest, GrowsAndShrinksWithWhatIsOffered) {
  NodeLease a = lease("a");
  ASSERT_TRUE(a.try_take(1, 8));
  EXPECT_EQ(a.size(), 4);
  set_cpus_setting(2);
  EXPECT_EQ(a.capacity().cores, 2);
  ASSERT_TRUE(a.try_take(1, 8));
  EXPECT_EQ(a.size(), 2);
  set_cpus_setting(0);
  EXPECT_FALSE(a.try_take(1, 8));
  EXPECT_EQ(a.size(), 0) << "who waits holds nothing";
  set_cpus_setting(6);
  ASSERT_TRUE(a.try_take(1, 8));
  EXPECT_EQ(a.size(), 6);
  set_cpus_setting(std::nullopt);
  EXPECT_EQ(read_lease_table().offered, available_cores());
}

// Simulates a worker that outlives its controller: it has inherited the descriptor.
TEST_F(LeaseTest, ACoreIsFreeOnlyWhenItsLastUserIsGone) {
  auto a = std::make_unique<NodeLease>(lease("a"));
  ASSERT_TRUE(a->try_take(4, 4));
  const pid_t worker = fork();
  if (worker == 0) {
    pause();
    _exit(0);
  }
  a.reset();
  NodeLease b = lease("b");
  EXPECT_FALSE(b.try_take(1, 1));
  EXPECT_EQ(read_lease_table().held.size(), 4U);
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  EXPECT_TRUE(b.try_take(1, 1));
}

TEST_F(LeaseTest, ARunInsideARunWorksOnItsCores) {
  NodeLease outer = lease("outer", getppid());
  ASSERT_TRUE(outer.try_take(4, 4));
  NodeLease inner = lease("inner", getpid());
  EXPECT_TRUE(inner.try_take(4, 4)) << "else both would wait for ever";
  EXPECT_TRUE(inner.is_borrowed());
  EXPECT_EQ(inner.size(), 0);
}

// A run on the devices "x" and "y" that requests fractions of this size.
class GpuRun {
 public:
  GpuRun(const char* run, int cores, std::vector<int> shares)
      : lease_({run, 999999999}, {"x", "y"}), cores_(cores), shares_(std::move(shares)) {}

  bool try_take() {
    return lease_.try_take([&](const LeaseCapacity& capacity) -> std::optional<LeaseRequest> {
      if (capacity.cores < cores_) return std::nullopt;
      LeaseRequest request{cores_, {}};
      std::vector<int> left = capacity.gpus;
      for (const int share : shares_) {
        const auto at =
            std::find_if(left.begin(), left.end(), [&](int free) { return free >= share; });
        if (at == left.end()) return std::nullopt;
        *at -= share;
        request.gpus.push_back({static_cast<int>(at - left.begin()), share});
      }
      return request;
    });
  }
  const NodeLease& operator*() const { return lease_; }

 private:
  NodeLease lease_;
  int cores_;
  std::vector<int> shares_;
};

TEST_F(LeaseTest, DevicesAreTakenWholeOrInParts) {
  GpuRun whole("whole", 1, {1000});
  ASSERT_TRUE(whole.try_take());
  GpuRun halves("halves", 1, {500, 500});
  ASSERT_TRUE(halves.try_take());
  EXPECT_EQ((*halves).gpu_fds().size(), 2U);
  const LeaseTable table = read_lease_table();
  ASSERT_EQ(table.gpus.size(), 3U);
  EXPECT_EQ(table.gpus[1].uuid, "y");
  EXPECT_EQ(table.gpus[1].share, 500);
  EXPECT_EQ(table.shares()[1].gpus.size(), 2U);
  GpuRun more("more", 1, {1});
  EXPECT_FALSE(more.try_take());
  EXPECT_EQ((*whole).capacity().gpus, (std::vector<int>{1000, 0})) << "its own is capacity too";
}

TEST_F(LeaseTest, WhoWaitsForADeviceHoldsNoCoresAndIsOvertakenByRunsWithoutOne) {
  GpuRun first("first", 1, {1000, 1000});
  ASSERT_TRUE(first.try_take());
  GpuRun second("second", 2, {1000});
  EXPECT_FALSE(second.try_take());
  EXPECT_EQ((*second).size(), 0);
  NodeLease plain = lease("plain");
  EXPECT_TRUE(plain.try_take(3, 3)) << "the cores that are left do not help the second run";
}

TEST_F(LeaseTest, WhoWaitsForCoresTooIsNotOvertaken) {
  GpuRun first("first", 3, {1000});
  ASSERT_TRUE(first.try_take());
  GpuRun second("second", 2, {1000});
  EXPECT_FALSE(second.try_take());
  NodeLease plain = lease("plain");
  EXPECT_FALSE(plain.try_take(1, 1));
  GpuRun third("third", 0, {1000});
  EXPECT_FALSE(third.try_take()) << "the second came earlier for a device";
}

TEST_F(LeaseTest, ADeviceIsFreeOnlyWhenItsLastUserIsGone) {
  auto a = std::make_unique<GpuRun>("a", 1, std::vector{1000, 1000});
  ASSERT_TRUE(a->try_take());
  const pid_t worker = fork();
  if (worker == 0) {
    pause();
    _exit(0);
  }
  a.reset();
  GpuRun b("b", 1, {1});
  EXPECT_FALSE(b.try_take());
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  EXPECT_TRUE(b.try_take());
}

TEST_F(LeaseTest, ADamagedSettingIsNamed) {
  std::ofstream(folder_ / "resources.json") << "{\"cpus\": ";
  try {
    read_lease_table();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kEnvironment);
    EXPECT_NE(e.message().find("rtrain resources --set"), std::string::npos);
  }
}

// Runs take and give back cores in random order. Two of them need three of four cores each: if
// cores were taken one by one, both could hold two and wait forever.
TEST_F(LeaseTest, RunsNeverWaitForEachOtherInACircle) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::map<int, std::unique_ptr<NodeLease>> waiting;
    for (int run = 0; run < 3; ++run) {
      waiting[run] = std::make_unique<NodeLease>(lease("run"));
    }
    int turns = 0;
    while (!waiting.empty()) {
      ASSERT_LT(++turns, 1000) << "nobody gets on";
      auto at = std::next(waiting.begin(), random() % waiting.size());
      if (at->second->try_take(3, 4)) waiting.erase(at);
      EXPECT_LE(read_lease_table().held.size(), 4U);
    }
  }
}

}  // namespace
}  // namespace rtrain::machine
