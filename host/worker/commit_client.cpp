#include "host/worker/commit_client.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "host/base/clock.h"
#include "host/base/fault.h"
#include "host/base/text/text.h"
#include "host/loop/processes/worker_descriptors.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/worker/worker_process.h"

namespace rtrain::worker {
namespace {

// The limit for the copies of a node's ranks, which are one message.
constexpr size_t kMostCopiedBytes = size_t{512} << 10;

}  // namespace

std::string CommitClient::refusal() const {
  const loop::WorkerContext& context = worker_.context();
  if (worker_.is_local()) {
    if (context.world_size == 1) return "the train function runs in the script's own process";
    return "the launcher has started each rank, and starts none again; with one process of it on "
           "each node rtrain starts the ranks, and replaces them";
  }
  if (context.world_size == 1 && !context.can_grow) return "there is one rank";
  return "";
}

bool CommitClient::ends_with_rank() const { return worker_.is_local(); }

bool CommitClient::has_devices() const { return !worker_.context().gpus.empty(); }

pages::CommitBoard& CommitClient::board() {
  if (!board_) board_.emplace(pages::CommitBoard::Inherited{loop::kCommitsFd});
  return *board_;
}

int CommitClient::place() const { return worker_.place(); }

// Whether all ranks are on this node.
bool CommitClient::is_alone() const {
  return worker_.context().local_world_size == worker_.context().world_size;
}

void CommitClient::enter(uint64_t step) {
  prepared_ = committed_ = step;
  board().set_ready(place(), step);
  board().set_absent(place(), false);
}

bool CommitClient::is_copied() const { return worker_.context().is_copied; }

// The copies are whole or left out: without one of them the node's ranks cannot move.
message::NodeReady CommitClient::node_ready(uint64_t step) {
  message::NodeReady out{.step = static_cast<int64_t>(step)};
  size_t bytes = 0;
  for (int each = board().first_rank(); is_copied() && each < board().size(); ++each) {
    auto copy = board().read(each, pages::CommitBoard::Part::kCopy, step);
    if (!copy) continue;
    bytes += copy->size();
    out.copies.push_back({.place = each, .bytes = std::move(*copy)});
  }
  if (bytes > kMostCopiedBytes) out.copies.clear();
  return out;
}

void CommitClient::prepare(uint64_t step, std::string_view small, std::string_view copy) {
  fault_point("elastic.prepare");
  board().write(place(), pages::CommitBoard::Part::kPrepared, step, small);
  if (is_copied()) board().write(place(), pages::CommitBoard::Part::kCopy, step, copy);
  board().set_ready(place(), step);
  const std::chrono::duration<double> timeout(worker_.context().timeout_s);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::ceil<std::chrono::milliseconds>(timeout);
  const WaitScope waits(worker_.progress(), WaitKind::kAgreement, "state:commit()");
  if (is_alone()) {
    board().wait(step, deadline);
  } else {
    // Several ranks may find that all are ready. Each of them sends the message.
    if (board().is_node_ready(step)) worker_.tell(node_ready(step));
    board().wait(step, deadline, pages::CommitBoard::Scope::kAllHosts);
  }
  prepared_ = step;
}

void CommitClient::commit(uint64_t step, std::string_view small) {
  fault_point("elastic.commit");
  board().write(place(), pages::CommitBoard::Part::kCommitted, step, small);
  committed_ = step;
}

std::optional<std::string> CommitClient::read(pages::CommitBoard::Part part, uint64_t step) {
  return board().read(place(), part, step);
}

void CommitClient::set_healable(bool is, std::string_view fixed) {
  worker_.tell(message::Healable{.is = is, .fixed = std::string(fixed)});
}

void CommitClient::leave() {
  board().set_absent(place(), true);
  lua::cut_groups();
}

void CommitClient::go_back(uint64_t step, int64_t index, const Error& error) {
  fault_point("elastic.back");
  worker_.change_attempt({.step = static_cast<int64_t>(step),
                          .index = index,
                          .error = error,
                          .time_s = monotonic_s()});
}

}  // namespace rtrain::worker
