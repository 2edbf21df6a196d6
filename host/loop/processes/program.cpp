#include "host/loop/processes/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "host/base/error.h"
#include "host/base/files/write_all.h"
#include "host/base/text/text.h"
#include "host/loop/processes/child_life.h"

extern char** environ;

namespace rtrain::loop {
namespace {

using Clock = std::chrono::steady_clock;

std::string path_of(const std::string& program) {
  const auto is_program = [](const std::string& path) { return access(path.c_str(), X_OK) == 0; };
  if (program.find('/') != std::string::npos) {
    if (is_program(program)) return program;
    throw Error(Code::kConfig,
                cat("cannot run ", program,
                    access(program.c_str(), F_OK) == 0 ? ": it is not executable (chmod +x)"
                                                       : ": there is no such file"));
  }
  const char* path = getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string candidate = cat(folder.empty() ? "." : folder, "/", program);
    if (is_program(candidate)) return candidate;
  }
  throw Error(Code::kConfig, cat("cannot run ", program, ": no folder of PATH has it"));
}

std::vector<std::string> names_to_drop(const std::vector<std::string>& beginnings) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool is_dropped = std::any_of(beginnings.begin(), beginnings.end(),
                                        [&](const auto& each) { return text.starts_with(each); });
    if (is_dropped) out.emplace_back(text.substr(0, text.find('=')));
  }
  return out;
}

void make_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

Program::Program(const ProgramOptions& options) {
  ProcessOptions process;
  process.file = path_of(options.command.front());
  process.args = options.command;
  process.env = options.env;
  process.without = names_to_drop(options.without);
  std::array<int, 2> lines{};
  std::array<int, 2> words{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines.data()) != 0) {
    throw SpawnError("cannot make a socket for a program", errno);
  }
  socket_ = Fd(lines[0]);
  const timeval patience{.tv_sec = 10, .tv_usec = 0};  // in case the program does not read
  setsockopt(lines[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const Fd theirs(lines[1]);
  if (pipe2(words.data(), O_CLOEXEC) != 0) {
    throw SpawnError("cannot make a pipe for a program", errno);
  }
  stderr_ = Fd(words[0]);
  const Fd their_stderr(words[1]);
  make_nonblocking(stderr_.get());
  const Fd stacks(memfd_create(kStacksFile, MFD_CLOEXEC));
  if (stacks.is_open()) fcntl(stacks.get(), F_SETFL, O_APPEND);
  process.descriptors = {STDOUT_FILENO, their_stderr.get(), theirs.get(), stacks.get()};
  process.env.emplace_back("RTRAIN_PROGRAM_STACKS", cat(kStacksDescriptor, ",", stacks_signal()));
  pid_ = spawn(process);
  life_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (life_.is_open()) return;
  const int reason = errno;
  end(0);
  throw SpawnError("cannot watch a program (pidfd_open)", reason);
}

Program::~Program() { end(0); }

// A signal that no known library uses.
int Program::stacks_signal() { return SIGRTMIN + 6; }

bool Program::take_line(std::string& line) {
  const size_t end = unread_.find('\n', taken_);
  if (end == std::string::npos) {
    unread_.erase(0, std::exchange(taken_, 0));
    if (unread_.size() <= kMaxLineBytes) return false;
    throw Error(Code::kUser, cat("the program has sent more than ", kMaxLineBytes,
                                 " bytes in one message: report or log less at once"));
  }
  line = unread_.substr(taken_, end - taken_);
  taken_ = end + 1;
  return true;
}

void Program::read_lines() {
  std::array<char, 1 << 16> buffer{};
  const ssize_t count = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count > 0) unread_.append(buffer.data(), static_cast<size_t>(count));
  if (count == 0) socket_.reset();
}

void Program::pass_stderr() {
  std::array<char, 1 << 14> buffer{};
  const ssize_t count = read(stderr_.get(), buffer.data(), buffer.size());
  if (count == 0) stderr_.reset();
  if (count <= 0) return;
  const std::string_view bytes(buffer.data(), static_cast<size_t>(count));
  write_all(STDERR_FILENO, bytes);
  kept_ += bytes;
  if (kept_.size() > 2 * kKeptBytes) kept_.erase(0, kept_.size() - kKeptBytes);
}

Program::Event Program::next(double timeout_s, std::string& line, int other_fd) {
  const auto end = Clock::now() + std::chrono::duration<double>(timeout_s);
  while (!take_line(line)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    // poll skips an entry with descriptor -1.
    std::array<pollfd, 4> places{pollfd{socket_.get(), POLLIN, 0}, pollfd{stderr_.get(), POLLIN, 0},
                                 pollfd{life_.get(), POLLIN, 0}, pollfd{other_fd, POLLIN, 0}};
    const int ready =
        poll(places.data(), places.size(), static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready < 0 && errno != EINTR) throw SpawnError("cannot wait for a program", errno);
    if (ready <= 0) {
      if (left <= 0) return Event::kNothing;
      continue;
    }
    if (places[0].revents != 0) read_lines();
    if (places[1].revents != 0) pass_stderr();
    if (places[3].revents != 0) return take_line(line) ? Event::kLine : Event::kNothing;
    const bool is_quiet = places[0].revents == 0 && places[1].revents == 0;
    // The program's children may still hold the other ends open.
    if (is_quiet && places[2].revents != 0) return Event::kEnded;
  }
  return Event::kLine;
}

void Program::write(std::string_view line) {
  const std::string text = cat(line, "\n");
  size_t sent = 0;
  while (sent < text.size() && socket_.is_open()) {
    const ssize_t count =
        ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    sent += static_cast<size_t>(count);
  }
}

void Program::send(int signal) {
  if (!status_ && life_of_child(pid_) == ChildLife::kRuns) kill(pid_, signal);
}

ExitStatus Program::end(double timeout_s) {
  if (!status_) status_ = end_child(pid_, timeout_s);
  return *status_;
}

std::string Program::last_words() const {
  if (kept_.size() <= kKeptBytes) return kept_;
  const size_t begin = kept_.find('\n', kept_.size() - kKeptBytes);
  return begin == std::string::npos ? kept_.substr(kept_.size() - kKeptBytes)
                                    : kept_.substr(begin + 1);
}

}  // namespace rtrain::loop
