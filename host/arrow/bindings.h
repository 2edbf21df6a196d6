// host/arrow/bindings.h: the functions of the module table `base._arrow`, and checks of their
// arguments.
//
// Readers:
//   open_parquet(path) → reader: schema(), num_rows(), num_row_groups(), row_group_rows(g),
//     row_group_bytes(g), read(g, columns or nil, max_rows or nil) → cursor
//   open_csv(path, options) → cursor. Options: delimiter, quote (false for none), escape, header,
//     newlines_in_values, column_names, columns, column_types, null_values, strings_can_be_null,
//     skip_rows, block_bytes
//   open_json(path, options) → cursor. Options: column_types, block_bytes
//   open_ipc(path) → cursor
//   open_ipc_batches(path) → reader: schema(), num_batches(), batch_rows(b), batch_bytes(b),
//     read(first, count, columns or nil, max_rows or nil) → cursor
//   open_tfrecords(path, options) → cursor. Options: column_types, others ('infer', 'refuse' or
//     'skip'), first_record, block_bytes, max_rows (host/arrow/readers/example_reader.h)
//   count_tfrecords(path) → the number of records
//   open_text(path) → text: read(n) → the next n bytes, nothing at the end; skip(n) → how many
//     bytes were there. Unpacks files that are packed with gzip, Zstandard, bzip2 or xz, as
//     open_csv, open_json and open_tfrecords do
//   A cursor has schema() and next() → batch, or nothing at the end; a batch num_rows().
//   torch._C.data.from_arrow and to_arrow turn a batch into tensors and back.
// Writers, each with write(batch) and close(); release() without close() leaves no file:
//   parquet_writer(path, options). Options: compression, compression_level, row_group_size,
//     row_group_bytes, use_dictionary
//   csv_writer(path, options). Options: delimiter, header, quoting, null_text
//   ipc_writer(path, options). Options: stream, compression, sync
// Objects of a store, by URI:
//   object_kind(uri) → 'file' or 'folder'; nothing if the object does not exist
//   list_objects(uri) → URIs of all files below a folder
//   read_object(uri, most or nil) → bytes: all of them, or the first ones
//   remove_object(uri)
//   object_writer(uri) → writer with write(bytes) → true and close() → true; release() without
//     close() leaves no object
// bytes_allocated() → bytes of Arrow's buffers in this process.
//
// schema() is a list of {name =, type =}; row groups and batches are counted from 0. All objects
// belong to the Lua state that created them.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/lua/class.h"

namespace rtrain::arrow {

// Each adds its functions to the table at the top of the stack; called once for each Lua state.
void add_parquet_reader(lua_State* L);  // open_parquet
void add_ipc_batches(lua_State* L);     // open_ipc_batches
void add_readers(lua_State* L);         // open_csv, open_json, open_ipc, open_tfrecords, open_text
void add_writers(lua_State* L);         // parquet_writer, csv_writer, ipc_writer
void add_objects(lua_State* L);         // object_kind, list_objects, …

// Pushes a list of {name =, type =}.
void push_schema(lua_State* L, const ::arrow::Schema& schema);

// Each throws Error(kArgument) that says what was expected and what was passed.
std::string check_path(lua_State* L, int index, std::string_view function);
int64_t check_integer(lua_State* L, int index, std::string_view what);
std::vector<std::string> check_texts(lua_State* L, int index, std::string_view what);

}  // namespace rtrain::arrow
