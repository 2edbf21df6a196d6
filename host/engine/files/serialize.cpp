// host/engine/files/serialize.cpp: serializes tensors for other processes and threads.

#include <array>
#include <cstring>

#include "host/base/error.h"
#include "host/engine/files/file_storage.h"
#include "host/engine/files/shared_storages.h"
#include "host/engine/files/tree.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/tensor/empty_tensor.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

// Weak table: address of a storage → its userdata, so that a storage shared by several tensors is
// serialized once.
constexpr const char* kStoragesKey = "rtrain.storages";

thread_local StorageList* shared_to = nullptr;
thread_local const StorageList* shared_from = nullptr;

void push_storage(lua_State* L, const c10::Storage& storage);

}  // namespace

// A storage on its way to another Lua state. Lua code can only pass it on.
}  // namespace rtrain::engine

template <>
struct rtrain::lua::Class<c10::StorageImpl> {
  using Slot = c10::intrusive_ptr<c10::StorageImpl>;
  static constexpr const char* kName = "torch.Storage";
};

namespace rtrain::engine {
namespace {

int storage_pack(lua_State* L) {
  const c10::Storage storage(lua::check<c10::StorageImpl>(L, 1));
  lua_pushliteral(L, "torch._C");
  lua_pushliteral(L, "unpack_storage");
  lua_createtable(L, 0, 2);
  if (shared_to != nullptr) {
    lua_pushnumber(L, static_cast<double>(shared_to->size()));
    lua_setfield(L, -2, "place");
    shared_to->push_back(storage);
    return 3;
  }
  const at::Tensor bytes = host_bytes(storage);
  lua_pushlstring(L, static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes());
  lua_setfield(L, -2, "bytes");
  lua_pushstring(L, storage.device().str().c_str());
  lua_setfield(L, -2, "device");
  return 3;
}

// Pushes the storage at index `place` of the list from another thread.
int push_shared(lua_State* L, size_t place) {
  if (shared_from == nullptr || place >= shared_from->size()) {
    throw Error(Code::kInternal, "a function with shared tensors was loaded in another process");
  }
  push_storage(L, (*shared_from)[place]);
  return 1;
}

int unpack_storage(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "place");
  if (!lua_isnil(L, -1)) return push_shared(L, static_cast<size_t>(luaL_checknumber(L, -1)));
  lua_getfield(L, 1, "device");
  const c10::Device device = parse_device(luaL_checkstring(L, -1));
  lua_getfield(L, 1, "bytes");
  size_t size = 0;
  const char* data = luaL_checklstring(L, -1, &size);
  at::Tensor bytes =
      empty_tensor({static_cast<int64_t>(size)}, at::TensorOptions().dtype(at::kByte));
  if (size > 0) std::memcpy(bytes.mutable_data_ptr(), data, size);
  push_storage(L, bytes.to(device).storage());
  return 1;
}

// Pushes the storage's userdata; each storage has one while it is reachable.
void push_storage(lua_State* L, const c10::Storage& storage) {
  lua_getfield(L, LUA_REGISTRYINDEX, kStoragesKey);
  lua_pushlightuserdata(L, storage.unsafeGetStorageImpl());
  lua_rawget(L, -2);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua::push<c10::StorageImpl>(L, storage.getWeakStorageImpl().lock());
    lua_pushlightuserdata(L, storage.unsafeGetStorageImpl());
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
  }
  lua_remove(L, -2);
}

void set_integers(lua_State* L, const char* name, at::IntArrayRef values) {
  lua_createtable(L, static_cast<int>(values.size()), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    lua_pushnumber(L, static_cast<double>(values[i]));
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_setfield(L, -2, name);
}

int tensor_pack(lua_State* L) {
  const at::Tensor& given = check_tensor(L, 1);
  if (given.layout() != c10::kStrided || !given.has_storage()) {
    throw Error(Code::kArgument,
                "a sparse tensor cannot travel to another process: use x:to_dense()");
  }
  const at::Tensor tensor = given.detach().resolve_conj().resolve_neg();
  lua_pushliteral(L, "torch._C");
  lua_pushliteral(L, "unpack_tensor");
  lua_createtable(L, 0, 6);
  push_storage(L, tensor.storage());
  lua_setfield(L, -2, "storage");
  lua_pushstring(L, dtype_name(tensor.scalar_type()).c_str());
  lua_setfield(L, -2, "dtype");
  set_integers(L, "size", tensor.sizes());
  set_integers(L, "stride", tensor.strides());
  lua_pushnumber(L, static_cast<double>(tensor.storage_offset()));
  lua_setfield(L, -2, "offset");
  lua_pushboolean(L, given.requires_grad());
  lua_setfield(L, -2, "requires_grad");
  return 3;
}

std::vector<int64_t> integers(lua_State* L, int table, const char* name) {
  lua_getfield(L, table, name);
  luaL_checktype(L, -1, LUA_TTABLE);
  std::vector<int64_t> out(lua_objlen(L, -1));
  for (size_t i = 0; i < out.size(); ++i) {
    lua_rawgeti(L, -1, static_cast<int>(i) + 1);
    out[i] = static_cast<int64_t>(luaL_checknumber(L, -1));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return out;
}

int unpack_tensor(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_getfield(L, 1, "storage");
  const c10::Storage storage(lua::check<c10::StorageImpl>(L, 2));
  lua_getfield(L, 1, "dtype");
  const at::ScalarType dtype = parse_dtype(luaL_checkstring(L, 3));
  lua_getfield(L, 1, "offset");
  const auto offset = static_cast<int64_t>(luaL_checknumber(L, 4));
  lua_getfield(L, 1, "requires_grad");
  at::Tensor out = empty_tensor({0}, at::TensorOptions().dtype(dtype).device(storage.device()));
  out.set_(storage, offset, integers(L, 1, "size"), integers(L, 1, "stride"));
  if (lua_toboolean(L, 5) != 0) out.requires_grad_(true);
  push_tensor(L, std::move(out));
  return 1;
}

}  // namespace

ShareStorages::ShareStorages(StorageList& list) : outer_(shared_to) { shared_to = &list; }
ShareStorages::~ShareStorages() { shared_to = outer_; }

UseStorages::UseStorages(const StorageList& list) : outer_(shared_from) { shared_from = &list; }
UseStorages::~UseStorages() { shared_from = outer_; }

void open_serialize(lua_State* L) {
  static constexpr std::array kFunctions = {torch_method<&unpack_storage>("unpack_storage"),
                                            torch_method<&unpack_tensor>("unpack_tensor")};
  static constexpr std::array kStorageImplMethods = {torch_method<&storage_pack>("__pack")};
  lua::register_class<c10::StorageImpl>(L, kStorageImplMethods);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_setfield(L, LUA_REGISTRYINDEX, kStoragesKey);
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm(L).tensor_meta_ref);
  push_torch_function<&tensor_pack>(L);
  lua_setfield(L, -2, "__pack");
  lua_pop(L, 1);
  lua::add_functions(L, kFunctions);
}

}  // namespace rtrain::engine
