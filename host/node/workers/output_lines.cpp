#include "host/node/workers/output_lines.h"

#include <utility>

namespace rtrain::node {

std::string_view stream_name(OutputStream stream) {
  return stream == OutputStream::kStdout ? "stdout" : "stderr";
}

std::vector<OutputLine> OutputLines::add(OutputStream stream, std::string_view bytes) {
  std::vector<OutputLine> lines;
  for (std::string& text : of(stream).add(bytes)) lines.push_back({stream, std::move(text)});
  return lines;
}

std::vector<OutputLine> OutputLines::finish() {
  std::vector<OutputLine> lines;
  for (const OutputStream stream : {OutputStream::kStdout, OutputStream::kStderr}) {
    if (std::string text = of(stream).finish(); !text.empty()) {
      lines.push_back({stream, std::move(text)});
    }
  }
  return lines;
}

}  // namespace rtrain::node
