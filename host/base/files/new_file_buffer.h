// host/base/files/new_file_buffer.h: a std::streambuf that writes to a NewFile.
//
// Flush the stream before commit(), which throws if a write has failed.
#pragma once

#include <cstddef>
#include <streambuf>
#include <vector>

#include "host/base/files/new_file.h"

namespace rtrain {

class NewFileBuffer : public std::streambuf {
 public:
  // REQUIRES: the file lives longer.
  explicit NewFileBuffer(NewFile& file) : file_(file), bytes_(size_t{64} << 10) { begin(); }

 protected:
  int overflow(int byte) override {
    sync();
    if (byte == traits_type::eof()) return 0;
    *pptr() = static_cast<char>(byte);
    pbump(1);
    return byte;
  }
  int sync() override {
    file_.write(pbase(), static_cast<size_t>(pptr() - pbase()));
    begin();
    return 0;
  }

 private:
  void begin() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  NewFile& file_;
  std::vector<char> bytes_;
};

}  // namespace rtrain
