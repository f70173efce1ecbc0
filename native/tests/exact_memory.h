// Arrays of an exact size: whoever reads or writes beside them is stopped. AddressSanitizer does that around memory of
// the heap; without it an array lies between two pages that nobody may touch, against one of them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace leantta_test {

[[noreturn]] inline void memory_is_short() {
  std::puts("kernel_test: memory is short");
  std::exit(2);
}

// Whole pages between two that are closed. Given back, they wait for the next who needs as many.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : size_((bytes + page() - 1) / page() * page()) {
    std::vector<char*>& idle = waiting()[size_];
    if (!idle.empty()) {
      start_ = idle.back();
      idle.pop_back();
      return;
    }
    void* block = mmap(nullptr, size_ + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) memory_is_short();
    start_ = static_cast<char*>(block) + page();
    if (size_ && mprotect(start_, size_, PROT_READ | PROT_WRITE) != 0) memory_is_short();
  }
  ~Pages() { waiting()[size_].push_back(start_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  char* against_the_end(std::size_t bytes) const { return start_ + size_ - bytes; }
  char* against_the_start() const { return start_; }

 private:
  static std::size_t page() {
    static const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
  }
  static std::map<std::size_t, std::vector<char*>>& waiting() {
    static std::map<std::size_t, std::vector<char*>> all;
    return all;
  }

  std::size_t size_;
  char* start_;
};

// The same with AddressSanitizer: memory of the heap, off its alignment by `gap`.
class HeapBlock {
 public:
  HeapBlock(std::size_t bytes, std::size_t gap) : block_(std::malloc(gap + bytes)), gap_(gap) {
    if (!block_) memory_is_short();
  }
  ~HeapBlock() { std::free(block_); }
  HeapBlock(const HeapBlock&) = delete;
  HeapBlock& operator=(const HeapBlock&) = delete;

  char* start() const { return static_cast<char*>(block_) + gap_; }

 private:
  void* block_;
  std::size_t gap_;
};

template <typename T>
class Exact {
 public:
  // `place` moves the array: off the alignment of the heap, or against the page before it.
  explicit Exact(std::size_t size, std::size_t place = 0)
#if defined(__SANITIZE_ADDRESS__)
      : size_(size), block_(size * sizeof(T), place % 16 * sizeof(T)), data_(reinterpret_cast<T*>(block_.start())) {
#else
      : size_(size), block_(size * sizeof(T)) {
    data_ = reinterpret_cast<T*>(place % 4 == 3 ? block_.against_the_start()
                                                : block_.against_the_end(size * sizeof(T)));
#endif
    if (size) std::memset(static_cast<void*>(data_), 0xa5, size * sizeof(T));  // not 0: what nobody writes shows
  }
  Exact(std::size_t size, std::size_t place, const T* values) : Exact(size, place) {
    if (size) std::memcpy(data_, values, size * sizeof(T));
  }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  std::size_t size_;
#if defined(__SANITIZE_ADDRESS__)
  HeapBlock block_;
#else
  Pages block_;
#endif
  T* data_;
};

}  // namespace leantta_test
