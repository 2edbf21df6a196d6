// host/cli/screen/line_editor.h: reads lines from a terminal with editing, history and completion
// (libedit). Main thread only, one at a time, because it handles signals while it reads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rtrain::cli {

struct LineCompletion {
  std::string insert;                // text to insert after the cursor
  std::vector<std::string> choices;  // shown if `insert` is empty and there are several
};

class LineEditor {
 public:
  using Complete = std::function<LineCompletion(const std::string& line_to_cursor)>;

  // `history`: earlier lines, oldest first. Errors of `complete` are ignored.
  LineEditor(const std::vector<std::string>& history, Complete complete);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class Outcome {
    kLine,
    kEnd,          // Ctrl-D on an empty line, or the terminal is gone
    kInterrupted,  // Ctrl-C: what was typed is dropped
  };
  // Reads a line, without its end.
  Outcome read(const std::string& prompt, std::string& line);

  void add_history(const std::string& line);

  struct Parts;  // of libedit, for its callbacks

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace rtrain::cli
