// host/dash/page_style.h: puts the style sheet of a page into the page, so that it is drawn without
// waiting for a second file. Pure.
#pragma once

#include <string>
#include <string_view>

namespace rtrain::dash {

// Hexadecimal digits of a nonce: 128 bits, new for each page.
inline constexpr int kNonceDigits = 32;

// Replaces the page's link to style.css. The policy has to allow the nonce.
// Throws Error(kInternal) for a page without that link.
std::string with_style(std::string page, std::string_view style, std::string_view nonce);

}  // namespace rtrain::dash
