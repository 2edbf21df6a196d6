#include "host/machine/leases/gpu_request.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

constexpr double kMostGpus = 1024;
constexpr double kRounding = 1e-6;  // 0.3 x 1000 is a little less than 300

int share_of(double gpus) {
  const bool is_whole = gpus == std::floor(gpus);
  if (!(gpus >= 0) || gpus > kMostGpus || (gpus > 1 && !is_whole)) {
    throw Error(Code::kConfig, cat("resources_per_worker.GPU = ", gpus,
                                   ": expected a part of one below 1, or a whole number"));
  }
  const auto share = static_cast<int>(gpus * kWholeGpu + kRounding);
  return gpus > 0 ? std::max(share, 1) : 0;
}

// Returns the words of capitals and digits: "A100-SXM4-40GB" → A100, SXM4, 40GB.
std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      out.back() += static_cast<char>(std::toupper(byte));
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

// Formats "2 × NVIDIA H100".
std::string found_text(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < names.size();) {
    const auto other = std::find_if(names.begin() + static_cast<std::ptrdiff_t>(i), names.end(),
                                    [&](const std::string& name) { return name != names[i]; });
    const auto count = static_cast<size_t>(other - names.begin()) - i;
    parts.push_back(cat(count, " x ", names[i]));
    i += count;
  }
  return join(parts, ", ");
}

}  // namespace

GpuRequest::GpuRequest(int min_workers, int max_workers, double gpus_per_worker)
    : min_workers_(min_workers), max_workers_(max_workers), share_(share_of(gpus_per_worker)) {}

// Returns the devices of one worker, and removes its share from `free`.
std::optional<std::vector<int>> GpuRequest::take(FreeGpus& free) const {
  std::vector<int> order(free.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto left = [&](int device) { return free[static_cast<size_t>(device)]; };
  if (share_ < kWholeGpu) {
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return left(a) < left(b); });
  }
  std::vector<int> out;
  for (const int device : order) {
    if (left(device) < share()) continue;
    out.push_back(device);
    if (static_cast<int>(out.size()) * share() >= share_) break;
  }
  if (static_cast<int>(out.size()) * share() < share_) return std::nullopt;
  for (const int device : out) free[static_cast<size_t>(device)] -= share();
  return out;
}

int GpuRequest::workers(const FreeGpus& free) const {
  if (is_none()) return max_workers_;
  FreeGpus left = free;
  int count = 0;
  while (count < max_workers_ && take(left)) ++count;
  return count;
}

std::optional<GpuPlaces> GpuRequest::place(const FreeGpus& free, int workers) const {
  GpuPlaces out;
  if (is_none()) return GpuPlaces(static_cast<size_t>(workers));
  FreeGpus left = free;
  for (int worker = 0; worker < workers; ++worker) {
    auto devices = take(left);
    if (!devices) return std::nullopt;
    out.push_back(std::move(*devices));
  }
  return out;
}

std::string GpuRequest::wanted() const {
  const bool is_elastic = min_workers_ != max_workers_;
  return cat(is_elastic ? "at least " : "", min_workers_,
             min_workers_ == 1 ? " worker" : " workers", " of ", gpus_text(share_));
}

std::optional<Error> GpuRequest::impossible(const std::vector<std::string>& names,
                                            std::string_view why_none) const {
  const FreeGpus all(names.size(), kWholeGpu);
  if (is_none() || workers(all) >= min_workers_) return std::nullopt;
  const std::string found = names.empty() ? cat("there is no CUDA device: ", why_none)
                                          : cat("this process sees ", found_text(names));
  return Error(Code::kEnvironment,
               cat(wanted(), " cannot be had: ", found,
                   names.empty() ? ". To train on the CPU: use_gpu = false, or --gpus 0"
                                 : ". Ask for fewer workers, or for less of a GPU each"));
}

std::string gpus_text(int share) {
  if (share % kWholeGpu != 0) return cat(static_cast<double>(share) / kWholeGpu, " GPU");
  const int count = share / kWholeGpu;
  return cat(count, count == 1 ? " GPU" : " GPUs");
}

bool is_accelerator(std::string_view name, std::string_view type) {
  const std::vector<std::string> have = words(name);
  const std::vector<std::string> wanted = words(type);
  return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
    return std::any_of(have.begin(), have.end(), [&](const std::string& each) {
      return each == word || each == word + "B";  // Ray writes 40G for 40GB
    });
  });
}

}  // namespace rtrain::machine
