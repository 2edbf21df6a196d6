#include "host/engine/data/job_board.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace rtrain::engine {
namespace {

class ByteCounter {
 public:
  size_t count(const Tree& tree) {
    size_t bytes = sizeof(Tree);
    if (const auto* tensor = std::get_if<at::Tensor>(&tree)) {
      if (tensor->defined() && tensor->layout() == c10::kStrided) bytes += tensor->nbytes();
    } else if (const auto* text = std::get_if<std::string>(&tree)) {
      bytes += text->size();
    } else if (const auto* list = std::get_if<std::shared_ptr<TreeList>>(&tree)) {
      if (seen_.insert(list->get()).second) bytes += count_all((*list)->items);
    } else if (const auto* map = std::get_if<std::shared_ptr<TreeMap>>(&tree)) {
      if (!seen_.insert(map->get()).second) return bytes;
      for (const auto& [key, item] : (*map)->entries) bytes += sizeof(Key) + count(item);
    }
    return bytes;
  }

  size_t count_all(const std::vector<Tree>& items) {
    size_t bytes = 0;
    for (const Tree& item : items) bytes += count(item);
    return bytes;
  }

 private:
  std::unordered_set<const void*> seen_;
};

}  // namespace

size_t tree_bytes(const Tree& tree) { return ByteCounter().count(tree); }

JobBoard::JobBoard(BoardOptions options, int num_workers)
    : options_(options),
      left_(static_cast<size_t>(num_workers)),
      stats_(static_cast<size_t>(num_workers)),
      busy_since_(static_cast<size_t>(num_workers)) {}

bool JobBoard::submit(Tree request) {
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() >= options_.capacity) return false;
    const std::shared_ptr<Job> job(new Job(next_number_++, std::move(request)));
    jobs_.emplace(job->number, job);
    queue_.push_back(job);
  }
  work_.notify_all();
  return true;
}

void JobBoard::erase(uint64_t number) {
  jobs_.erase(number);
  if (current_ == number) current_.reset();
  work_.notify_all();  // the owner may now wait for another job
}

std::shared_ptr<Job> JobBoard::choose() {
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    const std::shared_ptr<Job> job = it->second;
    ++it;
    if (current_ && *current_ != job->number) continue;
    if (!job->items_.empty()) return job;
    if (job->is_finished_) {
      const bool was_current = current_ == job->number;
      erase(job->number);
      if (was_current) it = jobs_.begin();
      continue;
    }
    if (options_.in_order || current_) return nullptr;
  }
  return nullptr;
}

Values JobBoard::take_item(const std::shared_ptr<Job>& job) {
  const Job::Item item = std::move(job->items_.front());
  job->items_.pop_front();
  bytes_ -= item.bytes;
  if (!options_.in_order) current_ = job->number;
  if (job->is_finished_ && job->items_.empty()) erase(job->number);
  work_.notify_all();
  if (const auto* error = std::get_if<Error>(&item.result)) throw Error(*error);
  return std::get<Values>(item.result);
}

JobBoard::Taken JobBoard::next(std::chrono::milliseconds timeout) {
  Lock lock(mutex_);
  std::shared_ptr<Job> job;
  const auto start = Clock::now();
  const bool in_time = done_.wait_for(lock, timeout, [&] {
    job = choose();
    return job != nullptr || jobs_.empty() || broken_.has_value();
  });
  owner_wait_ += Clock::now() - start;
  if (job != nullptr) return {Taken::Kind::kValues, take_item(job)};
  if (broken_ && !jobs_.empty()) throw Error(*broken_);
  if (in_time) return {Taken::Kind::kNothing, {}};
  job = current_ ? jobs_.at(*current_) : jobs_.begin()->second;
  return {Taken::Kind::kTimeout, {}, job, job->worker_};
}

void JobBoard::clear() {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, job] : jobs_) {
      job->is_forgotten_ = true;
      job->items_.clear();
    }
    jobs_.clear();
    queue_.clear();
    current_.reset();
    bytes_ = 0;
  }
  work_.notify_all();
}

