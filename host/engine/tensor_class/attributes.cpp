#include "host/engine/tensor_class/attributes.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/real.h>
#include <torch/csrc/autograd/function.h>

#include <functional>

#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/recording_listener.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

int push_string(lua_State* L, const std::string& text) {
  lua_pushlstring(L, text.data(), text.size());
  return 1;
}

int push_bool(lua_State* L, bool value) {
  lua_pushboolean(L, value ? 1 : 0);
  return 1;
}

int push_result(lua_State* L, at::Tensor tensor) {
  push_tensor(L, std::move(tensor));
  return 1;
}

int shape(lua_State* L) {
  push_sizes(L, check_tensor(L, 1).sizes());
  return 1;
}

int dtype(lua_State* L) { return push_string(L, dtype_name(check_tensor(L, 1).scalar_type())); }
int device(lua_State* L) { return push_string(L, check_tensor(L, 1).device().str()); }
int grad(lua_State* L) { return push_result(L, check_tensor(L, 1).grad()); }
int requires_grad(lua_State* L) { return push_bool(L, check_tensor(L, 1).requires_grad()); }
int is_leaf(lua_State* L) { return push_bool(L, check_tensor(L, 1).is_leaf()); }

template <bool (at::TensorBase::*Is)() const>
int is(lua_State* L) {
  const at::TensorBase& self = check_tensor(L, 1);
  return push_bool(L, std::invoke(Is, self));
}

template <at::Layout Layout>
int has_layout(lua_State* L) {
  return push_bool(L, check_tensor(L, 1).layout() == Layout);
}

// The getter of is_… for devices that this build does not support.
int is_never(lua_State* L) {
  check_tensor(L, 1);
  return push_bool(L, false);
}

int retains_grad(lua_State* L) { return push_bool(L, check_tensor(L, 1).retains_grad()); }
int transposed(lua_State* L) { return push_result(L, check_tensor(L, 1).numpy_T()); }
int matrix_transposed(lua_State* L) { return push_result(L, check_tensor(L, 1).mT()); }
int conjugate_transposed(lua_State* L) { return push_result(L, check_tensor(L, 1).matrix_H()); }
int matrix_conjugate_transposed(lua_State* L) { return push_result(L, check_tensor(L, 1).mH()); }
int real(lua_State* L) { return push_result(L, at::real(check_tensor(L, 1))); }
int imag(lua_State* L) { return push_result(L, at::imag(check_tensor(L, 1))); }
int data(lua_State* L) { return push_result(L, check_tensor(L, 1).variable_data()); }
int version(lua_State* L) {
  push_int(L, check_tensor(L, 1)._version());
  return 1;
}

int ndim(lua_State* L) {
  push_int(L, check_tensor(L, 1).dim());
  return 1;
}

int nbytes(lua_State* L) {
  push_int(L, static_cast<int64_t>(check_tensor(L, 1).nbytes()));
  return 1;
}

int itemsize(lua_State* L) {
  push_int(L, static_cast<int64_t>(check_tensor(L, 1).itemsize()));
  return 1;
}

int layout(lua_State* L) { return push_string(L, layout_name(check_tensor(L, 1).layout())); }

int grad_fn(lua_State* L) {
  const auto& node = check_tensor(L, 1).grad_fn();
  if (node) return push_string(L, cat("<", node->name(), ">"));
  lua_pushnil(L);
  return 1;
}

// "of size '[2]'" and "of the same size", in PyTorch's words.
void check_same(std::string_view property, const std::string& given, const std::string& wanted) {
  if (given == wanted) return;
  throw Error(Code::kArgument,
              cat("grad: attempting to assign a gradient of ", property, " '", given,
                  "' to a tensor of ", property, " '", wanted,
                  "'. Please ensure that the gradient and the tensor have the same ", property));
}

