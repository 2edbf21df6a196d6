// host/cli/screen/live_screen.h: draws repeatedly on a terminal, and reads its keys.
//
// While it exists it uses the terminal's alternate screen, like `top`: the previous content is
// restored afterwards, even after a resize. Ctrl-C, SIGTERM and SIGHUP end a wait like a key;
// Ctrl-Z suspends as usual. One at a time.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

#include "host/machine/terminal_size.h"

namespace rtrain::cli {

class LiveScreen {
 public:
  // What ended a wait.
  enum class Event { kTime, kResize, kQuit, kInterrupt };

  // REQUIRES: stdout is a terminal. Reads keys from stdin if that is a terminal too.
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  machine::TerminalSize size() const;
  // Draws as many lines as fit, each cut to the width and safe to show. Highlights the first one if
  // the terminal has colours.
  void draw(const std::vector<std::string>& lines);
  // Waits until the time is over, 'q' is typed, or a signal arrives.
  Event wait(double seconds);
  // The signal that caused kInterrupt. A caller that exits because of it should raise it again.
  int interrupted_by() const { return interrupted_by_; }

 private:
  void enter();
  void leave();
  void suspend();

  bool has_keys_;
  int interrupted_by_ = 0;
  termios before_{};  // of stdin
};

}  // namespace rtrain::cli
