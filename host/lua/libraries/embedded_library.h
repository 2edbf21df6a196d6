// host/lua/libraries/embedded_library.h: a shared library whose bytes the executable holds. The
// process loads it from a sealed memory file.
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
    const char* path_variable;  // environment variable whose file is loaded instead, for debugging
  };

  explicit constexpr EmbeddedLibrary(const Image& image) : image_(image) {}

  // Uses the memory file behind the descriptor as file(): a parent made it from the same
  // executable. Does nothing when it is not such a file, or when there is one already.
  void take_file(int fd);

  // Returns the descriptor of the sealed memory file, which the first call makes. It is never
  // closed: a re-used descriptor number would make the dynamic linker return the old library. -1
  // when no such file can be made.
  int file();

  // Returns where the dynamic linker finds it. Throws Error(kEnvironment) if it cannot be unpacked.
  std::string path();

  // Returns the function of that name, from the library loaded with RTLD_LOCAL. Throws
  // Error(kEnvironment) when the library cannot be loaded.
  void* load(const char* function);

 private:
  int make_file();
  bool is_file(int fd) const;

  const Image image_;
  std::once_flag once_;
  int fd_ = -1;
  int problem_ = 0;  // errno when the file could not be made
};

}  // namespace rtrain::lua
