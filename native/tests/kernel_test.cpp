// Every path of the kernel against the scalar one, bit for bit, and the scalar one against the formulas in double.
//
//     kernel_test [CASES [SEED [FAULT]]]
//     kernel_test faults
//
// Case i has the seed SEED + i. One line per group; the first difference ends it with code 1 and says how to repeat it.
// FAULT is one of those that `kernel_test faults` lists: with it in a path, that difference must be found.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#include "batches.h"
#include "stages.h"

namespace {

using namespace leantta_test;

struct Group {
  const char* name;
  void (*test)(Case& given);
  unsigned long share;  // every so many cases
};

const Group kGroups[] = {
    {"sums", test_sums, 1},
    {"shift", test_shift, 1},
    {"shift of totals", test_shift_of_totals, 1},
    {"answer", test_answer, 1},
    {"coefficients", test_coefficients, 1},
    {"apply", test_apply, 1},
    {"planes", test_planes, 1},
    {"batches", test_batches, 1},
    {"formulas", test_formulas, 2},
    {"large batches in threads", test_large_batches, 50},
};

void tell_case() {
  if (write(STDOUT_FILENO, repeat, std::strlen(repeat)) < 0) _exit(2);
}

// Says in which case memory beside an array was touched.
void watch_memory() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(tell_case);
#else
  const auto stop = [](int) {
    constexpr char text[] = "the kernel left its arrays:\n";
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(2);
    tell_case();
    _exit(1);
  };
  std::signal(SIGSEGV, stop);
  std::signal(SIGBUS, stop);
#endif
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::strcmp(words[1], "faults") == 0) {
    for (const Fault& one : kFaults) std::puts(one.name);
    return 0;
  }
  const unsigned long cases = count > 1 ? std::strtoul(words[1], nullptr, 10) : 2000;
  const unsigned long first = count > 2 ? std::strtoul(words[2], nullptr, 10) : 1;
  if (cases == 0 || count > 4 || (count == 4 && !put_fault(words[3]))) {
    std::puts("usage: kernel_test [CASES [SEED [FAULT]]]\n       kernel_test faults");
    return 2;
  }
  std::printf("paths:");
  for (const Path* path : others_and_scalar()) std::printf(" %s", path->name);
  std::puts("");
  std::fflush(stdout);
  watch_memory();
  for (const Group& group : kGroups) {
    unsigned long done = 0;
    for (unsigned long i = 0; i < cases; i += group.share, ++done) {
      Case given(first + i);
      remember(group.name, given);
      group.test(given);
    }
    std::printf("%s: %lu cases\n", group.name, done);
    std::fflush(stdout);
  }
  test_limits();
  test_functions();
  const Checked counts = checked();
  std::printf("formulas: %zu values, %.1f %% of them beyond what float32 can tell\n", counts.values,
              100.0 * static_cast<double>(counts.unsure) / static_cast<double>(counts.values));
  std::printf("formulas: %zu numbers of memories, %.1f %% of them beyond what float32 can tell\n", counts.remembered,
              100.0 * static_cast<double>(counts.unsure_memory) / static_cast<double>(counts.remembered));
  const bool few = counts.unsure > counts.values / 2 || counts.unsure_memory >= counts.remembered / 2;
  if (cases >= 100 && few) {
    std::puts("formulas: too few values were compared");
    return 1;
  }
  return 0;
}
