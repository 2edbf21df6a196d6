#include "host/loop/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>

#include "host/base/error.h"
#include "host/base/text/line_splitter.h"
#include "host/loop/pipe_reader.h"
#include "host/loop/processes/process.h"
#include "host/loop/signal.h"
#include "host/loop/task_thread.h"
#include "host/loop/timer.h"

namespace rtrain::loop {
namespace {

TEST(Loop, RunsPostedTasksInOrderFromAnyThread) {
  Loop loop;
  std::vector<int> seen;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) loop.post([&seen, i] { seen.push_back(i); });
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  other.join();
  ASSERT_EQ(seen.size(), 100U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST(Loop, AnExceptionOfACallbackComesOutOfRun) {
  Loop loop;
  Timer timer(loop, [] { throw Error(Code::kInternal, "from a timer"); });
  timer.start(std::chrono::milliseconds(0));
  EXPECT_THROW(loop.run(), Error);
}

TEST(Loop, AStoppedTimerDoesNotFire) {
  Loop loop;
  bool fired = false;
  Timer stopped(loop, [&] { fired = true; });
  Timer last(loop, [&] { loop.stop(); });
  stopped.start(std::chrono::milliseconds(0));
  stopped.stop();
  last.start(std::chrono::milliseconds(5));
  loop.run();
  EXPECT_FALSE(fired);
}

TEST(Loop, ATimerMayDestroyItself) {
  Loop loop;
  std::optional<Timer> timer;
  timer.emplace(loop, [&] {
    timer.reset();
    loop.stop();
  });
  timer->start(std::chrono::milliseconds(0));
  loop.run();
  EXPECT_FALSE(timer);
}

TEST(Loop, SignalsBecomeCallbacksAndWhatWasThereComesBack) {
  Loop loop;
  struct sigaction before {};
  before.sa_handler = [](int) {};
  sigaction(SIGUSR1, &before, nullptr);
  {
    Signal signal(loop, SIGUSR1, [&] { loop.stop(); });
    raise(SIGUSR1);
    loop.run();
  }
  struct sigaction now {};
  sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, before.sa_handler);
  std::signal(SIGUSR1, SIG_DFL);
}

TEST(TaskThread, RunsEverythingBeforeItEnds) {
  int count = 0;
  {
    TaskThread thread("test");
    for (int i = 0; i < 1000; ++i) thread.post([&count] { ++count; });
  }
  EXPECT_EQ(count, 1000);
}

class ProcessTest : public ::testing::Test {
 protected:
  // Runs the shell command to its end and captures its output through a pipe.
  ExitStatus run_shell(const std::string& command,
                       std::vector<std::pair<std::string, std::string>> env = {}) {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    ProcessOptions options;
    options.file = "/bin/sh";
    options.args = {"sh", "-c", command};
    options.env = std::move(env);
    options.descriptors = {fds[1]};
    std::optional<ExitStatus> out;
    LineSplitter lines;
    PipeReader reader(loop_, fds[0], [&](std::string_view bytes) {
      for (std::string& line : lines.add(bytes)) lines_.push_back(std::move(line));
    });
    Process process(loop_, options, [&](ExitStatus status) {
      out = status;
      loop_.stop();
    });
    pid_ = process.pid();
    close(fds[1]);
    loop_.run();
    reader.drain();
    reader.close();
    if (std::string last = lines.finish(); !last.empty()) lines_.push_back(std::move(last));
    return *out;
  }

