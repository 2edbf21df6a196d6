#include "host/engine/tensor_class/methods.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "host/engine/autograd/autograd.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/recording_listener.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/conversion.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

int push_self(lua_State* L) {
  lua_settop(L, 1);
  return 1;
}

int push_count(lua_State* L, int64_t number) {
  push_int(L, number);
  return 1;
}

int64_t check_dim(lua_State* L, int index) {
  if (const auto dim = to_int(L, index)) return *dim;
  throw Error(Code::kArgument, cat("dim: expected an integer, got ", describe_value(L, index)));
}

int size(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  if (!lua_isnoneornil(L, 2)) return push_count(L, self.size(check_dim(L, 2)));
  push_sizes(L, self.sizes());
  return 1;
}

int stride(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  if (!lua_isnoneornil(L, 2)) return push_count(L, self.stride(check_dim(L, 2)));
  push_sizes(L, self.strides());
  return 1;
}

int dim(lua_State* L) { return push_count(L, check_tensor(L, 1).dim()); }
int numel(lua_State* L) { return push_count(L, check_tensor(L, 1).numel()); }
int element_size(lua_State* L) {
  return push_count(L, static_cast<int64_t>(check_tensor(L, 1).itemsize()));
}
int storage_offset(lua_State* L) { return push_count(L, check_tensor(L, 1).storage_offset()); }

int is_floating_point(lua_State* L) {
  lua_pushboolean(L, check_tensor(L, 1).is_floating_point() ? 1 : 0);
  return 1;
}

int is_complex(lua_State* L) {
  lua_pushboolean(L, check_tensor(L, 1).is_complex() ? 1 : 0);
  return 1;
}

int data_ptr(lua_State* L) {
  refuse_in_recording("it takes a tensor's address (data_ptr())");
  return push_count(
      L, static_cast<int64_t>(reinterpret_cast<intptr_t>(check_tensor(L, 1).data_ptr())));
}

// Reads the only element of a plain CPU tensor directly. Returns false for other tensors.
bool push_element(lua_State* L, const at::Tensor& self) {
  const void* data = nullptr;
  if (!self.is_cpu() || self.is_neg() || self.is_conj() || !self.has_storage()) return false;
  if (data = self.const_data_ptr(); data == nullptr) return false;
  switch (self.scalar_type()) {
    case at::kFloat:
      lua_pushnumber(L, *static_cast<const float*>(data));
      return true;
    case at::kDouble:
      lua_pushnumber(L, *static_cast<const double*>(data));
      return true;
    case at::kLong:
      push_int(L, *static_cast<const int64_t*>(data));
      return true;
    case at::kBool:
      lua_pushboolean(L, *static_cast<const bool*>(data) ? 1 : 0);
      return true;
    default:
      return false;
  }
}

int item(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  if (self.numel() != 1) {
    throw Error(Code::kArgument,
                cat("item: a tensor of ", describe(self), " has not exactly one element"));
  }
  // If this thread's operators are traced, calls item() so that the trace shows the read.
  const bool is_traced = at::hasThreadLocalCallbacks() || RecordingListener::current() != nullptr;
  if (is_traced || !push_element(L, self)) push_scalar(L, self.item());
  return 1;
}

// Pushes the elements of a strided CPU tensor as nested lists.
void push_list(lua_State* L, const at::Tensor& tensor) {
  if (tensor.dim() == 0) {
    push_scalar(L, tensor.item());
    return;
  }
  luaL_checkstack(L, 8, "too many dimensions");
  const int count = static_cast<int>(tensor.size(0));
  lua_createtable(L, count, 0);
  const bool floats =
      tensor.dim() == 1 && tensor.scalar_type() == at::kDouble && tensor.is_contiguous();
  const double* data = floats ? tensor.const_data_ptr<double>() : nullptr;
  for (int i = 0; i < count; ++i) {
    if (floats) {
      lua_pushnumber(L, data[i]);
    } else {
      push_list(L, tensor.select(0, i));
    }
    lua_rawseti(L, -2, i + 1);
  }
}

