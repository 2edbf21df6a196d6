#include "tests/bench/ddp_floor/group.h"

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "host/engine/distributed/shm/arena.h"
#include "host/engine/distributed/shm/backend.h"
#include "host/engine/distributed/shm/segment.h"
#include "host/engine/memory/allocator.h"

namespace rtrain::floor {
namespace {

constexpr std::chrono::milliseconds kTimeout = std::chrono::minutes(1);

void wait_for_all(c10d::Store& store, int rank, int ranks) {
  std::vector<std::string> keys;
  for (int each = 0; each < ranks; ++each) keys.push_back("here/" + std::to_string(each));
  store.set(keys[static_cast<size_t>(rank)], "1");
  store.wait(keys);
}

engine::ShmSegment open_segment(c10d::Store& store, int rank, int ranks) {
  if (rank > 0) {
    const auto address = engine::ShmSegment::Address::parse(store.get_to_str("segment"));
    return engine::ShmSegment::open(address, rank, ranks);
  }
  engine::ShmSegment out = engine::ShmSegment::create(rank, ranks);
  store.set("segment", out.address().to_text());
  return out;
}

}  // namespace

FloorGroup::FloorGroup(const std::string& backend, int rank, int ranks,
                       const c10::intrusive_ptr<c10d::Store>& store)
    : rank_(rank),
      ranks_(ranks),
      group_(c10::make_intrusive<c10d::ProcessGroup>(store, rank, ranks)) {
  backend == "shm" ? connect_shm(*store) : connect_gloo(store);
}

engine::TensorPlace* FloorGroup::place() const { return arena_.get(); }

void FloorGroup::connect_shm(c10d::Store& store) {
  engine::install_allocator();
  const auto segment = std::make_shared<engine::ShmSegment>(open_segment(store, rank_, ranks_));
  wait_for_all(store, rank_, ranks_);
  segment->seal();
  const auto shm = c10::make_intrusive<engine::ShmBackend>(segment, kTimeout);
  arena_ = shm->arena();
  group_->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::CUSTOM, shm);
  group_->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
}

void FloorGroup::connect_gloo(const c10::intrusive_ptr<c10d::Store>& store) {
  auto options = c10d::ProcessGroupGloo::Options::create(kTimeout);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  const auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank_, ranks_, options);
  group_->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
  group_->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  wait_for_all(*store, rank_, ranks_);
}

}  // namespace rtrain::floor
