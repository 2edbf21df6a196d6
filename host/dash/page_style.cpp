#include "host/dash/page_style.h"

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::dash {

std::string with_style(std::string page, std::string_view style, std::string_view nonce) {
  constexpr std::string_view kLink = R"(<link rel="stylesheet" href="style.css">)";
  const size_t at = page.find(kLink);
  RT_CHECK(at != std::string::npos);
  page.replace(at, kLink.size(), cat("<style nonce=\"", nonce, "\">\n", style, "</style>"));
  return page;
}

}  // namespace rtrain::dash