  Loop loop_;
  int pid_ = 0;
  std::vector<std::string> lines_;
};

TEST_F(ProcessTest, GivesLinesAndExitCode) {
  const ExitStatus status = run_shell("echo one; printf two; exit 3");
  EXPECT_EQ(status.exit_code, 3);
  EXPECT_EQ(lines_, (std::vector<std::string>{"one", "two"}));
}

TEST_F(ProcessTest, NamesTheSignal) {
  const ExitStatus status = run_shell("kill -9 $$");
  EXPECT_EQ(status.signal, SIGKILL);
  EXPECT_EQ(to_text(status), "killed by signal 9 (SIGKILL)");
}

TEST_F(ProcessTest, HasTheEnvironmentWithReplacements) {
  setenv("RTRAIN_TEST_A", "old", 1);
  setenv("RTRAIN_TEST_B", "kept", 1);
  run_shell("echo $RTRAIN_TEST_A $RTRAIN_TEST_B", {{"RTRAIN_TEST_A", "new"}});
  EXPECT_EQ(lines_, std::vector<std::string>{"new kept"});
}

TEST_F(ProcessTest, LeadsASessionAndReadsNothing) {
  run_shell("ps -o sid= -p $$ 2>/dev/null || echo $$; cat; readlink /proc/self/fd/0");
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_EQ(std::stoi(lines_[0]), pid_);
  EXPECT_EQ(lines_[1], "/dev/null");
}

// The grandchild holds the pipe open: the loop still sees the end of the leader, and kills the
// grandchild.
TEST_F(ProcessTest, ItsGroupEndsWithIt) {
  run_shell("sleep 1000 & echo $!");
  ASSERT_EQ(lines_.size(), 1U);
  const std::string stat = "/proc/" + lines_[0] + "/stat";
  const auto is_alive = [&] {
    FILE* file = std::fopen(stat.c_str(), "r");
    if (file == nullptr) return false;
    char state = 'Z';
    EXPECT_LE(std::fscanf(file, "%*d %*s %c", &state), 1);
    std::fclose(file);
    return state != 'Z' && state != 'X';
  };
  while (is_alive()) std::this_thread::yield();  // ctest's time limit is the deadline
}

TEST_F(ProcessTest, CannotStartWhatIsNotThere) {
  ProcessOptions options;
  options.file = "/nonexistent/program";
  options.args = {"program"};
  EXPECT_THROW(Process(loop_, options, [](ExitStatus) {}), Error);
}

TEST_F(ProcessTest, OneThatCouldNotBeGivenItsDescriptorsLeavesNoneOpen) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator folder("/proc/self/fd");
    return std::distance(begin(folder), end(folder));
  };
  ProcessOptions options;
  options.file = "/bin/true";
  options.descriptors = {STDIN_FILENO, STDIN_FILENO, 1 << 20};
  const auto before = open_files();
  EXPECT_THROW(Process(loop_, options, [](ExitStatus) {}), Error);
  EXPECT_EQ(open_files(), before);
}

TEST_F(ProcessTest, ItsDestructorKillsAndReaps) {
  ProcessOptions options;
  options.file = "/bin/sleep";
  options.args = {"sleep", "1000"};
  int pid = 0;
  {
    Process process(loop_, options, [](ExitStatus) {});
    pid = process.pid();
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

// Starts a process with this free number that leads its own process group. Returns -1 with errno if
// the machine does not allow a choice of numbers.
pid_t start_stranger(pid_t number) {
  std::array<pid_t, 1> numbers{number};
  clone_args args{};
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<uintptr_t>(numbers.data());
  args.set_tid_size = numbers.size();
  const long pid = syscall(SYS_clone3, &args, sizeof(args));
  if (pid == 0) {
    setsid();
    while (true) pause();
  }
  return static_cast<pid_t>(pid);
}

// fault: reuse of process ids
TEST_F(ProcessTest, AStrangerWithTheNumberOfAnEndedChildIsLeftAlone) {
  ProcessOptions options;
  options.file = "/bin/true";
  options.args = {"true"};
  std::optional<Process> process;
  process.emplace(loop_, options, [this](ExitStatus) { loop_.stop(); });
  loop_.run();
  EXPECT_FALSE(process->is_running());
  const pid_t stranger = start_stranger(process->pid());
  if (stranger < 0) GTEST_SKIP() << "no choice of process ids here: " << std::strerror(errno);
  while (getsid(stranger) != stranger) std::this_thread::yield();
  process->kill_group(SIGKILL);
  process.reset();
  EXPECT_EQ(waitpid(stranger, nullptr, WNOHANG), 0) << "it was killed";
  kill(stranger, SIGKILL);
  EXPECT_EQ(waitpid(stranger, nullptr, 0), stranger);
}

// While this process ignores SIGCHLD, the kernel reaps an ended child before the loop waits for it.
// fault: reuse of process ids
TEST_F(ProcessTest, AStrangerWithTheNumberOfAChildThatTheKernelReapedIsLeftAlone) {
  std::signal(SIGCHLD, SIG_IGN);
  ProcessOptions options;
  options.file = "/bin/sleep";
  options.args = {"sleep", "0.1"};
  std::optional<ExitStatus> end;
  std::optional<Process> process;
  process.emplace(loop_, options, [&](ExitStatus status) {
    end = status;
    loop_.stop();
  });
  while (kill(process->pid(), 0) == 0) std::this_thread::yield();
  const pid_t stranger = start_stranger(process->pid());
  const int reason = errno;
  while (stranger > 0 && getsid(stranger) != stranger) std::this_thread::yield();
  process->kill_group(SIGKILL);
  loop_.run();
  std::signal(SIGCHLD, SIG_DFL);
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->is_known);
  if (stranger < 0) GTEST_SKIP() << "no choice of process ids here: " << std::strerror(reason);
  EXPECT_EQ(waitpid(stranger, nullptr, WNOHANG), 0) << "it was killed";
  kill(stranger, SIGKILL);
  EXPECT_EQ(waitpid(stranger, nullptr, 0), stranger);
}

}  // namespace
}  // namespace rtrain::loop
