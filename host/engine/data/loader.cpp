#include "host/engine/data/loader.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "host/base/text.h"
#include "host/engine/guard.h"
#include "host/lua/guard.h"

namespace rtrain {
namespace {

constexpr size_t kShownSamples = 8;

// "samples 3, 7, 9": what a request asked for, as far as it is a list of integers, or has one as
// its field `indices`.
std::string describe_request(const Tree& request) {
  if (const auto* map = std::get_if<std::shared_ptr<TreeMap>>(&request)) {
    for (const auto& [key, item] : (*map)->entries) {
      if (key == Key("indices")) return describe_request(item);
    }
  }
  const auto* list = std::get_if<std::shared_ptr<TreeList>>(&request);
  if (list == nullptr) return "a batch";
  std::string out = "samples ";
  const auto& items = (*list)->items;
  for (size_t i = 0; i < items.size() && i < kShownSamples; ++i) {
    const auto* index = std::get_if<int64_t>(&items[i]);
    if (index == nullptr) return "a batch";
    out += cat(i == 0 ? "" : ", ", *index);
  }
  return items.size() > kShownSamples ? cat(out, ", … (", items.size(), " in all)") : out;
}

// The values from the index to the top as one list.
Tree results(lua_State* L, int first) {
  auto out = std::make_shared<TreeList>();
  for (int i = first; i <= lua_gettop(L); ++i) out->items.push_back(to_tree(L, i, "batch"));
  return out;
}

}  // namespace

Loader::Loader(const HostApi& host, LoaderOptions options)
    : host_(host), options_(std::move(options)) {
  if (options_.num_workers < 1 || options_.prefetch_factor < 1) {
    throw Error(Code::kArgument, "DataLoader: num_workers and prefetch_factor must be at least 1");
  }
  try {
    for (int i = 0; i < options_.num_workers; ++i) {
      threads_.emplace_back([this, i] { run_worker(i); });
    }
  } catch (const std::exception&) {
    fail_all(Error(Code::kEnvironment, cat("DataLoader: the system gave only ", threads_.size(),
                                           " of ", options_.num_workers, " worker threads")));
  }
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Loader::submit(Tree request) {
  {
    const std::lock_guard lock(mutex_);
    const auto capacity =
        static_cast<size_t>(options_.num_workers) * static_cast<size_t>(options_.prefetch_factor);
    if (open_.size() >= capacity) return false;
    open_.emplace(next_number_, request);
    queue_.push_back({next_number_++, std::move(request)});
  }
  work_.notify_one();
  return true;
}

std::vector<Tree> Loader::next() {
  std::unique_lock lock(mutex_);
  if (open_.empty()) {
    throw Error(Code::kArgument, "DataLoader: no batch was asked for");
  }
  const uint64_t number = open_.begin()->first;
  done_.wait_for(lock, options_.timeout,
                 [&] { return results_.contains(number) || broken_.has_value(); });
  const std::string name = describe_request(open_.begin()->second);
  open_.erase(open_.begin());
  const auto found = results_.find(number);
  if (found == results_.end()) {
    if (broken_) throw Error(*broken_);
    const auto waited_s =
        std::chrono::duration_cast<std::chrono::seconds>(options_.timeout).count();
    throw Error(Code::kTimeout, cat("DataLoader: ", name, " took longer than ", int64_t{waited_s},
                                    " s", ": look for a wait in the dataset, or raise timeout_s"));
  }
  const Result result = std::move(found->second);
  results_.erase(found);
  if (const auto* error = std::get_if<Error>(&result)) throw Error(*error);
  return std::get<std::shared_ptr<TreeList>>(std::get<Tree>(result))->items;
}

void Loader::clear() {
  const std::lock_guard lock(mutex_);
  queue_.clear();
  results_.clear();
  open_.clear();
  first_live_ = next_number_;
}

size_t Loader::in_flight() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

std::optional<Loader::Request> Loader::take() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  if (stopping_) return std::nullopt;
  Request out = std::move(queue_.front());
  queue_.pop_front();
  return out;
}

void Loader::finish(uint64_t number, Result result) {
  {
    const std::lock_guard lock(mutex_);
    if (number >= first_live_) results_.emplace(number, std::move(result));
  }
  done_.notify_all();
}

void Loader::fail_all(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    broken_ = error;
  }
  done_.notify_all();
}

void Loader::run_worker(int worker) {
  at::set_num_threads(1);  // the training thread uses the cores
  const c10::NoGradGuard no_grad;
  lua_State* L = nullptr;
  try {
    L = host_.new_state();
    serve(L, worker);
  } catch (const std::exception& e) {
    const Error error = TorchTranslate::from(e);
    fail_all(Error(error.code(), cat("DataLoader worker ", worker, ": ", error.message()),
                   error.traceback()));
  }
  if (L != nullptr) host_.close_state(L);
}

void Loader::serve(lua_State* L, int worker) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "rtrain._closure");
  protected_call(L, 1, 1);
  lua_getfield(L, -1, "load");
  lua_pushlstring(L, options_.function.data(), options_.function.size());
  protected_call(L, 1, 1);
  const int function = lua_gettop(L);
  while (std::optional<Request> request = take()) {
    try {
      lua_pushvalue(L, function);
      push_tree(L, request->tree);
      protected_call(L, 1, LUA_MULTRET);
      finish(request->number, results(L, function + 1));
    } catch (const std::exception& e) {
      const Error error = TorchTranslate::from(e);
      finish(request->number, Error(error.code(),
                                    cat("DataLoader worker ", worker, ", ",
                                        describe_request(request->tree), ": ", error.message()),
                                    error.traceback()));
    }
    lua_settop(L, function);
  }
}

}  // namespace rtrain
