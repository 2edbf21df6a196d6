#include "host/engine/distributed/shm/arena.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "host/engine/memory/allocator.h"

namespace rtrain::engine {
namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

struct ShmArena::Block {
  std::shared_ptr<ShmArena> arena;
  size_t offset;
  size_t bytes;
};

ShmArena::ShmArena(std::shared_ptr<ShmSegment> segment)
    : segment_(std::move(segment)), free_{{0, segment_->arena_bytes()}} {}

c10::DataPtr ShmArena::allocate(size_t bytes) {
  const size_t wanted = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  size_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(free_.begin(), free_.end(),
                                    [&](const auto& each) { return each.second >= wanted; });
    if (found == free_.end()) return {};
    offset = found->first;
    const size_t rest = found->second - wanted;
    free_.erase(found);
    if (rest > 0) free_.emplace(offset + wanted, rest);
  }
  note_foreign_bytes(static_cast<int64_t>(wanted));
  return {segment_->arena(segment_->rank()) + offset, new Block{shared_from_this(), offset, wanted},
          &free_block, c10::Device(c10::kCPU)};
}

void ShmArena::free_block(void* block) {
  const std::unique_ptr<Block> owned(static_cast<Block*>(block));
  owned->arena->release(owned->offset, owned->bytes);
}

void ShmArena::release(size_t offset, size_t bytes) {
  note_foreign_bytes(-static_cast<int64_t>(bytes));
  segment_->give_back(offset, bytes);
  const std::lock_guard lock(mutex_);
  auto place = free_.emplace(offset, bytes).first;
  const auto next = std::next(place);
  if (next != free_.end() && place->first + place->second == next->first) {
    place->second += next->second;
    free_.erase(next);
  }
  if (place == free_.begin()) return;
  const auto before = std::prev(place);
  if (before->first + before->second != place->first) return;
  before->second += place->second;
  free_.erase(place);
}

}  // namespace rtrain::engine
