// host/engine/files/safetensors_functions.cpp: torch._C.save_safetensors, _async_save_safetensors,
// load_safetensors, _safetensors_header, _read_tensors and _join_safetensors.
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <array>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/files/file_storage.h"
#include "host/engine/files/joined_safetensors.h"
#include "host/engine/files/lua_files.h"
#include "host/engine/files/safetensors.h"
#include "host/engine/files/tree.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/lua_tensor.h"
#include "host/engine/runtime/open.h"

namespace rtrain::engine {
namespace {

// The named values of a table, each of which must be a T.
template <class T>
std::vector<std::pair<std::string, T>> named(lua_State* L, int index, const char* what,
                                             const char* type) {
  const Tree tree = to_tree(L, index, what);
  const auto* map = std::get_if<std::shared_ptr<TreeMap>>(&tree);
  if (map == nullptr) {
    throw Error(Code::kArgument, cat(what, ": expected a table {name = ", type, "}"));
  }
  std::vector<std::pair<std::string, T>> out;
  for (const auto& [key, value] : (*map)->entries) {
    const auto* name = std::get_if<std::string>(&key);
    const auto* item = std::get_if<T>(&value);
    if (name == nullptr) throw Error(Code::kArgument, cat(what, ": names have to be strings"));
    if (item == nullptr) throw Error(Code::kArgument, cat(what, ".", *name, ": expected a ", type));
    out.emplace_back(*name, *item);
  }
  return out;
}

template <class T>
void push_named(lua_State* L, const std::vector<std::pair<std::string, T>>& items) {
  auto map = std::make_shared<TreeMap>();
  map->ordered = true;
  for (const auto& [name, item] : items) map->entries.emplace_back(name, item);
  push_tree(L, map);
}

// The first arguments of the functions that save: tensors, path, metadata.
NamedTensors named_tensors(lua_State* L) {
  NamedTensors out;
  out.tensors = named<at::Tensor>(L, 1, "tensors", "tensor");
  if (!lua_isnoneornil(L, 3)) out.metadata = named<std::string>(L, 3, "metadata", "string");
  return out;
}

int save_named(lua_State* L) {
  const std::string path(check_text(L, 2, "save: path"));
  save_safetensors(named_tensors(L), path);
  return 0;
}

// A tensor whose storage holds its values alone, which is what is copied.
at::Tensor with_own_storage(const at::Tensor& tensor) {
  at::Tensor values = file_values(tensor);
  return values.storage().nbytes() == values.nbytes() ? values : values.clone();
}

BackgroundContent safetensors_content(const NamedTensors& named) {
  SafetensorsContent content = lay_out_safetensors(named);
  std::vector<c10::Storage> storages;
  for (const at::Tensor& tensor : content.values) {
    storages.push_back(with_own_storage(tensor).storage());
  }
  return {std::move(storages),
          [header = std::move(content.header)](const std::vector<c10::Storage>& copies,
                                               const std::string& path) {
            SafetensorsContent copied{header, {}};
            for (const c10::Storage& copy : copies) copied.values.push_back(host_bytes(copy));
            write_safetensors(copied, path);
          }};
}

int async_save_named(lua_State* L) {
  const std::string path(check_text(L, 2, "async_save: path"));
  push_background_save(L, safetensors_content(named_tensors(L)), path);
  return 1;
}

int load_named(lua_State* L) {
  const c10::Device device = lua_isnoneornil(L, 2) ? c10::Device(c10::kCPU)
                                                   : check_device(L, 2, "load_safetensors: device");
  const NamedTensors content = read_file(
      L, 1, 3, [&](const ByteSource& source) { return load_safetensors(source, device); });
  push_named(L, content.tensors);
  push_named(L, content.metadata);
  return 2;
}

// A field of the map or list at the index, which must be a table, on top of the stack.
void push_field(lua_State* L, int index, const char* name) {
  if (!lua_istable(L, index)) throw Error(Code::kArgument, "expected a list of tables");
  lua_getfield(L, index, name);
}

void set_number(lua_State* L, const char* name, uint64_t value) {
  lua_pushnumber(L, static_cast<lua_Number>(value));
  lua_setfield(L, -2, name);
}

void push_shape(lua_State* L, const std::vector<int64_t>& shape) {
  lua_createtable(L, static_cast<int>(shape.size()), 0);
  for (size_t i = 0; i < shape.size(); ++i) {
    lua_pushnumber(L, static_cast<lua_Number>(shape[i]));
    lua_rawseti(L, -2, static_cast<int>(i + 1));
  }
}

// _safetensors_header(path): returns name → {dtype, shape, offset} and name → metadata. The offset
// is that of the tensor's first byte in the file.
int header_of_file(lua_State* L) {
  const SafetensorsHeader header =
      read_file(L, 1, 2, [](const ByteSource& source) { return read_safetensors_header(source); });
  lua_createtable(L, 0, static_cast<int>(header.tensors.size()));
  for (const SafetensorsEntry& entry : header.tensors) {
    lua_createtable(L, 0, 3);
    const std::string dtype = dtype_name(entry.dtype);
    lua_pushlstring(L, dtype.data(), dtype.size());
    lua_setfield(L, -2, "dtype");
    push_shape(L, entry.shape);
    lua_setfield(L, -2, "shape");
    set_number(L, "offset", entry.begin);
    lua_setfield(L, -2, entry.name.c_str());
  }
  push_named(L, header.metadata);
  return 2;
}

// Fills the tensor from the file. The bytes go straight to it, if it is contiguous in host memory.
void read_tensor(const ByteSource& source, uint64_t offset, const at::Tensor& tensor) {
  if (offset > source.size() || source.size() - offset < tensor.nbytes()) {
    throw Error(Code::kArgument, cat("it is cut off: ", source.size(), " bytes"));
  }
  if (tensor.nbytes() == 0) return;
  const bool is_direct =
      tensor.device().is_cpu() && tensor.is_contiguous() && !tensor.is_neg() && !tensor.is_conj();
  const at::Tensor target =
      is_direct ? tensor : at::empty(tensor.sizes(), tensor.options().device(c10::kCPU));
  source.read(offset, target.mutable_data_ptr(), target.nbytes());
  if (is_direct) return tensor.unsafeGetTensorImpl()->bump_version();
  const at::NoGradGuard no_grad;
  tensor.copy_(target);
}

// _read_tensors(path, offsets, tensors): fills the tensors with the bytes at these offsets.
int fill_tensors(lua_State* L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  const std::vector<at::Tensor> tensors = check_tensors(L, 3);
  std::vector<uint64_t> offsets;
  for (size_t i = 0; i < tensors.size(); ++i) {
    lua_rawgeti(L, 2, static_cast<int>(i + 1));
    offsets.push_back(static_cast<uint64_t>(luaL_checknumber(L, -1)));
    lua_pop(L, 1);
  }
  read_file(L, 1, 4, [&](const ByteSource& source) {
    for (size_t i = 0; i < tensors.size(); ++i) read_tensor(source, offsets[i], tensors[i]);
    return 0;
  });
  return 0;
}

uint64_t number_field(lua_State* L, int index, const char* name) {
  push_field(L, index, name);
  const auto out = static_cast<uint64_t>(luaL_checknumber(L, -1));
  lua_pop(L, 1);
  return out;
}

std::string text_field(lua_State* L, int index, const char* name) {
  push_field(L, index, name);
  std::string out(check_text(L, -1, name));
  lua_pop(L, 1);
  return out;
}

// Reads {path, offset, size} of each item of the list on top of the stack.
std::vector<FilePart> file_parts(lua_State* L) {
  std::vector<FilePart> out;
  for (int i = 1; i <= static_cast<int>(lua_objlen(L, -1)); ++i) {
    lua_rawgeti(L, -1, i);
    const int at = lua_gettop(L);
    out.push_back(
        {text_field(L, at, "path"), number_field(L, at, "offset"), number_field(L, at, "size")});
    lua_pop(L, 1);
  }
  return out;
}

std::vector<int64_t> shape_field(lua_State* L, int index) {
  push_field(L, index, "shape");
  luaL_checktype(L, -1, LUA_TTABLE);
  std::vector<int64_t> out;
  for (int i = 1; i <= static_cast<int>(lua_objlen(L, -1)); ++i) {
    lua_rawgeti(L, -1, i);
    out.push_back(static_cast<int64_t>(luaL_checknumber(L, -1)));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return out;
}

// Reads {name, tensor} or {name, dtype, shape, parts} at the index.
JoinedTensor joined_tensor(lua_State* L, int index) {
  JoinedTensor out;
  out.name = text_field(L, index, "name");
  push_field(L, index, "tensor");
  if (const at::Tensor* tensor = test_tensor(L, -1)) {
    out.values = *tensor;
    out.dtype = tensor->scalar_type();
    out.shape = tensor->sizes().vec();
    lua_pop(L, 1);
    return out;
  }
  lua_pop(L, 1);
  out.dtype = parse_dtype(text_field(L, index, "dtype"));
  out.shape = shape_field(L, index);
  push_field(L, index, "parts");
  luaL_checktype(L, -1, LUA_TTABLE);
  out.parts = file_parts(L);
  lua_pop(L, 1);
  return out;
}

// _join_safetensors(tensors, path, metadata): each of the tensors is {name, tensor}, or {name,
// dtype, shape, parts} whose bytes are those of the parts {path, offset, size}, one after the
// other.
int join_tensors(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const std::string path(check_text(L, 2, "save: path"));
  std::vector<JoinedTensor> tensors;
  for (int i = 1; i <= static_cast<int>(lua_objlen(L, 1)); ++i) {
    lua_rawgeti(L, 1, i);
    tensors.push_back(joined_tensor(L, lua_gettop(L)));
    lua_pop(L, 1);
  }
  std::vector<std::pair<std::string, std::string>> metadata;
  if (!lua_isnoneornil(L, 3)) metadata = named<std::string>(L, 3, "metadata", "string");
  join_safetensors(tensors, metadata, path);
  return 0;
}

}  // namespace

void open_safetensors(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&save_named>("save_safetensors"),
      torch_method<&async_save_named>("_async_save_safetensors"),
      torch_method<&load_named>("load_safetensors"),
      torch_method<&header_of_file>("_safetensors_header"),
      torch_method<&fill_tensors>("_read_tensors"),
      torch_method<&join_tensors>("_join_safetensors")};
  lua::add_functions(L, kFunctions);
}

}  // namespace rtrain::engine
