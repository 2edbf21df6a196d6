#include "host/cli/screen/live_screen.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <string_view>

#include "host/base/clock.h"
#include "host/base/files/write_all.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/cli/screen/colour.h"
#include "host/cli/screen/layout.h"

namespace rtrain::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};

// Set by the handler and read by wait(); signals are unblocked only while wait() polls.
volatile sig_atomic_t last_signal = 0;

void on_signal(int number) {
  if (last_signal == 0 || last_signal == SIGWINCH) last_signal = number;
}

sigset_t all_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kSignals) sigaddset(&set, number);
  return set;
}

// Ignores errors: a terminal that is gone shows nothing.
void show(std::string_view bytes) { write_all(STDOUT_FILENO, bytes); }

}  // namespace

LiveScreen::LiveScreen() : has_keys_(::isatty(STDIN_FILENO) == 1) {
  std::cout.flush();
  last_signal = 0;
  const sigset_t blocked = all_signals();
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int number : kSignals) sigaction(number, &action, nullptr);
  enter();
}

LiveScreen::~LiveScreen() {
  leave();
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (const int number : kSignals) sigaction(number, &action, nullptr);
  const sigset_t blocked = all_signals();
  sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
}

void LiveScreen::enter() {
  if (has_keys_ && tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  show("\x1b[?1049h\x1b[?25l\x1b[2J");  // the alternate screen, hide the cursor, clear
}

void LiveScreen::leave() {
  show("\x1b[?25h\x1b[?1049l");
  if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void LiveScreen::suspend() {
  leave();
  ::raise(SIGSTOP);
  enter();
}

machine::TerminalSize LiveScreen::size() const {
  return machine::terminal_size(STDOUT_FILENO)
      .value_or(machine::TerminalSize{.columns = 80, .rows = 24});
}

void LiveScreen::draw(const std::vector<std::string>& lines) {
  const machine::TerminalSize now = size();
  // The last column stays empty, because some terminals continue on the next line after it.
  const size_t columns = std::max<size_t>(now.columns, 2) - 1;
  const size_t room = std::max<size_t>(now.rows, 1);
  const bool is_cut = lines.size() > room;
  const size_t count = is_cut ? room - 1 : lines.size();
  std::string frame;
  for (size_t i = 0; i < count; ++i) {
    const std::string line = shortened(terminal_line(lines[i]), columns);
    const bool stands_out = i == 0 && wants_colour();
    frame += cat("\x1b[", i + 1, ";1H", stands_out ? "\x1b[1m" : "", line,
                 stands_out ? "\x1b[0m" : "", "\x1b[K");
  }
  if (is_cut) {
    frame += cat("\x1b[", room, ";1H… ", lines.size() - count, " more lines\x1b[K");
  } else if (count < room) {
    frame += cat("\x1b[", count + 1, ";1H\x1b[J");
  }
  show(frame);
}

LiveScreen::Event LiveScreen::wait(double seconds) {
  const double end_s = monotonic_s() + seconds;
  sigset_t none;
  sigemptyset(&none);
  for (;;) {
    const double left_s = std::max(0.0, end_s - monotonic_s());
    constexpr double kNsPerSecond = 1e9;
    const auto whole = static_cast<time_t>(left_s);
    const timespec time{whole,
                        static_cast<long>((left_s - static_cast<double>(whole)) * kNsPerSecond)};
    pollfd keys{.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
    const int ready = ::ppoll(&keys, 1, &time, &none);
    const int number = last_signal;  // signals are blocked again
    last_signal = 0;
    if (number == SIGTSTP) suspend();
    if (number == SIGTSTP || number == SIGWINCH) return Event::kResize;
    if (number != 0) {
      interrupted_by_ = number;
      return Event::kInterrupt;
    }
    if (ready == 0) return Event::kTime;
    if (ready < 0) continue;
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) <= 0) has_keys_ = false;
    if (key == 'q' || key == 'Q') return Event::kQuit;
  }
}

}  // namespace rtrain::cli
