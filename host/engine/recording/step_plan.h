// host/engine/recording/step_plan.h: a StepPlan: makes the calls of a Record once more, for other
// arguments, without the script and without autograd.
//
// The tensors that it changes are those that the step changed: parameters, buffers, states of
// optimizers, gradients. One thread at a time uses it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "host/engine/recording/kernel_step.h"
#include "host/engine/recording/plan_order.h"
#include "host/engine/recording/record.h"
#include "host/engine/recording/region_step.h"
#include "host/engine/recording/region_summary.h"

namespace rtrain::engine {

struct PlanSummary {
  int recorded = 0;         // calls in the record
  int views = 0;            // without a call: their sizes are known
  int dropped = 0;          // whose results nobody uses
  int region_calls = 0;     // calls that are in regions
  int64_t bytes_saved = 0;  // that regions do not read or write
  std::vector<RegionSummary> regions;
  std::map<std::string, int> calls;
};

// The regions on a GPU, now.
struct KernelSummary {
  int kernels = 0;
  int ready = 0;
  int64_t launches = 0;  // in all runs
  std::string refusal;   // of the first one that there will not be
};

class StepPlan {
 public:
  explicit StepPlan(Record record);

  // Why a run for these arguments would not be the step; nothing if it is.
  std::optional<std::string> misfit(std::span<const at::Tensor> arguments) const;

  // Called after each call of the record with its index and its results.
  using Observer = std::function<void(size_t call, c10::ArrayRef<c10::IValue> results)>;

  // Runs the step and returns its results. `rates` are the learning rates by group. If it throws
  // before changes_state(), nothing has changed.
  std::vector<at::Tensor> run(std::span<const at::Tensor> arguments, std::span<const double> rates,
                              const Observer& observer = nullptr);
  bool changes_state() const { return has_changed_; }
  // The tensor at which backward began, in the last run; undefined if there was none.
  const at::Tensor& loss() const { return loss_; }

  // Why a CUDA graph that captures a run would not be the step; nothing if it is, with other
  // numbers in the arguments and the rates as they are.
  std::optional<std::string> graph_refusal() const;
  // Whether a run is what later runs will be: no kernel is missing.
  bool has_settled() const;
  // After a run that was captured: keeps what it did to gradients. After each replay: does it
  // again.
  void keep_effects();
  void repeat_effects();
  // Whether gradients that the captured run read are where they were.
  bool repeats() const;

  const Record& record() const { return record_; }
  const PlanSummary& summary() const { return summary_; }
  KernelSummary kernel_summary() const;

 private:
  struct Step {
    enum class Kind { kCall, kView, kMask, kRegion, kKernel };
    Kind kind = Kind::kCall;
    int call = -1;
    int region = -1;   // or kernel
    int summary = -1;  // of the region or kernel
    bool changes_state = false;
    bool is_safe_softmax = false;
    std::vector<int> uses;      // values
    std::vector<int> writers;   // of a region: for each output the last call that writes it
    std::vector<int> lists;     // arguments that are lists of tensors
    std::vector<int> released;  // values that no later step uses
    // Of a kernel: what runs as long as it is not there, and the values that only this makes.
    std::vector<Step> eager;
    std::vector<int> inner;
  };

  // The state or argument in whose memory the value is, or -1.
  int outside_of(int value) const;
  Step step_of(int index) const;
  void add_call(int index);
  void add_region(PlanItem& item);
  void add_kernel(PlanItem& item);
  template <class Region>
  void finish(Step step, const Region& region, const PlanItem& item);
  void note_changes(Step& step, const RecordedCall& call) const;
  int64_t num_bytes(const RecordedCall& call) const;
  void plan_releases();
  std::optional<std::string> state_misfit() const;
  std::optional<std::string> grad_misfit() const;
  void bind(std::span<const at::Tensor> arguments);
  void run_views(const RecordedCall& call);
  void run_call(const Step& step, std::span<const double> rates, const Observer& observer);
  void run_mask(const Step& step, const Observer& observer);
  void run_region(const Step& step, const Observer& observer);
  void run_kernel(const Step& step, std::span<const double> rates, const Observer& observer);
  void observe(const Step& step, const std::vector<int>& outputs, const Observer& observer) const;
  void run_step(const Step& step, std::span<const double> rates, const Observer& observer);
  void fill(const RecordedCall& call, const Step& step);
  void keep_results(const RecordedCall& call);
  void set_grads();
  void bump_versions();
  void clear();

  Record record_;
  PlanSummary summary_;
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<RegionStep>> regions_;
  std::vector<std::unique_ptr<KernelStep>> kernels_;
  std::vector<at::Tensor> values_;  // by number
  std::vector<bool> permanent_;     // values that stay from run to run
  std::vector<int> transient_;      // the others
  std::vector<int> outside_;        // for each storage: the state or argument in it, or -1
  std::vector<Geometry> state_geometry_;
  std::vector<const c10::StorageImpl*> state_storage_;
  std::vector<bool> state_needs_grad_;
  std::unordered_set<const c10::StorageImpl*> storages_;
  std::map<int, int> last_writer_;  // value → the call of a region
  torch::jit::Stack stack_;
  at::Tensor loss_;
  std::vector<at::Tensor> graph_grads_;  // that a captured run set
  std::vector<const void*> read_grads_;  // the memory of those that it read
  bool has_changed_ = false;
};

}  // namespace rtrain::engine
