// tests/bench/ddp_floor/group.h: a process group of c10d with one backend and nothing else.
#pragma once

#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "host/engine/memory/tensor_place.h"

namespace rtrain::engine {
class ShmArena;
}  // namespace rtrain::engine

namespace rtrain {}

namespace rtrain::floor {

class FloorGroup {
 public:
  // Waits for the other ranks. `backend` is "shm" or "gloo".
  FloorGroup(const std::string& backend, int rank, int ranks,
             const c10::intrusive_ptr<c10d::Store>& store);

  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return group_; }
  // The place of DDP's buckets; null: ordinary memory.
  engine::TensorPlace* place() const;

 private:
  void connect_shm(c10d::Store& store);
  void connect_gloo(const c10::intrusive_ptr<c10d::Store>& store);

  int rank_, ranks_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::shared_ptr<engine::ShmArena> arena_;
};

}  // namespace rtrain::floor
