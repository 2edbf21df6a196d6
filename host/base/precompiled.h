// host/base/precompiled.h: standard headers that nearly every file of the host includes, compiled
// once for all folders. Files still include what they use, because the dev build has no precompiled
// header.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>
