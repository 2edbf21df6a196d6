// host/profile/memory_ledger.h: counts a device's allocated memory by line of the script: the
// pieces that a line has allocated and that are not freed yet.
//
// For each line it also has the bytes at the device's peak. Pure. Thread: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rtrain::profile {

// Pieces of the same kind: "float32 [2, 3]".
struct MemoryKind {
  std::string text;
  int64_t count = 0;
  int64_t bytes = 0;
};

struct MemoryLine {
  std::string place;  // "train.lua:12"; "" where the line is unknown
  // The pieces that are not freed.
  int64_t count = 0;
  int64_t bytes = 0;
  std::vector<MemoryKind> kinds =
      {};  // the most bytes first; without pieces that were not described
  // The line's bytes at the device's peak.
  int64_t peak_bytes = 0;
  // All pieces that it has allocated, freed or not.
  int64_t taken_count = 0;
  int64_t taken_bytes = 0;
};

class MemoryLedger {
 public:
  // `live`: the device's allocated bytes when the ledger begins.
  explicit MemoryLedger(int64_t live = 0);

  // A piece was allocated. REQUIRES: no piece at this address that is not freed.
  void take(uintptr_t address, int64_t bytes, std::string_view place);
  // A piece was freed. Returns false where it was allocated before the ledger began.
  bool give(uintptr_t address);
  // The device's allocated bytes, after they have changed.
  void see_live(int64_t live);

  // Garbage from before the ledger began was collected: corrects begin_live() by these bytes.
  void begin_without_garbage();

  bool has(uintptr_t address) const { return pieces_.count(address) != 0; }
  // Whether the piece has no kind yet.
  bool lacks_kind(uintptr_t address) const;
  // Sets the piece's kind, and its place where that was unknown.
  void describe(uintptr_t address, std::string_view kind, std::string_view place);
  // The line that allocated the piece; "" where the line or the piece is unknown.
  const std::string& place_of(uintptr_t address) const;

  int64_t num_taken() const { return num_taken_; }
  int64_t begin_live() const { return begin_live_; }
  int64_t live() const { return live_; }
  int64_t peak() const { return peak_; }
  // The largest number of bytes that the device had since the last call.
  int64_t take_recent_peak();
  // The bytes of all pieces that are not freed.
  int64_t bytes() const { return bytes_; }

  // The lines, sorted by their bytes that are not freed, then by all their bytes; largest first.
  std::vector<MemoryLine> lines() const;

 private:
  struct Piece {
    int64_t bytes = 0;
    int line = 0;
    int kind = 0;
  };
  struct Line {
    int64_t count = 0;
    int64_t bytes = 0;
    int64_t taken_count = 0;
    int64_t taken_bytes = 0;
    int64_t peak_bytes = 0;  // at the peak with number peak_number
    int64_t peak_number = 0;
  };
  // Holds each text once and gives it a number.
  class Texts {
   public:
    int number_of(std::string_view text);
    const std::string& operator[](int number) const { return texts_[static_cast<size_t>(number)]; }

   private:
    std::vector<std::string> texts_;
    std::unordered_map<std::string, int> numbers_;
  };

  Line& changing(int number);
  void add(const Piece& piece);

  std::unordered_map<uintptr_t, Piece> pieces_;
  std::vector<Line> lines_;
  Texts places_;  // of lines_
  Texts kinds_;   // 0: not known
  int64_t bytes_ = 0;
  int64_t num_taken_ = 0;
  int64_t begin_live_ = 0;
  int64_t live_ = 0;
  int64_t peak_ = 0;
  int64_t recent_peak_ = 0;
  int64_t peak_number_ = 0;  // how often the peak has risen
};

}  // namespace rtrain::profile
