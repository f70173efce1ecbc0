// How a difference is found and told.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "../kernel.h"
#include "cases.h"
#include "faults.h"

namespace leantta_test {

using leantta::Pool;

using Bytes = Exact<std::uint8_t>;
using Floats = Exact<float>;
using Ints = Exact<std::int32_t>;

inline const char* current_group = "";

// How to see the same again; a handler of signals may print it.
inline char repeat[1024] = "";

inline void remember(const char* group, const Case& given) {
  current_group = group;
  std::snprintf(repeat, sizeof repeat, "  %s, %s\n  to repeat it: kernel_test 1 %llu\n", group, given.shown().c_str(),
                static_cast<unsigned long long>(given.seed));
}

[[noreturn]] __attribute__((format(printf, 3, 4))) inline void fail(const Case& given, const char* path,
                                                                   const char* format, ...) {
  std::printf("%s: the path %s: ", current_group, path);
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  remember(current_group, given);
  std::printf("\n%s", repeat);
  std::exit(1);
}

inline bool same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }
template <typename T>
inline bool same(T a, T b) {
  return a == b;
}

template <typename T>
void compare(const Case& given, const Path& path, const char* what, const T* found, const T* wanted,
             std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (!same(found[i], wanted[i]))
      fail(given, path.name, "%s[%zu] of %zu is %.9g, by the scalar path %.9g", what, i, count,
           static_cast<double>(found[i]), static_cast<double>(wanted[i]));
}

// The paths that this processor has, without the scalar one.
inline const std::vector<const Path*>& others() {
  static const std::vector<const Path*> list = [] {
    std::size_t count = 0;
    const Path* const* all = leantta::paths(&count);
    std::vector<const Path*> made;
    for (std::size_t i = 0; i < count; ++i)
      if (all[i] != &kScalar && all[i]->supported()) made.push_back(all[i]);
    if (fault && !fault->formulas) made.push_back(&faulty_path);
    return made;
  }();
  return list;
}

inline std::vector<const Path*> others_and_scalar() {
  std::vector<const Path*> list = others();
  list.push_back(&kScalar);
  return list;
}

inline void run_serially(void*, std::size_t count, void (*f)(void*, std::size_t), void* context) {
  for (std::size_t i = 0; i < count; ++i) f(context, i);
}

// By threads of its own; `calls` counts how often.
inline void run_in_threads(void* calls, std::size_t count, void (*f)(void*, std::size_t), void* context) {
  ++*static_cast<std::atomic<int>*>(calls);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> crew;
  for (int k = 0; k < 4; ++k)
    crew.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++) f(context, i);
    });
  for (std::thread& one : crew) one.join();
}

constexpr Pool kSerial = {nullptr, run_serially};

}  // namespace leantta_test
