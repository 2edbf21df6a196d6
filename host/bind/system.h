// host/bind/system.h: the module `base._system`: clock, paths, folders, and the metadata of
// checkpoint folders.
//
//   monotonic() → seconds
//   absolute(path) → path
//   make_folders(path), remove_tree(path), copy_tree(from, to)
//   make_temp(prefix) → path
//   get_metadata(folder) → table, set_metadata(folder, table)
//   verify(folder) → whether it is a committed checkpoint; raises if its files have changed
//   start_command(text) → shell command that runs; :finish(timeout_s) → whether it has ended, what
//     it has printed; it is killed with the object, or by :release()
//   lease(folder) → object held against retention until :release()
//   path_kind(path) → 'file', 'folder' or 'other'; nothing if it does not exist
//   file_stamp(path) → size and time of the last change of a file; '' without one
//   list_folder(path) → names
//   is_packed(name, head) → whether its name or first bytes show packing
//   (host/base/codec/packing.h)
//   is_object_uri(path) → whether it is a URI of an object store (host/base/object_uri.h)
//   hash(text) → 16 hexadecimal digits
//   run_name_problem(text) → why it is not a valid run name, or nil
//   tag_problem(text) → why it is not a valid tag, or nil
//   now_ms() → milliseconds since 1970, time_text(ms) → '2026-11-26T13:17:02.031Z'
//   to_json(value) → text, from_json(text) → value
//   write(fd, text) → whether all of it was written
//   write_file(path, text)             replaces the file completely or not at all
//   cores() → the number of cores that runs may use here
//   cuda() → number of devices, the reason if there are none
//   gpu_state(uuid) → state of a device from NVIDIA's management library, or nil, reason
//   gpu_wiring() → how each device is connected (host/machine/libraries/gpu_wiring.h)
//   enter_phase(number) → depth, leave_phase(depth)   host/base/phase_clock.h; where this thread is
//     no rank's main thread they do nothing
//   is_terminal(fd) → boolean
//   terminal_size(fd) → columns, rows; nothing if it is not a terminal
//   terminal_text(text), terminal_line(text) → text with control characters made
//   visible
//   text_width(text) → columns, bytes_that_fit(text, columns) → bytes   host/base/text/text_width.h
//   open_isolated(path) → handle of a library with a C library of its own, for dlsym
//   tree_library(name) → file, version of the library that the module of that name calls
//   shell_word(text) → the text as one word of a command
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_system(lua_State* L);

}  // namespace rtrain::bind
