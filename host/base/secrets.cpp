#include "host/base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "host/base/text/text.h"

namespace rtrain {
namespace {

bool is_secret_word(const std::string& word) {
  constexpr std::array<std::string_view, 5> kWords = {"key", "token", "secret", "password",
                                                      "credential"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// Returns false for a number or a boolean, by the rules of --set.
bool is_string(const std::string& text) {
  if (text == "true" || text == "false" || text.empty()) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end != '\0';
}

bool is_option(std::string_view argument) { return argument.starts_with("--"); }

// Masks the value in NAME=VALUE, --NAME=VALUE and --set=NAME=VALUE.
std::string mask_assignment(const std::string& argument) {
  size_t begin = 0;
  for (size_t equals; (equals = argument.find('=', begin)) != std::string::npos;
       begin = equals + 1) {
    if (!is_secret_name(std::string_view(argument).substr(begin, equals - begin))) continue;
    if (!is_string(argument.substr(equals + 1))) return argument;
    return cat(argument.substr(0, equals + 1), kMasked);
  }
  return argument;
}

}  // namespace

bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || a.empty()) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
  }
  return differs == 0;
}

bool is_secret_name(std::string_view name) {
  std::string word;
  for (const char c : name) {
    if (c != '_' && c != '-' && c != '.') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (is_secret_word(word)) return true;
    word.clear();
  }
  return is_secret_word(word);
}

Value mask_secrets(const Value& config) {
  if (config.is_list()) {
    List out;
    for (const Value& item : config.as_list()) out.push_back(mask_secrets(item));
    return out;
  }
  if (!config.is_map()) return config;
  Map out;
  for (const auto& [key, item] : config.as_map()) {
    const auto* name = std::get_if<std::string>(&key);
    const bool is_secret = item.is_string() && name != nullptr && is_secret_name(*name);
    out.set(key, is_secret ? Value(kMasked) : mask_secrets(item));
  }
  return out;
}

std::vector<std::string> mask_secrets(const std::vector<std::string>& command) {
  std::vector<std::string> out;
  bool is_value = false;  // the argument is the value of the option before it
  for (const std::string& argument : command) {
    const bool is_masked = is_value && !is_option(argument) && is_string(argument);
    out.push_back(is_masked ? std::string(kMasked) : mask_assignment(argument));
    is_value =
        is_option(argument) && argument.find('=') == argument.npos && is_secret_name(argument);
  }
  return out;
}

}  // namespace rtrain
