// host/profile/memory_ledger.h: who has the memory of a device: the pieces that were taken and not
// yet given back, by the line of the script that took them.
//
// A line also knows what it had when the device had the most. Pure; one thread at a time.
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
  std::string place;  // "train.lua:12"; "" where no line is known
  // Of what is alive:
  int64_t count = 0;
  int64_t bytes = 0;
  std::vector<MemoryKind> kinds =
      {};  // by their bytes, the most first; without those not described
  // Of what was alive when the device had the most.
  int64_t peak_bytes = 0;
  // Of all that it has taken, given back or not.
  int64_t taken_count = 0;
  int64_t taken_bytes = 0;
};

class MemoryLedger {
 public:
  // `live` is what the device has in all where the ledger begins.
  explicit MemoryLedger(int64_t live = 0);

  // A piece with that address, which no other one that is alive has.
  void take(uintptr_t address, int64_t bytes, std::string_view place);
  // False for one that the ledger has not seen taken.
  bool give(uintptr_t address);
  // What the device has in all, behind a change of it.
  void see_live(int64_t live);

  // Garbage of before the ledger began is gone: it began with what is left of that.
  void begin_without_garbage();

  bool has(uintptr_t address) const { return pieces_.count(address) != 0; }
  // Whether nobody has said what is in it.
  bool lacks_kind(uintptr_t address) const;
  // Says it, and the place where that was not known.
  void describe(uintptr_t address, std::string_view kind, std::string_view place);
  // "" also for one that it does not have.
  const std::string& place_of(uintptr_t address) const;

  int64_t num_taken() const { return num_taken_; }
  int64_t begin_live() const { return begin_live_; }
  int64_t live() const { return live_; }
  int64_t peak() const { return peak_; }
  // The most that the device had since the last call.
  int64_t take_recent_peak();
  // Of those that are alive.
  int64_t bytes() const { return bytes_; }

  // Those with the most bytes that are alive first, then those that have taken the most.
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
    int64_t peak_bytes = 0;  // as of the peak of that number
    int64_t peak_number = 0;
  };
  // Each text once.
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
