#include "host/node/health/node_checks.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>

#include "host/base/text/text.h"
#include "host/loop/timer.h"
#include "host/machine/processes/open_files.h"
#include "host/node/health/echo_client.h"
#include "host/node/health/echo_server.h"
#include "host/node/health/link_watch.h"
#include "host/node/health/timed_check.h"
#include "host/wire/socket_address.h"
#include "tests/unit/no_more_files.h"

namespace rtrain::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLong{20};
const std::string kKey(kEchoKeyBytes, 'k');

// A loop that stops at the test's deadline.
class Checks : public ::testing::Test {
 protected:
  Checks() : deadline_(loop_, [this] { loop_.stop(); }) { deadline_.start(kLong); }
  void run() {
    loop_.run();
    deadline_.stop();
  }

  loop::Loop loop_;
  loop::Timer deadline_;
};

// An echo server with its own loop.
class Echo {
 public:
  Echo() : server_(std::in_place, loop_, "127.0.0.1", 0, kKey), port_(server_->port()) {
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Echo() {
    loop_.post([this] {
      server_.reset();
      loop_.stop();
    });
    thread_.join();
  }
  EchoAddress address() const { return {"127.0.0.1", port_, kKey}; }

 private:
  loop::Loop loop_;
  std::optional<EchoServer> server_;
  int port_;
  std::thread thread_;
};

TEST_F(Checks, AnEchoServerTakesAnotherPortWhereItsOwnIsInUse) {
  const EchoServer first(loop_, "127.0.0.1", 0, kKey);
  const EchoServer second(loop_, "127.0.0.1", first.port(), kKey);
  EXPECT_NE(second.port(), 0);
  EXPECT_NE(second.port(), first.port());
}

TEST_F(Checks, ATimedCheckTellsWhatItsWorkHasFound) {
  CheckOutcome outcome;
  const TimedCheck check(
      loop_, [] { return std::string("broken"); }, kLong,
      [&](const CheckOutcome& found) {
        outcome = found;
        loop_.stop();
      });
  run();
  EXPECT_EQ(outcome.problem, "broken");
  EXPECT_TRUE(outcome.is_over);
}

TEST_F(Checks, ATimedCheckDoesNotWaitForWorkThatHangs) {
  CheckOutcome outcome;
  const auto hangs = [] {
    std::this_thread::sleep_for(std::chrono::hours(1));
    return std::string();
  };
  const TimedCheck check(loop_, hangs, milliseconds(20), [&](const CheckOutcome& found) {
    outcome = found;
    loop_.stop();
  });
  run();
  EXPECT_EQ(outcome.problem, "no answer within 0.02 s");
  EXPECT_FALSE(outcome.is_over);
}

TEST(NodeChecks, StorageThatWritesIsFineAndLeftAsItWas) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "checks";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(storage_problem(folder), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
  const std::string problem = storage_problem(folder);
  EXPECT_NE(problem.find("cannot create"), std::string::npos) << problem;
}

TEST(NodeChecks, AFullDiskIsNoFaultOfTheNode) {
  EXPECT_TRUE(is_disk_fault(cat("cannot write /x: ", std::strerror(EIO))));
  EXPECT_TRUE(is_disk_fault(cat("cannot create /x: ", std::strerror(EROFS))));
  EXPECT_FALSE(is_disk_fault(cat("cannot write /x: ", std::strerror(ENOSPC))));
  EXPECT_FALSE(is_disk_fault(cat("cannot write /x: ", std::strerror(EDQUOT))));
}

// A process without free descriptors proves nothing about the disk or the other node.
TEST(NodeChecks, ALackOfDescriptorsIsNoFaultOfAnybody) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the undefined behaviour sanitizer looks at an object's type through a pipe";
#endif
  const std::string lack = std::strerror(EMFILE);
  EXPECT_FALSE(is_disk_fault(cat("cannot create /x: ", lack)));
  const Echo echo;
  std::optional<NoMoreFiles> without_files(std::in_place);
  const std::string problem = exchange_problem(echo.address(), 64, kLong);
  without_files.reset();
  EXPECT_TRUE(problem.ends_with(lack)) << problem;
  EXPECT_TRUE(is_lack(problem));
  const std::string refused = cat("cannot connect to 10.0.0.7:4000: ", std::strerror(ECONNREFUSED));
  EXPECT_FALSE(is_lack(refused));
  EXPECT_TRUE(is_refusal(refused));
  EXPECT_FALSE(is_refusal(problem));
}

int num_open_files() {
  const auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<int>(std::distance(begin(files), end(files)));
}

TEST(NodeChecks, StrangersTakeAFewDescriptorsAndKeepNobodyOut) {
  const Echo echo;
  const int before = num_open_files();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const int pid = fork();
  if (pid == 0) {
    const auto address = wire::SocketAddress::parse("127.0.0.1", echo.address().port);
    const machine::FileReserve files(1000);
    for (int i = 0; i < 900; ++i) {
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      if (connect(fd, address->get(), address->size()) != 0) _exit(1);
    }
    if (write(ready[1], "", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(exchange_problem(echo.address(), 1000, kLong), "");
  EXPECT_LE(num_open_files() - before, 300);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  for (const int fd : ready) close(fd);
}

TEST(NodeChecks, AMegabyteComesBack) {
  const Echo echo;
  EXPECT_EQ(exchange_problem(echo.address(), kMostEchoBytes, kLong), "");
  EchoClient client(echo.address(), kLong);
  for (int i = 0; i < 3; ++i) {
    client.send(64, kLong);
    EXPECT_TRUE(client.receive(kLong));
  }
}

TEST(NodeChecks, WhoHasAnotherKeyIsCutOff) {
  const Echo echo;
  EchoAddress stranger = echo.address();
  stranger.key = std::string(kEchoKeyBytes, 'x');
  EXPECT_NE(exchange_problem(stranger, 64, kLong), "");
}

TEST(NodeChecks, MoreThanAMegabyteIsRefused) {
  const Echo echo;
  EXPECT_NE(exchange_problem(echo.address(), kMostEchoBytes + 1, kLong), "");
}

TEST(NodeChecks, NobodyAtTheOtherEndIsSaid) {
  EchoAddress gone;
  {
    const Echo echo;
    gone = echo.address();
  }
  EXPECT_NE(exchange_problem(gone, 64, kLong).find("cannot connect to 127.0.0.1:"),
            std::string::npos);
}

TEST_F(Checks, AGoodLinkHasAnswersAndAClosedOneIsSilent) {
  std::optional<Echo> echo(std::in_place);
  LinkState answered;
  LinkState silent;
  const LinkWatch watch(loop_, echo->address(), [&](const LinkState& state) {
    if (state.silent_s == 0) {
      answered = state;
      if (state.num_answers == 2) echo.reset();
    } else if (answered.num_answers >= 2) {
      silent = state;
      loop_.stop();
    }
  });
  run();
  EXPECT_GE(answered.num_answers, 2);
  EXPECT_GT(silent.silent_s, 0);
}

}  // namespace
}  // namespace rtrain::node
