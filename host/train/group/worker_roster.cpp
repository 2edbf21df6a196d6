#include "host/train/group/worker_roster.h"

#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

// "cpu", "cuda:1", "cuda:0,cuda:1".
std::string device_text(const std::vector<int>& gpus) {
  if (gpus.empty()) return "cpu";
  std::vector<std::string> names;
  for (const int device : gpus) names.push_back(cat("cuda:", device));
  return join(names, ",");
}

}  // namespace

WorkerRoster::WorkerRoster(loop::Loop& loop, IoCalls& io, int attempt, int num_workers)
    : io_(io),
      attempt_(attempt),
      workers_(static_cast<size_t>(num_workers)),
      turn_end_(loop, [this] { write(); }) {}

store::WorkerRow& WorkerRoster::change(int rank) {
  if (!at(rank).row) throw Error(Code::kArgument, cat("rank ", rank, " was not started"));
  changed_.insert(rank);
  turn_end_.ask();
  return *at(rank).row;
}

void WorkerRoster::add(int rank, const std::string& node_name, const node::SpawnedWorker& worker) {
  std::vector<int> gpus;
  for (const node::WorkerGpu& gpu : worker.gpus) gpus.push_back(gpu.number);
  at(rank).row = store::WorkerRow{.rank = rank,
                                  .pid = worker.pid,
                                  .host = node_name,
                                  .device = device_text(gpus),
                                  .exit_code = {},
                                  .signal = {}};
  change(rank);
}

void WorkerRoster::set_pid(int rank, int pid) { change(rank).pid = pid; }

void WorkerRoster::set_gpus(int rank, const std::vector<int>& gpus) {
  change(rank).device = device_text(gpus);
}

void WorkerRoster::set_gone(int rank, const node::WorkerEnd& end) {
  at(rank).is_gone = true;
  if (!at(rank).row) return;  // its node was lost before the rank was started
  store::WorkerRow& row = change(rank);
  if (end.status.signal != 0) {
    row.signal = end.status.signal;
  } else if (end.is_child && end.status.is_known) {
    row.exit_code = end.status.exit_code;
  }
}

void WorkerRoster::write() {
  if (changed_.empty()) return;
  std::vector<store::WorkerRow> rows;
  for (const int rank : std::exchange(changed_, {})) rows.push_back(*at(rank).row);
  io_.write([attempt = attempt_, rows = std::move(rows)](RunRecord& record) {
    record.set_workers(attempt, rows);
  });
}

}  // namespace rtrain::train
