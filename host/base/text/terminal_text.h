// host/base/text/terminal_text.h: text from anywhere made safe to show on a terminal.
//
// What workers print, and names, notes and errors, may hold sequences that retitle the terminal,
// move its cursor, write its clipboard or answer for the user. Shown as they are: text, newline,
// tab, carriage return and SGR sequences (colours). Every other control character, C1 ones
// included, and every byte that is not UTF-8 is shown as an escape: \x1b, \x07, \u009b, \xff. Files
// and pipes get the bytes as they are: ask only for a terminal, but for the cells of tables, which
// stand below each other everywhere.
#pragma once

#include <string>
#include <string_view>

namespace rtrain {

// Text that comes in pieces: a character or sequence may be cut anywhere.
class TerminalText {
 public:
  // What can be shown by now.
  std::string add(std::string_view bytes);
  // The rest, and the end of a colour that was left on.
  std::string finish();

 private:
  std::string show(bool at_end);

  std::string pending_;
  bool colored_ = false;
};

// The whole of a text.
std::string terminal_text(std::string_view text);
// A text that is to stay on one line and has no colours: newlines and the like are escaped too.
std::string terminal_line(std::string_view text);
// The same for a cell of a table, with line breaks and tabs as \n, \r and \t.
std::string terminal_cell(std::string_view text);

}  // namespace rtrain
