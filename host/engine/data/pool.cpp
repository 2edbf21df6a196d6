#include "host/engine/data/pool.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <pthread.h>

#include <optional>

#include "host/base/text/text.h"
#include "host/engine/runtime/blocking.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/loader_thread.h"
#include "host/engine/runtime/phase_region.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"

namespace rtrain::engine {
namespace {

constexpr size_t kShownSamples = 8;

const Tree* field(const Tree& request, const char* name) {
  const auto* map = std::get_if<std::shared_ptr<TreeMap>>(&request);
  if (map == nullptr) return nullptr;
  for (const auto& [key, item] : (*map)->entries) {
    if (key == Key(name)) return &item;
  }
  return nullptr;
}

// The first sample indices of a list of integers or a tensor, and how many there are in all;
// nullopt for anything else.
struct Samples {
  std::vector<int64_t> first;
  size_t count = 0;
};

std::optional<Samples> samples_of(const std::vector<Tree>& items) {
  Samples out{{}, items.size()};
  for (size_t i = 0; i < items.size() && i < kShownSamples; ++i) {
    const auto* index = std::get_if<int64_t>(&items[i]);
    if (index == nullptr) return std::nullopt;
    out.first.push_back(*index);
  }
  return out;
}

std::optional<Samples> samples_of(const at::Tensor& indices) {
  if (indices.dim() != 1 || indices.scalar_type() != at::kLong || !indices.is_cpu()) {
    return std::nullopt;
  }
  Samples out{{}, static_cast<size_t>(indices.size(0))};
  for (int64_t i = 0; i < indices.size(0) && out.first.size() < kShownSamples; ++i) {
    out.first.push_back(indices.const_data_ptr<int64_t>()[i * indices.stride(0)]);
  }
  return out;
}

// "samples 3, 7, 9"; nullopt if the request does not list samples.
std::optional<std::string> describe_samples(const Tree& request) {
  std::optional<Samples> samples;
  if (const auto* list = std::get_if<std::shared_ptr<TreeList>>(&request)) {
    samples = samples_of((*list)->items);
  } else if (const auto* tensor = std::get_if<at::Tensor>(&request)) {
    samples = samples_of(*tensor);
  }
  if (!samples) return std::nullopt;
  std::string out = "samples ";
  for (size_t i = 0; i < samples->first.size(); ++i) {
    out += cat(i == 0 ? "" : ", ", samples->first[i]);
  }
  return samples->count > kShownSamples ? cat(out, ", … (", samples->count, " in all)") : out;
}

// Describes a request, for error messages: its field `name`, or the samples that the request or its
// field `indices` lists. Empty if the field `name` is empty.
std::string describe_request(const Tree& request) {
  if (const Tree* name = field(request, "name")) {
    if (const auto* text = std::get_if<std::string>(name)) return *text;
  }
  const Tree* indices = field(request, "indices");
  if (indices != nullptr && std::holds_alternative<int64_t>(*indices)) {
    return cat("sample ", std::get<int64_t>(*indices));
  }
  return describe_samples(indices != nullptr ? *indices : request).value_or("a request");
}

// The values from stack index `first` to the top.
Values values_from(lua_State* L, int first) {
  Values out;
  for (int i = first; i <= lua_gettop(L); ++i) out.push_back(to_tree(L, i, "result"));
  return out;
}

}  // namespace

// Shared with the workers. Outlives the pool while an abandoned worker runs.
struct Pool::Shared {
  explicit Shared(PoolOptions given)
      : options(std::move(given)), board(options.board, options.num_workers) {}
  const PoolOptions options;
  JobBoard board;
};

// What one thread runs. Its members are used only by that thread, except the board.
class Pool::Worker {
 public:
  Worker(const api::HostApi& host, std::shared_ptr<Shared> shared, int number)
      : host_(host),
        shared_(std::move(shared)),
        number_(number),
        id_(shared_->options.first_worker + number) {}

  void run() {
    ::pthread_setname_np(::pthread_self(), "rtrain-loader");
    at::set_num_threads(1);  // the training thread uses the other cores
    const c10::NoGradGuard no_grad;
    const LoaderThread no_default_generator;
    lua_State* L = nullptr;
    try {
      L = host_.new_state();
      serve(L);
    } catch (const std::exception& e) {
      board().fail(located(TorchTranslate::from(e), ""));
    }
    if (L != nullptr) host_.close_state(L);
    board().leave(number_);
  }

 private:
  JobBoard& board() { return shared_->board; }

  Error located(const Error& error, const std::string& request) const {
    return Error(error.code(),
                 cat(shared_->options.name, " worker ", id_, request.empty() ? "" : ", ", request,
                     ": ", error.message()),
                 error.traceback());
  }