int tolist(lua_State* L) {
  refuse_in_recording("it reads the numbers of a tensor (tolist())");
  at::Tensor self = check_tensor(L, 1).detach().cpu();
  if (self.is_floating_point()) self = self.to(at::kDouble).contiguous();
  push_list(L, self);
  return 1;
}

int is_contiguous(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  const auto format = read_memory_format(L, 2, "is_contiguous");
  lua_pushboolean(L, self.is_contiguous(format.value_or(at::MemoryFormat::Contiguous)) ? 1 : 0);
  return 1;
}

int get_device(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  return push_count(L, self.is_cpu() ? -1 : self.get_device());
}

// The dimensions by decreasing stride: the order of elements in memory.
int dim_order(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  std::vector<int64_t> order(static_cast<size_t>(self.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&self](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); });
  push_sizes(L, order);
  return 1;
}

int detach(lua_State* L) {
  push_tensor(L, check_tensor(L, 1).detach());
  return 1;
}

int requires_grad_(lua_State* L) {
  check_tensor(L, 1).set_requires_grad(lua_isnoneornil(L, 2) || lua_toboolean(L, 2) != 0);
  return push_self(L);
}

int release(lua_State* L) {
  at::Tensor* self = test_tensor(L, 1);
  if (self == nullptr) throw Error(Code::kArgument, "release: expected a Tensor");
  self->reset();
  return 0;
}

template <at::ScalarType Dtype>
int convert(lua_State* L) {
  return to_dtype(L, Dtype);
}

constexpr lua::Method kMethods[] = {
    torch_method<&size>("size"),
    torch_method<&stride>("stride"),
    torch_method<&dim>("dim"),
    torch_method<&dim>("ndimension"),
    torch_method<&numel>("numel"),
    torch_method<&numel>("nelement"),
    torch_method<&element_size>("element_size"),
    torch_method<&storage_offset>("storage_offset"),
    torch_method<&is_floating_point>("is_floating_point"),
    torch_method<&is_complex>("is_complex"),
    torch_method<&is_contiguous>("is_contiguous"),
    torch_method<&data_ptr>("data_ptr"),
    torch_method<&get_device>("get_device"),
    torch_method<&dim_order>("dim_order"),
    torch_method<&item>("item"),
    torch_method<&tolist>("tolist"),
    torch_method<&detach>("detach"),
    torch_method<&requires_grad_>("requires_grad_"),
    torch_method<&release>("release"),
    torch_method<&to>("to"),
    torch_method<&convert<at::kFloat>>("float"),
    torch_method<&convert<at::kDouble>>("double"),
    torch_method<&convert<at::kHalf>>("half"),
    torch_method<&convert<at::kBFloat16>>("bfloat16"),
    torch_method<&convert<at::kLong>>("long"),
    torch_method<&convert<at::kInt>>("int"),
    torch_method<&convert<at::kShort>>("short"),
    torch_method<&convert<at::kChar>>("char"),
    torch_method<&convert<at::kByte>>("byte"),
    torch_method<&convert<at::kBool>>("bool"),
    torch_method<&convert<at::kComplexFloat>>("cfloat"),
    torch_method<&convert<at::kComplexDouble>>("cdouble"),
    torch_method<&convert<at::kComplexHalf>>("chalf"),
    torch_method<&cpu>("cpu"),
    torch_method<&cuda>("cuda"),
    torch_method<&backward>("backward"),
    torch_method<&register_hook>("register_hook"),
    torch_method<&register_post_accumulate_grad_hook>("register_post_accumulate_grad_hook"),
    torch_method<&retain_grad>("retain_grad"),
};

}  // namespace

std::span<const lua::Method> tensor_methods() { return kMethods; }

}  // namespace rtrain::engine
