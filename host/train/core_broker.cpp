#include "host/train/core_broker.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "host/base/clock.h"
#include "host/base/machine.h"
#include "host/base/resource_settings.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr std::chrono::milliseconds kPoll{100};
// A run that ends just now is not worth a line.
constexpr double kFirstNoticeS = 0.5;

std::string counted(size_t count, std::string_view noun) {
  return cat(count, " ", noun, count == 1 ? "" : "s");
}

// "'a' (pid 12, 3 cores), 'b' (pid 14, 1 core)".
std::string holders_text(const LeaseTable& table) {
  std::vector<std::string> parts;
  for (const LeaseShare& share : table.shares()) {
    parts.push_back(cat("'", share.holder.run, "' (pid ", share.holder.pid, ", ",
                        counted(share.cores.size(), "core"), ")"));
  }
  return join(parts, ", ");
}

// What a run that waits says: what it needs, what there is, who has the rest.
std::string waiting_text(const CoreRequest::Amount& amount) {
  const LeaseTable table = read_lease_table();
  const auto self = static_cast<int>(getpid());
  std::string text = cat("waiting for ", amount.min == amount.max ? "" : "at least ",
                         counted(static_cast<size_t>(amount.min), "core"), ": ", table.free(),
                         " of ", table.offered, table.offered == 1 ? " is free" : " are free");
  if (!table.held.empty()) text += cat("; in use by ", holders_text(table));
  size_t ahead = 0;
  for (const LeaseHolder& waiting : table.waiting) {
    if (waiting.pid == self) break;
    ++ahead;
  }
  if (ahead > 0)
    text += cat("; ", counted(ahead, "run"), ahead == 1 ? " was" : " were", " here earlier");
  return text;
}

}  // namespace

std::optional<Error> impossible_request(const RunSpec& spec) {
  const CoreRequest request(spec.min_workers, spec.max_workers, spec.threads);
  int cores = available_cores();
  try {
    cores = std::max(cores, offered_cores());
  } catch (const Error&) {
    // Said by the broker.
  }
  return request.impossible(cores);
}

CoreBroker::CoreBroker(const Seams& seams, Notice notice)
    : seams_(seams),
      request_(seams.spec.min_workers, seams.spec.max_workers, seams.spec.threads),
      notice_(std::move(notice)),
      poll_(seams.loop, [this] { ask(); }) {}

CoreBroker::~CoreBroker() = default;

void CoreBroker::request(std::function<void(int)> on_granted) {
  const bool is_fixed = seams_.spec.min_workers == seams_.spec.max_workers;
  if (held_ && is_fixed) return on_granted(seams_.spec.max_workers);
  if (without_)
    return on_granted(std::max(seams_.spec.min_workers, request_.workers(available_cores())));
  on_granted_ = std::move(on_granted);
  waiting_since_s_ = monotonic_s();
  next_notice_s_ = waiting_since_s_ + kFirstNoticeS;
  ask();
}

void CoreBroker::cancel() {
  on_granted_ = nullptr;
  poll_.stop();
}

void CoreBroker::ask() {
  seams_.io.post([this] {
    Answer answer{.offered = available_cores()};
    try {
      if (!lease_) {
        lease_ =
            std::make_unique<CoreLease>(LeaseHolder{seams_.spec.name, static_cast<int>(getpid())});
      }
      answer = take(*lease_, request_);
    } catch (const Error& e) {
      // A lock that is held for long is no reason to go without cores.
      if (e.code() == Code::kTimeout) {
        answer.waiting_for = e.message();
      } else {
        answer.trouble = e.message();
      }
    }
    seams_.loop.post([this, answer = std::move(answer)] { on_answer(answer); });
  });
}

CoreBroker::Answer CoreBroker::take(CoreLease& lease, const CoreRequest& request) {
  Answer answer{.offered = offered_cores()};
  const CoreRequest::Amount amount = request.amount(answer.offered);
  if (lease.try_take(amount.min, amount.max)) {
    answer.cores = lease.cores();
  } else {
    answer.waiting_for = waiting_text(amount);
  }
  return answer;
}

void CoreBroker::on_answer(const Answer& answer) {
  if (!on_granted_) return;
  if (!answer.cores && answer.trouble.empty()) {
    tell_waiting(answer.waiting_for);
    return poll_.start(kPoll);
  }
  // Without cores of its own the run is as large as the host allows.
  int workers = std::max(seams_.spec.min_workers, request_.workers(answer.offered));
  if (answer.cores) {
    if (!held_ && request_.is_crowded(answer.offered)) {
      notice_(
          cat(workers, " workers share ", counted(static_cast<size_t>(answer.offered), "core")));
    }
    cores_ = *answer.cores;
    held_ = true;
    if (!cores_.empty()) workers = request_.workers(static_cast<int>(cores_.size()));
  } else {
    without_ = true;
    notice_(cat("cores are not shared with other runs: ", answer.trouble));
  }
  std::exchange(on_granted_, nullptr)(workers);
}

void CoreBroker::tell_waiting(const std::string& text) {
  const double now = monotonic_s();
  if (now < next_notice_s_) return;
  next_notice_s_ = now + seams_.spec.resource_notice_s;
  const auto waited = static_cast<int64_t>(now - waiting_since_s_);
  notice_(waited == 0 ? text : cat(text, " (for ", waited, " s now)"));
}

void CoreBroker::look(std::function<void(int)> on_seen) {
  if (without_) return on_seen(request_.workers(available_cores()));
  seams_.io.post([this, on_seen = std::move(on_seen)] {
    int cores = 0;
    try {
      cores = lease_->room();
    } catch (const Error&) {
      // Busy, or the folder is gone: as it is.
      cores = lease_->size();
    }
    seams_.loop.post(
        [on_seen, workers = request_.workers(std::max(0, cores))] { on_seen(workers); });
  });
}

WorkerPlace CoreBroker::place(int rank, int num_workers) const {
  WorkerPlace out;
  const std::vector<int> processors = own_processors();
  bool bound = seams_.spec.threads > 0;
  for (const CoreLease::Core& core : share(rank, num_workers)) {
    out.lease_fds.push_back(core.fd);
    const auto number = static_cast<size_t>(core.core);
    if (number < processors.size()) {
      out.cpus.push_back(processors[number]);
    } else {
      bound = false;  // more cores are offered than there are
    }
  }
  if (!bound) out.cpus.clear();
  return out;
}

std::vector<CoreLease::Core> CoreBroker::share(int rank, int num_workers) const {
  const auto count = static_cast<int>(cores_.size());
  if (count == 0) return {};
  if (count < num_workers) return {cores_[static_cast<size_t>(rank % count)]};
  const int each = count / num_workers;
  return {cores_.begin() + rank * each, cores_.begin() + (rank + 1) * each};
}

}  // namespace rtrain
