// host/engine/data/batches.cpp: torch._C.data.gather_images, draw_samples and copy_rows.
#include <ATen/CPUGeneratorImpl.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "host/base/text/text.h"
#include "host/engine/data/images/fused_images.h"
#include "host/engine/data/sample_draws.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/empty_tensor.h"
#include "host/engine/tensor/random.h"
#include "host/engine/tensor/sizes.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/options.h"

namespace rtrain::engine {
namespace {

Sizes check_limits(lua_State* L, int index) {
  Sizes out;
  if (lua_type(L, index) == LUA_TTABLE && read_sizes(L, index, index, out)) return out;
  throw Error(Code::kArgument, "draw_samples: limits: expected a list of integers");
}

// (images, indices, {levels, places, height, width}) → batch
int gather(lua_State* L) {
  const lua::Options options(L, 3, "gather_images", {"levels", "places", "height", "width"});
  ImagePlan plan;
  options.push("levels");
  plan.levels = check_tensor(L, -1);
  options.push("places");
  if (!lua_isnil(L, -1)) plan.places = check_tensor(L, -1);
  plan.height = options.integer("height", 0);
  plan.width = options.integer("width", 0);
  push_tensor(L, gather_images(check_tensor(L, 1), check_tensor(L, 2), plan));
  return 1;
}

const at::Generator& generator_at(lua_State* L, int index) {
  const at::Generator* given = test_generator(L, index);
  return given != nullptr ? *given : at::detail::getDefaultCPUGenerator();
}

// (limits, seeds int64) or (limits, number of samples, generator?) → numbers
int draw(lua_State* L) {
  const Sizes limits = check_limits(L, 1);
  if (const at::Tensor* seeds = test_tensor(L, 2)) {
    push_tensor(L, draw_samples(limits, *seeds));
    return 1;
  }
  const auto count = to_int(L, 2);
  if (!count || *count < 0) {
    throw Error(Code::kArgument, "draw_samples: expected a number of samples or a tensor of seeds");
  }
  push_tensor(L, draw_samples(limits, *count, generator_at(L, 3)));
  return 1;
}

// As narrow(0, start, count).clone(): a batch of many columns has many small copies, which take
// less time than the two operators.
at::Tensor copy_rows(const at::Tensor& from, int64_t start, int64_t count) {
  const bool is_plain = from.is_cpu() && from.layout() == at::kStrided && from.is_contiguous() &&
                        !from.requires_grad() && !from.is_conj() && !from.is_neg();
  if (!is_plain || from.dim() == 0 || start < 0 || count < 0 || start > from.size(0) - count) {
    return from.narrow(0, start, count).clone();
  }
  at::DimVector sizes(from.sizes());
  sizes[0] = count;
  at::Tensor out = empty_tensor(sizes, from.options());
  if (out.numel() == 0) return out;
  const size_t row_bytes = from.nbytes() / static_cast<size_t>(from.size(0));
  const auto* data = static_cast<const std::byte*>(from.const_data_ptr());
  std::memcpy(out.mutable_data_ptr(), data + static_cast<size_t>(start) * row_bytes,
              static_cast<size_t>(count) * row_bytes);
  return out;
}

// (tensors, start, count) → copies of these rows
int copies_of_rows(lua_State* L) {
  const auto start = to_int(L, 2);
  const auto count = to_int(L, 3);
  if (!start || !count) throw Error(Code::kArgument, "copy_rows: expected two numbers of rows");
  std::vector<at::Tensor> out;
  for (const at::Tensor& each : check_tensors(L, 1)) {
    out.push_back(copy_rows(each, *start, *count));
  }
  push_tensors(L, out);
  return 1;
}

}  // namespace

void open_batches(lua_State* L) {
  static constexpr std::array kFunctions = {torch_method<&gather>("gather_images"),
                                            torch_method<&draw>("draw_samples"),
                                            torch_method<&copies_of_rows>("copy_rows")};
  lua_getfield(L, -1, "data");
  lua::add_functions(L, kFunctions);
  lua_pop(L, 1);
}

}  // namespace rtrain::engine