// PyTorch's checks of a value (at index 2) that is assigned to grad.
void check_gradient(lua_State* L, const at::Tensor& self) {
  if (test_tensor(L, 2) == nullptr) {
    throw Error(Code::kArgument, cat("grad: assigned grad expected to be a Tensor or nil but got ",
                                     describe_value(L, 2)));
  }
  const at::Tensor& value = check_tensor(L, 2);
  if (value.is_same(self))
    throw Error(Code::kArgument, "grad: can't assign a Tensor as its own grad");
  check_same("dtype", dtype_name(value.scalar_type()), dtype_name(self.scalar_type()));
  check_same("device", value.device().str(), self.device().str());
  if (value.layout() != at::kSparse) {
    check_same("layout", layout_name(value.layout()), layout_name(self.layout()));
  }
  if (!value.sizes().equals(self.sizes())) {
    check_same("size", c10::str(value.sizes()), c10::str(self.sizes()));
  }
}

int set_grad(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  if (lua_isnil(L, 2)) {
    self.mutable_grad() = at::Tensor();
    return 0;
  }
  check_gradient(L, self);
  self.mutable_grad() = check_tensor(L, 2);
  return 0;
}

int set_requires_grad(lua_State* L) {
  check_tensor(L, 1).set_requires_grad(check_boolean(L, 2, "requires_grad"));
  return 0;
}

// x.real = y: copies y into the part, which is a view.
template <int Part(lua_State*)>
int set_part(lua_State* L) {
  lua_settop(L, 2);
  Part(L);
  const at::Tensor part = check_tensor(L, 3);
  if (test_tensor(L, 2) != nullptr) {
    part.copy_(check_tensor(L, 2));
    return 0;
  }
  const auto number = to_scalar(L, 2);
  if (!number) {
    throw Error(Code::kArgument, cat("expected a number or a Tensor, got ", describe_value(L, 2)));
  }
  part.fill_(*number);
  return 0;
}

int set_data(lua_State* L) {
  refuse_in_recording("it replaces the data of a tensor: copy_ changes them in place");
  check_tensor(L, 1).set_data(check_tensor(L, 2));
  return 0;
}

constexpr lua::Method kGetters[] = {
    torch_method<&shape>("shape"),
    torch_method<&dtype>("dtype"),
    torch_method<&device>("device"),
    torch_method<&layout>("layout"),
    torch_method<&grad>("grad"),
    torch_method<&grad_fn>("grad_fn"),
    torch_method<&requires_grad>("requires_grad"),
    torch_method<&is_leaf>("is_leaf"),
    torch_method<&retains_grad>("retains_grad"),
    torch_method<&is<&at::TensorBase::is_cpu>>("is_cpu"),
    torch_method<&is<&at::TensorBase::is_cuda>>("is_cuda"),
    torch_method<&is<&at::TensorBase::is_meta>>("is_meta"),
    torch_method<&is<&at::TensorBase::is_sparse>>("is_sparse"),
    torch_method<&has_layout<at::kSparseCsr>>("is_sparse_csr"),
    torch_method<&is<&at::TensorBase::is_mkldnn>>("is_mkldnn"),
    torch_method<&is<&at::TensorBase::is_quantized>>("is_quantized"),
    torch_method<&is<&at::TensorBase::is_nested>>("is_nested"),
    torch_method<&is_never>("is_ipu"),
    torch_method<&is_never>("is_maia"),
    torch_method<&is_never>("is_mps"),
    torch_method<&is_never>("is_mtia"),
    torch_method<&is_never>("is_vulkan"),
    torch_method<&is_never>("is_xla"),
    torch_method<&is_never>("is_xpu"),
    torch_method<&ndim>("ndim"),
    torch_method<&nbytes>("nbytes"),
    torch_method<&itemsize>("itemsize"),
    torch_method<&transposed>("T"),
    torch_method<&matrix_transposed>("mT"),
    torch_method<&conjugate_transposed>("H"),
    torch_method<&matrix_conjugate_transposed>("mH"),
    torch_method<&real>("real"),
    torch_method<&imag>("imag"),
    torch_method<&data>("data"),
    torch_method<&version>("_version"),
};

constexpr lua::Method kSetters[] = {
    torch_method<&set_grad>("grad"),        torch_method<&set_requires_grad>("requires_grad"),
    torch_method<&set_data>("data"),        torch_method<&set_part<&real>>("real"),
    torch_method<&set_part<&imag>>("imag"),
};

}  // namespace

std::span<const lua::Method> attribute_getters() { return kGetters; }
std::span<const lua::Method> attribute_setters() { return kSetters; }

}  // namespace rtrain::engine
