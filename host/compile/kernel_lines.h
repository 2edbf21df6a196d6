// host/compile/kernel_lines.h: KernelLines: the lines of a function of CUDA C++, as it is written.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace rtrain::compile {

inline std::string text_of(const std::string& text) { return text; }
inline std::string text_of(const char* text) { return text; }
inline std::string text_of(int64_t number) { return std::to_string(number); }
inline std::string text_of(size_t number) { return std::to_string(number); }
inline std::string text_of(int number) { return std::to_string(number); }

template <class... Parts>
std::string joined(const Parts&... parts) {
  std::string out;
  ((out += text_of(parts)), ...);
  return out;
}

class KernelLines {
 public:
  template <class... Parts>
  void line(const Parts&... parts) {
    const std::string text = joined(parts...);
    if (!text.starts_with("#")) text_.append(2 * depth_, ' ');
    text_ += text + "\n";
  }
  // A line that opens a block: a loop, for example.
  template <class... Parts>
  void open(const Parts&... parts) {
    const std::string text = joined(parts...);
    open_raw(text, text.empty() ? "{" : " {");
  }
  // As above, with the brace in the text.
  template <class... Parts>
  void open_raw(const Parts&... parts) {
    line(parts...);
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  size_t depth_ = 0;
};

}  // namespace rtrain::compile
