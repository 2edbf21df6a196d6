#include "host/bundle/unpacked_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "host/base/codec/hash.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::bundle {

std::string unpack_once(const std::string& base, std::span<const NamedText> files) {
  Hasher hasher;
  for (const auto& [name, text] : files) hasher.add(cat(name, "\n", text.size(), "\n", text));
  std::string folder = cat(base, "-", hash_text(hasher.digest()));
  if (store::path_kind(folder) == "folder") return folder;
  const std::string made = cat(folder, ".", getpid());
  for (const auto& [name, text] : files) {
    const std::string path = cat(made, "/", name);
    store::make_folders(path.substr(0, path.rfind('/')));
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw store::file_error("write", path);
  }
  if (rename(made.c_str(), folder.c_str()) == 0) return folder;
  const int reason = errno;
  store::remove_tree(made);
  if (store::path_kind(folder) == "folder") return folder;  // another process was faster
  errno = reason;
  throw store::file_error("make", folder);
}

}  // namespace rtrain::bundle