  void load(lua_State* L) {
    lua::push_module_function(L, "base._closure", "load");
    lua_pushlstring(L, shared_->options.function.data(), shared_->options.function.size());
    lua::protected_call(L, 1, 1);
  }

  void serve(lua_State* L) {
    // Loads torch._C first: unpacking needs the userdata class of storages.
    lua::push_module(L, "torch._C");
    lua_pop(L, 1);
    const UseStorages use(shared_->options.storages);
    load(L);
    const int function = lua_gettop(L);
    while (const std::shared_ptr<Job> job = board().take(number_)) {
      try {
        serve_job(L, *job, function);
      } catch (const std::exception& e) {
        board().publish_last(*job,
                             located(TorchTranslate::from(e), describe_request(job->request)));
      }
      lua_settop(L, function);
    }
  }

  void serve_job(lua_State* L, Job& job, int function) {
    lua_pushvalue(L, function);
    push_tree(L, job.request);
    lua_pushnumber(L, id_);
    lua::protected_call(L, 2, LUA_MULTRET);
    const int first = function + 1;
    if (lua_gettop(L) == first && lua_isfunction(L, first)) return serve_stream(L, job, first);
    board().publish_last(job, values_from(L, first));
  }

  void serve_stream(lua_State* L, Job& job, int stream) {
    while (board().has_room(job, number_)) {
      lua_pushvalue(L, stream);
      lua::protected_call(L, 0, LUA_MULTRET);
      if (lua_gettop(L) == stream || lua_isnil(L, stream + 1)) break;
      if (!board().publish(job, values_from(L, stream + 1))) break;
      lua_settop(L, stream);
    }
    board().finish(job);
  }

  const api::HostApi& host_;
  const std::shared_ptr<Shared> shared_;
  const int number_;  // index in the pool
  const int id_;      // in messages and for the function
};

Pool::Pool(const api::HostApi& host, PoolOptions options)
    : host_(host), shared_(std::make_shared<Shared>(std::move(options))) {
  at::get_num_threads();  // initializes ATen's thread count before workers set theirs
  const PoolOptions& given = shared_->options;
  try {
    for (int i = 0; i < given.num_workers; ++i) {
      threads_.emplace_back(
          [&host = host_, shared = shared_, i] { Worker(host, shared, i).run(); });
    }
  } catch (const std::exception&) {
    for (size_t i = threads_.size(); i < static_cast<size_t>(given.num_workers); ++i) {
      shared_->board.leave(static_cast<int>(i));
    }
    shared_->board.fail(Error(Code::kEnvironment,
                              cat(given.name, ": the system gave only ", threads_.size(), " of ",
                                  given.num_workers, " worker threads: ask for fewer")));
  }
}

Pool::~Pool() { close(); }

bool Pool::submit(Tree request) {
  if (is_closed_) {
    throw Error(Code::kArgument, cat(shared_->options.name, ": submit() after close()"));
  }
  return shared_->board.submit(std::move(request));
}

Values Pool::next() {
  const PoolOptions& options = shared_->options;
  const BlockingRegion region(host_, WaitKind::kData, options.name.c_str());
  const PhaseRegion phase(host_, TrainPhase::kData);
  JobBoard::Taken taken = shared_->board.next(options.timeout);
  if (taken.kind != JobBoard::Taken::Kind::kTimeout) {
    if (host_.batches != nullptr) host_.batches->fetch_add(1, std::memory_order_relaxed);
    return std::move(taken.values);
  }
  const double waited_s = std::chrono::duration<double>(options.timeout).count();
  const std::string worker = taken.worker
                                 ? cat("worker ", options.first_worker + *taken.worker, " has it")
                                 : "no worker has begun it";
  const std::string request = describe_request(taken.job->request);
  throw Error(Code::kTimeout,
              cat(options.name, ": ", request.empty() ? "a request" : request, " took longer than ",
                  waited_s, " s (", worker, "): look for a wait in what the workers run, or raise ",
                  options.timeout_name));
}

void Pool::clear() { shared_->board.clear(); }

size_t Pool::in_flight() const { return shared_->board.in_flight(); }

BoardStats Pool::stats() const { return shared_->board.stats(); }

void Pool::close() {
  if (is_closed_) return;
  is_closed_ = true;
  JobBoard& board = shared_->board;
  board.stop();
  const auto grace = shared_->options.close_timeout;
  if (!board.wait_until_left(grace) && host_.warn != nullptr) {
    host_.warn(cat(shared_->options.name, ": a worker thread did not end within ",
                   std::chrono::duration<double>(grace).count(),
                   " s and is left behind: its function is still busy"));
  }
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (board.has_left(static_cast<int>(i))) {
      threads_[i].join();
    } else {
      threads_[i].detach();
    }
  }
  threads_.clear();
}

}  // namespace rtrain::engine
