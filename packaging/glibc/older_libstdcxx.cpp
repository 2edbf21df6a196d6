// packaging/glibc/older_libstdcxx.cpp: what wheels ask libstdc++.so.6 for and the objects of
// libstdc++-12-pic do not have: forms of before GCC 12. Those that only programs of GCC 4 ask for
// are left out.
#include <condition_variable>
#include <istream>
#include <limits>
#include <mutex>

namespace {

template <class Char>
struct Counting : std::basic_istream<Char> {
  using std::basic_istream<Char>::_M_gcount;
};

// As ignore(count, delimiter), which cannot be called for it: without a delimiter that calls this
// one.
template <class Char>
std::basic_istream<Char>& ignore(std::basic_istream<Char>* in, std::streamsize count) {
  constexpr auto kMost = std::numeric_limits<std::streamsize>::max();
  std::streamsize& number = static_cast<Counting<Char>*>(in)->_M_gcount;
  number = 0;
  const typename std::basic_istream<Char>::sentry sentry(*in, true);
  if (!sentry) return *in;
  while (count == kMost || number < count) {
    if (in->rdbuf()->sbumpc() == std::char_traits<Char>::eof()) {
      in->setstate(std::ios_base::eofbit);
      break;
    }
    if (number < kMost) ++number;
  }
  return *in;
}

}  // namespace

extern "C" {

void older_wait(std::condition_variable* condition, std::unique_lock<std::mutex>& lock) {
  condition->wait(lock);
}
std::istream& older_ignore(std::istream* in, std::streamsize count) { return ignore(in, count); }
std::wistream& older_wide_ignore(std::wistream* in, std::streamsize count) {
  return ignore(in, count);
}

__asm__(
    ".symver older_wait, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
__asm__(".symver older_ignore, _ZNSi6ignoreEl@@GLIBCXX_3.4.5");
__asm__(
    ".symver older_wide_ignore, _ZNSt13basic_istreamIwSt11char_traitsIwEE6ignoreEl@@GLIBCXX_3.4.5");
}
