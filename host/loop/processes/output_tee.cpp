#include "host/loop/processes/output_tee.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/files/log_file.h"
#include "host/base/files/write_all.h"
#include "host/base/text/text.h"
#include "host/loop/processes/process.h"

namespace rtrain::loop {
namespace {

constexpr double kPatienceS = 5;
constexpr useconds_t kPauseUs = 50;

// Descriptors of the tee process in addition to stdout and stderr.
enum : int { kOutFd = 3, kErrFd = 4, kPageFd = 5 };

[[noreturn]] void fail(std::string_view what) {
  throw Error(Code::kEnvironment, cat(what, ": ", std::string_view(std::strerror(errno))));
}

Fd checked(int fd, std::string_view what) {
  if (fd < 0) fail(what);
  return Fd(fd);
}

Fd copy_of(int fd) {
  return checked(fcntl(fd, F_DUPFD_CLOEXEC, kPageFd + 1), "cannot copy a descriptor");
}

struct PipeEnds {
  PipeEnds() {
    std::array<int, 2> fds{};
    if (pipe2(fds.data(), O_CLOEXEC) != 0) fail("cannot create a pipe");
    read = Fd(fds[0]);
    write = Fd(fds[1]);
  }
  Fd read;
  Fd write;
};

bool are_same_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

void* map_page(int fd, size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) fail("cannot map the tee's page");
  return memory;
}

bool has_bytes(const Fd& pipe) {
  int count = 0;
  return pipe.is_open() && ioctl(pipe.get(), FIONREAD, &count) == 0 && count > 0;
}

}  // namespace

OutputTee::OutputTee(const std::string& file, const std::string& log_path, int64_t log_bytes)
    : out_(copy_of(STDOUT_FILENO)), err_(copy_of(STDERR_FILENO)) {
  const Fd page = checked(memfd_create("rtrain-tee", MFD_CLOEXEC), "cannot create the tee's page");
  if (ftruncate(page.get(), sizeof(Page)) != 0) fail("cannot create the tee's page");
  PipeEnds out;
  PipeEnds err;
  const bool share = are_same_file(out_.get(), err_.get());
  ProcessOptions options;
  options.file = file;
  options.args = {"rtrain", "--tee", log_path, std::to_string(log_bytes)};
  options.descriptors = {out_.get(), err_.get(), out.read.get(), share ? -1 : err.read.get(),
                         page.get()};
  page_ = static_cast<Page*>(map_page(page.get(), sizeof(Page)));
  try {
    pid_ = spawn(options);
  } catch (...) {
    munmap(page_, sizeof(Page));
    throw;
  }
  out_pipe_ = std::move(out.write);
  if (!share) err_pipe_ = std::move(err.write);
  resume();
}

OutputTee::~OutputTee() {
  pause();
  out_pipe_.reset();
  err_pipe_.reset();
  // The tee ends with the last process that can write to it, which may outlive the script.
  const double deadline = monotonic_s() + 0.1;
  while (waitpid(pid_, nullptr, WNOHANG) == 0 && monotonic_s() < deadline) usleep(kPauseUs);
  munmap(page_, sizeof(Page));
}

int OutputTee::log_error() const { return page_->log_error; }

bool OutputTee::is_copied() const {
  return !has_bytes(out_pipe_) && !has_bytes(err_pipe_) && !page_->busy;
}

void OutputTee::pause() {
  if (paused_) return;
  paused_ = true;
  std::fflush(stdout);
  std::fflush(stderr);
  const double deadline = monotonic_s() + kPatienceS;
  while (!is_copied() && monotonic_s() < deadline) usleep(kPauseUs);
  dup2(out_.get(), STDOUT_FILENO);
  dup2(err_.get(), STDERR_FILENO);
}

void OutputTee::resume() {
  if (!paused_) return;
  paused_ = false;
  std::fflush(stdout);
  std::fflush(stderr);
  // To a pipe, stdio would write in blocks, and a death would lose the unwritten part.
  setvbuf(stdout, nullptr, _IOLBF, 0);
  dup2(out_pipe_.get(), STDOUT_FILENO);
  dup2(err_pipe_.is_open() ? err_pipe_.get() : out_pipe_.get(), STDERR_FILENO);
}

namespace {

class Copier {
 public:
  Copier(OutputTee::Page& page, LogFile log) : page_(page), log_(std::move(log)) {}

  // Runs until no process can write any more.
  void run() {
    std::array<pollfd, 2> pipes{{{kOutFd, POLLIN, 0}, {kErrFd, POLLIN, 0}}};
    if (fcntl(kErrFd, F_GETFD) < 0) pipes[1].fd = -1;
    while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
      if (poll(pipes.data(), pipes.size(), -1) < 0) continue;
      for (pollfd& pipe : pipes) {
        if (pipe.fd < 0 || pipe.revents == 0) continue;
        page_.busy = true;
        if (!copy(pipe.fd, pipe.fd == kOutFd ? STDOUT_FILENO : STDERR_FILENO)) pipe.fd = -1;
        page_.busy = false;
      }
    }
  }

 private:
  bool copy(int from, int to) {
    const ssize_t n = ::read(from, buffer_.data(), buffer_.size());
    if (n < 0) return errno == EINTR;
    if (n == 0) return false;
    std::string_view bytes(buffer_.data(), static_cast<size_t>(n));
    write_all(to, bytes);  // if the reader has gone, the log still gets the bytes
    if (page_.log_error == 0) page_.log_error = log_.write(bytes, now_ms());
    return true;
  }

  OutputTee::Page& page_;
  LogFile log_;
  std::array<char, 65536> buffer_;
};

}  // namespace

int run_output_tee(const std::string& log_path, int64_t log_bytes) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  Copier(*static_cast<OutputTee::Page*>(map_page(kPageFd, sizeof(OutputTee::Page))),
         LogFile(log_path, log_bytes))
      .run();
  return 0;
}

}  // namespace rtrain::loop
