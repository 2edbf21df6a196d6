#include "host/engine/tensor/tensor_hash.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "host/base/codec/hash.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

// Bytes that one thread hashes at a time.
constexpr size_t kPart = size_t{1} << 20;
// Words that are multiplied at a time, since their products need memory on the device.
constexpr int64_t kWords = int64_t{1} << 22;
// Numbers of Lua hold that many bits.
constexpr uint64_t kMask = (uint64_t{1} << 52) - 1;

template <class Number>
uint64_t hash_of_numbers(const std::vector<Number>& numbers) {
  return hash64({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)});
}

uint64_t hash_on_host(const at::Tensor& tensor) {
  const auto* bytes = static_cast<const char*>(tensor.const_data_ptr());
  const size_t size = tensor.nbytes();
  std::vector<uint64_t> parts((size + kPart - 1) / kPart);
  at::parallel_for(0, static_cast<int64_t>(parts.size()), 1, [&](int64_t first, int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      parts[i] = hash64({bytes + i * kPart, std::min(kPart, size - i * kPart)});
    }
  });
  return hash_of_numbers(parts);
}

// The weights are odd, so a bit that flips changes the sum, whatever its place.
uint64_t hash_on_device(const at::Tensor& tensor) {
  const bool has_words = tensor.nbytes() % sizeof(int32_t) == 0;
  const at::Tensor words = tensor.view(-1).view(at::kByte).view(has_words ? at::kInt : at::kByte);
  const auto options = words.options().dtype(at::kLong);
  at::Tensor total = at::arange(1, options);
  for (int64_t start = 0; start < words.numel(); start += kWords) {
    const int64_t end = std::min(words.numel(), start + kWords);
    const at::Tensor weights = at::arange(2 * start + 1, 2 * end, 2, options);
    total.add_(words.slice(0, start, end).to(at::kLong).mul(weights).sum());
  }
  return static_cast<uint64_t>(total.item<int64_t>());
}

// _hash_tensors(tensors): returns a hash of all, and a list with one for each.
int hash_tensors(lua_State* L) {
  const at::NoGradGuard no_grad;
  std::vector<uint64_t> hashes;
  for (const at::Tensor& tensor : check_tensors(L, 1)) hashes.push_back(hash_of(tensor) & kMask);
  push_int(L, static_cast<int64_t>(hash_of_numbers(hashes) & kMask));
  lua_createtable(L, static_cast<int>(hashes.size()), 0);
  for (size_t i = 0; i < hashes.size(); ++i) {
    push_int(L, static_cast<int64_t>(hashes[i]));
    lua_rawseti(L, -2, static_cast<int>(i + 1));
  }
  return 2;
}

constexpr lua::Method kFunctions[] = {torch_method<&hash_tensors>("_hash_tensors")};

}  // namespace

uint64_t hash_of(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided || !tensor.has_storage() || tensor.is_meta()) return 0;
  if (tensor.numel() == 0) return 0;
  const at::Tensor values = tensor.detach().contiguous();
  return values.is_cpu() ? hash_on_host(values) : hash_on_device(values);
}

void open_tensor_hash(lua_State* L) { lua::add_functions(L, kFunctions); }

}  // namespace rtrain::engine
