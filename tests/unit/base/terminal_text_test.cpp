#include "host/base/text/terminal_text.h"

#include <gtest/gtest.h>

namespace rtrain {
namespace {

TEST(TerminalText, ShowsTextColoursAndWhatMovesOn) {
  for (const char* text : {"plain", "a\tb\rc\n", "Grüße, 世界 🙂", "\x1b[31mred\x1b[0m",
                           "\x1b[1;38;5;208mx\x1b[m"}) {
    EXPECT_EQ(terminal_text(text), text);
  }
}

TEST(TerminalText, EscapesWhatWouldCommandTheTerminal) {
  EXPECT_EQ(terminal_text("\x1b]0;owned\x07"), "\\x1b]0;owned\\x07");
  EXPECT_EQ(terminal_text("\x1b[2J\x1b[H"), "\\x1b[2J\\x1b[H");
  EXPECT_EQ(terminal_text("\x1bP+q\x1b\\"), "\\x1bP+q\\x1b\\");
  EXPECT_EQ(terminal_text("\xc2\x9b[31m"), "\\u009b[31m") << "CSI as one character of C1";
  EXPECT_EQ(terminal_text(std::string_view("a\0b\x7f\b", 5)), "a\\x00b\\x7f\\x08");
  EXPECT_EQ(terminal_text("\x9b\xff\xc0\xaf"), "\\x9b\\xff\\xc0\\xaf") << "no UTF-8";
  EXPECT_EQ(terminal_text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
}

TEST(TerminalText, EndsAColourThatWasLeftOn) {
  EXPECT_EQ(terminal_text("\x1b[31mred"), "\x1b[31mred\x1b[0m");
}

TEST(TerminalText, PiecesMayBeCutAnywhere) {
  const std::string text = "ü\x1b[31mred\x1b[0m\x1b]0;x\x07 世\xe4\xb8";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    TerminalText pieces;
    std::string shown = pieces.add(std::string_view(text).substr(0, cut));
    shown += pieces.add(std::string_view(text).substr(cut));
    EXPECT_EQ(shown + pieces.finish(), terminal_text(text)) << cut;
  }
}

TEST(TerminalText, ASequenceThatNeverEndsIsNotHeldBack) {
  TerminalText pieces;
  EXPECT_GT(pieces.add("\x1b[" + std::string(100, '1')).size(), 100U);
  EXPECT_EQ(terminal_text("\x1b[1"), "\\x1b[1");
}

TEST(TerminalText, ALineStaysOneAndHasNoColour) {
  EXPECT_EQ(terminal_line("ü\x1b[31m\n\t\r\xc2\x9b\xe4"), "ü\\x1b[31m\\x0a\\x09\\x0d\\u009b\\xe4");
}

TEST(TerminalText, ACellNamesItsLineBreaks) {
  EXPECT_EQ(terminal_cell("a\nb\r\tü\x1b[31m\x7f\n"), "a\\nb\\r\\tü\\x1b[31m\\x7f\\n");
  EXPECT_EQ(terminal_cell(""), "");
}

}  // namespace
}  // namespace rtrain
