// tests/bench/ddp_floor/main.cpp: the training of ../train.lua in C++ on the same LibTorch, as two
// processes that call c10d::Reducer directly: the time of a step without Lua and without the other
// parts of a run.
//
//   ddp_floor shm|gloo convnet|mlp STEPS WARM BATCH DATA EVENTS
//
// Marks the same moments as train.lua. shm: CPU tensors travel as between rtrain's workers, and
// DDP's buckets lie in the shared segment. gloo: c10d's own ProcessGroupGloo.
#include <ATen/Context.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <vector>

#include "tests/bench/ddp_floor/events.h"
#include "tests/bench/ddp_floor/group.h"
#include "tests/bench/ddp_floor/images.h"
#include "tests/bench/ddp_floor/model.h"
#include "tests/bench/ddp_floor/optimizer.h"

namespace rtrain::floor {
namespace {

constexpr int kRanks = 2;
constexpr uint64_t kSeed = 0;

struct Settings {
  std::string backend, model;
  int steps = 0, warm = 0;
  int64_t batch = 0;
  std::string data, events;
};

// Creates the reducer as Python's DistributedDataParallel does: with one bucket, until the first
// backward has shown the order of the gradients.
std::unique_ptr<c10d::Reducer> make_reducer(const Model& model, const FloorGroup& group) {
  const std::vector<bool> dense(model.params.size(), false);
  auto buckets =
      std::get<0>(c10d::compute_bucket_assignment_by_size(model.params, {SIZE_MAX}, dense));
  std::reverse(buckets.begin(), buckets.end());
  const engine::TensorPlaceScope place(group.place());
  return std::make_unique<c10d::Reducer>(
      model.params, std::move(buckets), group.process_group(), dense, int64_t{25} << 20,
      /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true,
      std::unordered_map<size_t, std::string>{}, int64_t{c10d::kDefaultFirstBucketBytes},
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      std::vector<int64_t>{});
}

void zero_grads(const std::vector<at::Tensor>& params) {
  std::vector<at::Tensor> grads;
  for (const at::Tensor& param : params) {
    if (param.grad().defined()) grads.push_back(param.grad());
  }
  const at::NoGradGuard no_grad;
  if (!grads.empty()) at::_foreach_zero_(grads);
}

void train(const Settings& settings, int rank, const std::string& folder) {
  Events events(settings.events, rank);
  events.mark("train_fn");
  const auto store = c10::make_intrusive<c10d::FileStore>(folder + "/store", kRanks);
  const FloorGroup group(settings.backend, rank, kRanks, store);
  at::manual_seed(kSeed);
  Images images(settings.data, settings.batch, kSeed, rank, kRanks);
  events.mark("data");
  Model model = settings.model == "convnet" ? make_convnet() : make_mlp();
  const auto reducer = make_reducer(model, group);
  const auto optimizer =
      settings.model == "convnet" ? make_adadelta(model.params, 1.0) : make_sgd(model.params, 0.01);
  events.mark("model");

  Stopwatch watch;
  at::Tensor loss;
  for (int step = 1; step <= settings.steps; ++step) {
    watch.restart();
    const auto [batch, labels] = images.next();
    watch.lap("load");
    zero_grads(model.params);
    reducer->prepare_for_forward();
    {
      const engine::TensorPlaceScope place(group.place());
      reducer->rebuild_buckets();
    }
    const at::Tensor output = model.forward(batch);
    reducer->prepare_for_backward({});
    loss = at::cross_entropy_loss(output, labels);
    watch.lap("forward");
    loss.backward();
    watch.lap("backward");
    optimizer->step();
    watch.lap("update");
    events.mark("step", step);
    if (step == settings.warm) watch = Stopwatch();
  }
  for (const auto& [part, seconds] : watch.parts()) {
    events.mark("part_" + part, seconds / std::max(1, settings.steps - settings.warm));
  }
  events.mark("loss", loss.item<double>());
}

// Returns the exit status.
int run_rank(const Settings& settings, int rank, const std::string& folder) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    train(settings, rank, folder);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    return 1;
  }
}

int run(const Settings& settings) {
  std::string folder = (std::filesystem::temp_directory_path() / "ddp-floor-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (fork() == 0) _exit(run_rank(settings, rank, folder));
  }
  int failed = 0;
  for (int status = 0; wait(&status) > 0;) failed |= status != 0;
  std::filesystem::remove_all(folder);
  return failed;
}

}  // namespace
}  // namespace rtrain::floor

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  return rtrain::floor::run({.backend = argv[1],
                             .model = argv[2],
                             .steps = std::atoi(argv[3]),
                             .warm = std::atoi(argv[4]),
                             .batch = std::atoi(argv[5]),
                             .data = argv[6],
                             .events = argv[7]});
}
