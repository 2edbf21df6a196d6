// host/lua/libraries/embedded_library.h: a shared library whose bytes lie in the executable,
// brought into the process from a sealed memory file.
#pragma once

#include <mutex>
#include <string>

namespace rtrain::lua {

// Loads a library by path. Throws Error(kEnvironment) with the dynamic linker's message.
void* open_library(const std::string& path, int flags);

class EmbeddedLibrary {
 public:
  struct Image {
    const char* name;  // "rtrain-engine": what /proc/self/maps shows
    const unsigned char* begin;
    const unsigned char* end;
    const char* path_variable;  // environment variable: load this file instead, for debugging
  };

  explicit constexpr EmbeddedLibrary(const Image& image) : image_(image) {}

  // Makes file() the memory file behind the descriptor, which a parent has made of the same
  // executable. Nothing when it is not such a file, or when there is one already.
  void take_file(int fd);

  // The descriptor of the sealed memory file, made on first call and never closed: a re-used
  // descriptor number would make the dynamic linker return the old library. -1 when there can be
  // none.
  int file();

  // Where the dynamic linker finds it. Throws Error(kEnvironment) when it cannot be unpacked.
  std::string path();

  // The function of that name, from the library loaded with RTLD_LOCAL. Throws Error(kEnvironment)
  // when it cannot be loaded.
  void* load(const char* function);

 private:
  int make_file();
  bool is_file(int fd) const;

  const Image image_;
  std::once_flag once_;
  int fd_ = -1;
  int problem_ = 0;  // errno of a file that could not be made
};

}  // namespace rtrain::lua
