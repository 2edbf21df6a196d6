#include "host/train/group/worker_output.h"

#include <utility>

#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr size_t kMaxLastWords = 500;

}  // namespace

WorkerOutput::WorkerOutput(RecordWriter& writer, RunEvents& events, int attempt, int num_workers)
    : writer_(writer),
      events_(events),
      attempt_(attempt),
      last_words_(static_cast<size_t>(num_workers)) {}

void WorkerOutput::add(int rank, std::string_view bytes) {
  writer_.add_log(attempt_, cat("rank-", rank), bytes);
}

void WorkerOutput::add(int rank, const Error& error) {
  const std::string& traceback = error.traceback();
  add(rank, cat(error.message(), "\n", traceback, traceback.empty() ? "" : "\n"));
}

void WorkerOutput::show_line(int rank, std::string_view stream, std::string line) {
  if (stream == "stderr" && line.find_first_not_of(" \t\r") != line.npos) {
    last_words_.at(static_cast<size_t>(rank)) = line.substr(0, kMaxLastWords);
  }
  events_.emit_output({{"rank", rank}, {"stream", stream}, {"text", std::move(line)}});
}

void WorkerOutput::show_progress(int rank, std::string_view text) {
  events_.emit_output({{"rank", rank}, {"text", text}, {"is_progress", true}});
}

}  // namespace rtrain
