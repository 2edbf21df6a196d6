#include "host/engine/distributed/hooks/lua_hook.h"

#include <array>
#include <utility>

#include "host/base/text/text.h"
#include "host/engine/runtime/comm_hook.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

c10::intrusive_ptr<c10::ivalue::Future> new_future(const at::Tensor& buffer) {
  std::vector<c10::Device> devices;
  if (!buffer.is_cpu()) devices.push_back(buffer.device());
  return c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get(), std::move(devices));
}

int index(lua_State* L) {
  lua_pushinteger(L, static_cast<lua_Integer>(lua::check<CommBucket>(L, 1)->index));
  return 1;
}

int is_last(lua_State* L) {
  lua_pushboolean(L, lua::check<CommBucket>(L, 1)->is_last);
  return 1;
}

int buffer(lua_State* L) {
  push_tensor(L, lua::check<CommBucket>(L, 1)->buffer);
  return 1;
}

int set_buffer(lua_State* L) {
  const std::shared_ptr<CommBucket>& bucket = lua::check<CommBucket>(L, 1);
  bucket->buffer = check_tensor(L, 2);
  return 0;
}

int gradients(lua_State* L) {
  push_tensors(L, lua::check<CommBucket>(L, 1)->gradients());
  return 1;
}

int parameters(lua_State* L) {
  push_tensors(L, lua::check<CommBucket>(L, 1)->parameters);
  return 1;
}

}  // namespace

std::vector<at::Tensor> CommBucket::gradients() const {
  int64_t wanted = 0;
  for (const at::Tensor& param : parameters) wanted += param.numel();
  if (buffer.dim() != 1 || buffer.numel() != wanted) {
    throw Error(Code::kArgument,
                cat("gradients: the bucket's buffer holds ", buffer.numel(), " elements in ",
                    buffer.dim(), " dimensions, and its parameters ", wanted,
                    ": give set_buffer a tensor of one dimension with as many"));
  }
  std::vector<at::Tensor> out;
  int64_t begin = 0;
  for (const at::Tensor& param : parameters) {
    out.push_back(buffer.narrow(0, begin, param.numel()).view(param.sizes()));
    begin += param.numel();
  }
  return out;
}

c10::intrusive_ptr<c10::ivalue::Future> LuaCommHook::runHook(c10d::GradBucket& bucket) {
  if (bucket.getIndex() == 0) begun_.clear();  // left by a backward that an error ended
  const auto future = new_future(bucket.getBuffer());
  begun_.push_back(future);
  lua_State* L = function_->push();
  const InCommHook in_hook(vm(L));
  lua::push<CommBucket>(
      L, std::make_shared<CommBucket>(CommBucket{.index = bucket.getIndex(),
                                                 .is_last = bucket.isLast(),
                                                 .buffer = bucket.getBuffer(),
                                                 .parameters = bucket.getParameters()}));
  lua::protected_call(L, 1, 1);
  if (bucket.isLast()) end(L);
  lua_pop(L, 1);
  return future;
}

void LuaCommHook::end(lua_State* L) {
  const std::vector<at::Tensor> results = check_tensors(L, lua_gettop(L));
  RT_CHECK(results.size() == begun_.size());
  for (size_t i = 0; i < results.size(); ++i) begun_[i]->markCompleted(results[i]);
  begun_.clear();
}

at::Tensor LuaCommHook::parseHookResult(const c10::IValue& result) { return result.toTensor(); }

void register_comm_bucket(lua_State* L) {
  static constexpr std::array kMethods = {
      torch_method<&index>("index"),         torch_method<&is_last>("is_last"),
      torch_method<&buffer>("buffer"),       torch_method<&set_buffer>("set_buffer"),
      torch_method<&gradients>("gradients"), torch_method<&parameters>("parameters")};
  lua::register_class<CommBucket>(L, kMethods);
}

}  // namespace rtrain::engine
