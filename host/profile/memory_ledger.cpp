#include "host/profile/memory_ledger.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace rtrain::profile {

int MemoryLedger::Texts::number_of(std::string_view text) {
  const auto [place, is_new] = numbers_.emplace(std::string(text), static_cast<int>(texts_.size()));
  if (is_new) texts_.push_back(place->first);
  return place->second;
}

MemoryLedger::MemoryLedger(int64_t live)
    : begin_live_(live), live_(live), peak_(live), recent_peak_(live) {
  kinds_.number_of("");
}

// Returns a line that will change. Stores the line's bytes at the last peak first. So a new peak
// needs no work for lines that do not change.
MemoryLedger::Line& MemoryLedger::changing(int number) {
  const auto place = static_cast<size_t>(number);
  if (place >= lines_.size()) lines_.resize(place + 1);
  Line& line = lines_[place];
  if (line.peak_number != peak_number_) {
    line.peak_bytes = line.bytes;
    line.peak_number = peak_number_;
  }
  return line;
}

void MemoryLedger::add(const Piece& piece) {
  Line& line = changing(piece.line);
  line.count += 1;
  line.bytes += piece.bytes;
  line.taken_count += 1;
  line.taken_bytes += piece.bytes;
}

void MemoryLedger::take(uintptr_t address, int64_t bytes, std::string_view place) {
  const Piece piece{.bytes = bytes, .line = places_.number_of(place)};
  pieces_.insert_or_assign(address, piece);
  add(piece);
  bytes_ += bytes;
  ++num_taken_;
}

bool MemoryLedger::give(uintptr_t address) {
  const auto found = pieces_.find(address);
  if (found == pieces_.end()) return false;
  const Piece piece = found->second;
  pieces_.erase(found);
  Line& line = changing(piece.line);
  line.count -= 1;
  line.bytes -= piece.bytes;
  bytes_ -= piece.bytes;
  return true;
}

void MemoryLedger::see_live(int64_t live) {
  live_ = live;
  recent_peak_ = std::max(recent_peak_, live);
  if (live <= peak_) return;
  peak_ = live;
  ++peak_number_;
}

void MemoryLedger::begin_without_garbage() {
  begin_live_ = std::clamp<int64_t>(live_ - bytes_, 0, begin_live_);
}

bool MemoryLedger::lacks_kind(uintptr_t address) const {
  const auto found = pieces_.find(address);
  return found != pieces_.end() && found->second.kind == 0;
}

void MemoryLedger::describe(uintptr_t address, std::string_view kind, std::string_view place) {
  const auto found = pieces_.find(address);
  if (found == pieces_.end()) return;
  Piece& piece = found->second;
  piece.kind = kinds_.number_of(kind);
  if (place.empty() || !places_[piece.line].empty()) return;
  Line& before = changing(piece.line);
  before.count -= 1;
  before.bytes -= piece.bytes;
  before.taken_count -= 1;
  before.taken_bytes -= piece.bytes;
  piece.line = places_.number_of(place);
  add(piece);
}

const std::string& MemoryLedger::place_of(uintptr_t address) const {
  static const std::string kNone;
  const auto found = pieces_.find(address);
  return found == pieces_.end() ? kNone : places_[found->second.line];
}

int64_t MemoryLedger::take_recent_peak() { return std::exchange(recent_peak_, live_); }

std::vector<MemoryLine> MemoryLedger::lines() const {
  std::vector<std::map<int, MemoryKind>> kinds(lines_.size());
  for (const auto& [address, piece] : pieces_) {
    if (piece.kind == 0) continue;
    MemoryKind& kind = kinds[static_cast<size_t>(piece.line)][piece.kind];
    kind.count += 1;
    kind.bytes += piece.bytes;
  }
  std::vector<MemoryLine> out;
  for (size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    if (line.taken_count == 0) continue;
    MemoryLine shown{.place = places_[static_cast<int>(i)],
                     .count = line.count,
                     .bytes = line.bytes,
                     .kinds = {},
                     .peak_bytes = line.peak_number == peak_number_ ? line.peak_bytes : line.bytes,
                     .taken_count = line.taken_count,
                     .taken_bytes = line.taken_bytes};
    for (auto& [number, kind] : kinds[i]) {
      kind.text = kinds_[number];
      shown.kinds.push_back(kind);
    }
    std::ranges::sort(shown.kinds, [](const MemoryKind& a, const MemoryKind& b) {
      return std::tie(b.bytes, a.text) < std::tie(a.bytes, b.text);
    });
    out.push_back(std::move(shown));
  }
  std::ranges::sort(out, [](const MemoryLine& a, const MemoryLine& b) {
    return std::tie(b.bytes, b.taken_bytes, a.place) < std::tie(a.bytes, a.taken_bytes, b.place);
  });
  return out;
}

}  // namespace rtrain::profile
