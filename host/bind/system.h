// host/bind/system.h: the module `base._system`: clock, paths, folders, and what a checkpoint
// folder says of itself.
//
//   monotonic() → seconds
//   absolute(path) → path
//   make_folders(path), remove_tree(path), copy_tree(from, to)
//   make_temp(prefix) → path
//   get_metadata(folder) → table, set_metadata(folder, table)
//   verify(folder) → whether it is a committed checkpoint; raises when its files have changed since
//   start_command(text) → shell command that runs; :finish(timeout_s) → whether it has ended, what
//     it has printed; it is killed with the object, or by :release()
//   lease(folder) → object held against retention until :release()
//   path_kind(path) → 'file', 'folder' or 'other'; nothing where there is nothing
//   list_folder(path) → names
//   is_packed(name, head) → whether its name or its first bytes say so (host/base/codec/packing.h)
//   is_object_uri(path) → whether it is a URI of an object store (host/base/object_uri.h)
//   hash(text) → 16 hexadecimal digits
//   run_name_problem(text) → why no run can have that name, or nil
//   tag_problem(text) → why no run can have that tag, or nil
//   now_ms() → milliseconds since 1970, time_text(ms) → '2026-11-26T13:17:02.031Z'
//   to_json(value) → text, from_json(text) → value
//   write(fd, text) → whether all of it arrived
//   write_file(path, text)             the file is whole or as it was
//   cores() → the cores that runs may use here
//   cuda() → number of devices, why there are none
//   gpu_state(uuid) → what NVIDIA's management library says about a device, or nil, reason
//   enter_phase(number) → depth, leave_phase(depth)   host/base/phase_clock.h; where this thread is
//     no rank's main thread they do nothing
//   is_terminal(fd) → boolean
//   terminal_size(fd) → columns, rows; nothing where there is no terminal
//   terminal_text(text), terminal_line(text) → text without control characters that a terminal
//     obeys
//   text_width(text) → columns, bytes_that_fit(text, columns) → bytes   host/base/text/text_width.h
//   open_isolated(path) → handle of a library with a C library of its own, for dlsym
//   tree_library(name) → file, version of the library that the module of that name calls
//   shell_word(text) → the text as one word of a command
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_system(lua_State* L);

}  // namespace rtrain
