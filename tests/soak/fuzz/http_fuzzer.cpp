// HttpParser and the checks of its requests; the bytes arrive in pieces.
#include "host/dash/server/access.h"
#include "host/http/http_parser.h"
#include "tests/soak/fuzz/run_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  using namespace rtrain::http;
  using namespace rtrain::dash;
  if (size == 0) return 0;
  // The first byte determines the length of the pieces.
  const size_t piece = 1 + data[0] * size_t{8};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  return run_reader([&] {
    AccessOptions options;
    options.writer = {.token = "t", .cookie = "t"};
    options.cookie_name = "c";
    options.hosts = {"a"};
    options.base_path = "/b";
    const Access access(options);
    HttpParser parser;
    for (size_t at = 0; at < text.size(); at += piece) {
      parser.feed(text.substr(at, piece));
      while (auto request = parser.next()) {
        const auto refusal = access.refuse(*request);
        sent_response(*request, refusal ? *refusal : HttpResponse{}, request->keep_alive);
        constexpr int64_t kSize = 1000;
        const auto range = parse_range(request->header("range"), kSize);
        if (range && (range->begin < 0 || range->end < range->begin || range->end > kSize)) {
          __builtin_trap();
        }
      }
      if (parser.refused() != 0 && parser.next()) __builtin_trap();
    }
  });
}
