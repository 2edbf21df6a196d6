// host/node/workers/output_lines.h: splits the output of one process into lines. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/text/line_splitter.h"

namespace rtrain::node {

enum class OutputStream { kStdout, kStderr };
// "stdout", "stderr".
std::string_view stream_name(OutputStream stream);

struct OutputLine {
  OutputStream stream;
  std::string text;
};

class OutputLines {
 public:
  // As LineSplitter::add.
  std::vector<OutputLine> add(OutputStream stream, std::string_view bytes);
  std::string_view progress(OutputStream stream) const { return of(stream).progress(); }
  // The unfinished lines of both streams. Call it at the end of the output.
  std::vector<OutputLine> finish();

 private:
  LineSplitter& of(OutputStream stream) { return streams_.at(static_cast<size_t>(stream)); }
  const LineSplitter& of(OutputStream stream) const {
    return streams_.at(static_cast<size_t>(stream));
  }

  std::array<LineSplitter, 2> streams_;
};

}  // namespace rtrain::node
