#include "host/train/group/worker_output.h"

#include <utility>

#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

constexpr size_t kMaxLastWords = 500;

}  // namespace

WorkerOutput::WorkerOutput(RecordWriter& writer, RunEvents& events, int attempt, int num_workers)
    : writer_(writer),
      events_(events),
      attempt_(attempt),
      ranks_(static_cast<size_t>(num_workers)) {}

void WorkerOutput::add(int rank, node::OutputStream stream, std::string_view bytes) {
  log(rank, bytes);
  node::OutputLines& lines = at(rank).lines;
  show(rank, lines.add(stream, bytes));
  if (const std::string_view text = lines.progress(stream); !text.empty()) {
    events_.emit_output({{"rank", rank}, {"text", text}, {"is_progress", true}});
  }
}

void WorkerOutput::add(int rank, const Error& error) {
  const std::string& traceback = error.traceback();
  log(rank, cat(error.message(), "\n", traceback, traceback.empty() ? "" : "\n"));
}

void WorkerOutput::finish(int rank) { show(rank, at(rank).lines.finish()); }

void WorkerOutput::log(int rank, std::string_view bytes) {
  writer_.add_log(attempt_, cat("rank-", rank), bytes);
}

void WorkerOutput::show(int rank, std::vector<node::OutputLine> lines) {
  for (auto& [stream, text] : lines) {
    if (stream == node::OutputStream::kStderr && text.find_first_not_of(" \t\r") != text.npos) {
      at(rank).last_words = text.substr(0, kMaxLastWords);
    }
    events_.emit_output(
        {{"rank", rank}, {"stream", node::stream_name(stream)}, {"text", std::move(text)}});
  }
}

}  // namespace rtrain::train
