#include "host/train/reports/extras_receiver.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

constexpr size_t kMaxUnwrittenBytes = size_t{8} << 20;
constexpr std::array<std::string_view, 6> kMediaKinds = {"image",     "video", "audio",
                                                         "histogram", "table", "text"};

}  // namespace

void ExtrasReceiver::add(int attempt, int rank, message::Annotation note) {
  writer_.add(store::AnnotationRow{attempt, rank, note.time_ms, std::move(note.severity),
                                   std::move(note.text)});
  ask(rank, note.id);
}

void ExtrasReceiver::add(int attempt, int rank, message::Media media) {
  if (std::ranges::find(kMediaKinds, media.kind) == kMediaKinds.end()) {
    throw Error(Code::kArgument, cat("unknown kind of media '", media.kind, "'"));
  }
  writer_.add(store::MediaRow{.attempt = attempt,
                              .rank = rank,
                              .time_ms = media.time_ms,
                              .kind = std::move(media.kind),
                              .name = std::move(media.name),
                              .step = media.step,
                              .data = std::move(media.data)});
  ask(rank, media.id);
}

void ExtrasReceiver::ask(int rank, int64_t id) {
  if (id == 0) return;
  asked_.push_back({rank, id});
  on_written();
}

void ExtrasReceiver::on_written() {
  if (writer_.unwritten_bytes() > kMaxUnwrittenBytes) return;
  for (const auto& [rank, id] : std::exchange(asked_, {})) {
    send_(rank, message::Reply{.id = id});
  }
}

}  // namespace rtrain::train