size_t JobBoard::in_flight() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

BoardStats JobBoard::stats() const {
  const std::lock_guard lock(mutex_);
  BoardStats out{stats_, owner_wait_, jobs_.size(), 0, bytes_};
  for (const auto& [number, job] : jobs_) out.results_waiting += job->items_.size();
  return out;
}

void JobBoard::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  clear();
}

bool JobBoard::wait_until_left(std::chrono::milliseconds timeout) {
  Lock lock(mutex_);
  return done_.wait_for(lock, timeout, [this] {
    return std::all_of(left_.begin(), left_.end(), [](bool left) { return left; });
  });
}

bool JobBoard::has_left(int worker) const {
  const std::lock_guard lock(mutex_);
  return left_[static_cast<size_t>(worker)];
}

// Whether next() cannot return before this job has another result.
bool JobBoard::is_awaited(const Job& job) const {
  if (!job.items_.empty()) return false;
  if (options_.in_order) return !jobs_.empty() && jobs_.begin()->first == job.number;
  return current_ == job.number;
}

bool JobBoard::may_make(const Job& job) const {
  return bytes_ < options_.capacity_bytes || is_awaited(job);
}

bool JobBoard::can_begin() const { return !queue_.empty() && may_make(*queue_.front()); }

std::shared_ptr<Job> JobBoard::take(int worker) {
  Lock lock(mutex_);
  WorkerStats& stats = stats_[static_cast<size_t>(worker)];
  auto start = Clock::now();
  if (!stopping_ && queue_.empty()) {
    work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    stats.idle += Clock::now() - start;
    start = Clock::now();
  }
  // Another worker may take the front job meanwhile; then this worker waits for the next one.
  work_.wait(lock, [this] { return stopping_ || can_begin(); });
  stats.blocked += Clock::now() - start;
  if (stopping_) return nullptr;
  std::shared_ptr<Job> job = queue_.front();
  queue_.pop_front();
  job->worker_ = worker;
  busy_since_[static_cast<size_t>(worker)] = Clock::now();
  return job;
}

bool JobBoard::add(Job& job, Job::Item item, bool is_last) {
  {
    const std::lock_guard lock(mutex_);
    WorkerStats& stats = stats_[static_cast<size_t>(*job.worker_)];
    auto& since = busy_since_[static_cast<size_t>(*job.worker_)];
    const auto now = Clock::now();
    stats.busy += now - std::exchange(since, now);
    if (job.is_forgotten_ || stopping_) return false;
    stats.results += 1;
    bytes_ += item.bytes;
    job.items_.push_back(std::move(item));
    job.is_finished_ = is_last;
  }
  done_.notify_all();
  return true;
}

bool JobBoard::publish(Job& job, Values values) {
  const size_t bytes = ByteCounter().count_all(values);
  return add(job, {std::move(values), bytes}, false);
}

void JobBoard::publish_last(Job& job, Values values) {
  const size_t bytes = ByteCounter().count_all(values);
  add(job, {std::move(values), bytes}, true);
}

void JobBoard::publish_last(Job& job, Error error) { add(job, {std::move(error), 0}, true); }

bool JobBoard::has_room(Job& job, int worker) {
  Lock lock(mutex_);
  const auto start = Clock::now();
  work_.wait(lock, [&] { return stopping_ || job.is_forgotten_ || may_make(job); });
  const auto now = Clock::now();
  stats_[static_cast<size_t>(worker)].blocked += now - start;
  busy_since_[static_cast<size_t>(worker)] = now;
  return !stopping_ && !job.is_forgotten_;
}

void JobBoard::finish(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    job.is_finished_ = true;
  }
  done_.notify_all();
}

void JobBoard::fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    broken_ = error;
  }
  done_.notify_all();
}

void JobBoard::leave(int worker) {
  {
    const std::lock_guard lock(mutex_);
    left_[static_cast<size_t>(worker)] = true;
  }
  done_.notify_all();
}

}  // namespace rtrain::engine
