// host/cli/screen/live_screen.h: a terminal that a command draws on again and again, and its keys.
//
// While it lives it has the terminal's other screen, as `top` has: what was there before is there
// again afterwards, and a resize leaves nothing behind. Ctrl-C, SIGTERM and SIGHUP end a wait like
// a key, Ctrl-Z suspends as ever. One at a time.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

#include "host/machine/terminal_size.h"

namespace rtrain {

class LiveScreen {
 public:
  // What ended a wait.
  enum class Event { kTime, kResize, kQuit, kInterrupt };

  // Stdout is a terminal. Keys come from stdin where that is one too.
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  TerminalSize size() const;
  // As many of the lines as there is room for, each cut to the width, safe to show. The first one
  // stands out where there are colours.
  void draw(const std::vector<std::string>& lines);
  // Until the time is over, 'q' was typed, or a signal came.
  Event wait(double seconds);
  // The signal behind kInterrupt: whoever leaves because of it raises it again.
  int interrupted_by() const { return interrupted_by_; }

 private:
  void enter();
  void leave();
  void suspend();

  bool has_keys_;
  int interrupted_by_ = 0;
  termios before_{};  // of stdin
};

}  // namespace rtrain
