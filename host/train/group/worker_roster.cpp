#include "host/train/group/worker_roster.h"

#include "host/base/text.h"
#include "host/machine/machine.h"

namespace rtrain {
namespace {

// "cpu", "cuda:1", "cuda:0,cuda:1".
std::string device_text(const std::vector<int>& gpus) {
  if (gpus.empty()) return "cpu";
  std::vector<std::string> names;
  for (const int device : gpus) names.push_back(cat("cuda:", device));
  return join(names, ",");
}

}  // namespace

WorkerRoster::WorkerRoster(IoCalls& io, int attempt)
    : io_(io), attempt_(attempt), host_(hostname()) {}

void WorkerRoster::add(int pid, const std::vector<int>& gpus) {
  rows_.push_back({.rank = size(),
                   .pid = pid,
                   .host = host_,
                   .device = device_text(gpus),
                   .exit_code = {},
                   .signal = {}});
  is_gone_.push_back(false);
}

void WorkerRoster::set_pid(int rank, int pid) {
  rows_.at(static_cast<size_t>(rank)).pid = pid;
  write();
}

void WorkerRoster::set_gpus(int rank, const std::vector<int>& gpus) {
  rows_.at(static_cast<size_t>(rank)).device = device_text(gpus);
  write();
}

void WorkerRoster::set_gone(int rank, const WorkerEnd& end) {
  WorkerRow& row = rows_.at(static_cast<size_t>(rank));
  if (end.status.signal != 0) {
    row.signal = end.status.signal;
  } else if (end.is_child && end.status.is_known) {
    row.exit_code = end.status.exit_code;
  }
  is_gone_.at(static_cast<size_t>(rank)) = true;
  write();
}

void WorkerRoster::write() {
  io_.write(
      [attempt = attempt_, rows = rows_](RunRecord& record) { record.set_workers(attempt, rows); });
}

}  // namespace rtrain
