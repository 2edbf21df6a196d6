// host/base/text/terminal_text.h: makes any text safe to show on a terminal.
//
// Output of workers, names, notes and errors may contain sequences that change the terminal's
// title, move its cursor, write its clipboard or make it send input. Shown unchanged are text,
// newline, tab, carriage return and SGR sequences (colours). Every other control character,
// including C1 ones, and every byte that is not UTF-8 is shown as an escape: \x1b, \x07, \u009b,
// \xff. Files and pipes get unchanged bytes: use this only for terminals, except for cells of
// tables, which must be aligned everywhere.
#pragma once

#include <string>
#include <string_view>

namespace rtrain {

// For text that arrives in pieces: a piece may end inside a character or sequence.
class TerminalText {
 public:
  // Returns what can be shown so far.
  std::string add(std::string_view bytes);
  // Returns the rest, and resets a colour that is still on.
  std::string finish();

 private:
  std::string show(bool at_end);

  std::string pending_;
  bool colored_ = false;
};

// Makes a complete text safe.
std::string terminal_text(std::string_view text);
// Makes a text safe that must stay on one line, without colours: escapes newlines and similar
// characters too.
std::string terminal_line(std::string_view text);
// As terminal_line(), for a cell of a table: shows line breaks and tabs as \n, \r and \t.
std::string terminal_cell(std::string_view text);

}  // namespace rtrain
