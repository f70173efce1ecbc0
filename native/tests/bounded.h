// Numbers in double with a bound on what float32 may change of them.
#pragma once

#include <cmath>
#include <limits>

namespace leantta_test {

constexpr double kUlp = 0x1p-24;  // half of float32's last place, of a value

struct Bounded {
  double value = 0, error = 0;
};

// A value that float32 rounds after it had that error; one that is not a number may be anything.
inline Bounded rounded(double value, double error) {
  const double off = error + 2 * kUlp * (std::fabs(value) + error) + 1e-37;
  return {value, off < std::numeric_limits<double>::infinity() ? off : std::numeric_limits<double>::infinity()};
}

inline Bounded operator+(const Bounded& a, const Bounded& b) { return rounded(a.value + b.value, a.error + b.error); }
inline Bounded operator-(const Bounded& a, const Bounded& b) { return rounded(a.value - b.value, a.error + b.error); }

inline Bounded operator*(const Bounded& a, const Bounded& b) {
  return rounded(a.value * b.value, std::fabs(a.value) * b.error + (std::fabs(b.value) + b.error) * a.error);
}

inline Bounded operator/(const Bounded& a, const Bounded& b) {
  const double value = a.value / b.value, least = std::fabs(b.value) - b.error;
  return rounded(value, least > 0 ? (a.error + std::fabs(value) * b.error) / least
                                  : std::numeric_limits<double>::infinity());
}

// What a function that only grows makes of a value, and of its error.
template <typename Function>
Bounded grown(const Bounded& x, Function f) {
  const double value = f(x.value);
  return {value, std::fmax(f(x.value + x.error) - value, value - f(x.value - x.error))};
}

inline Bounded clipped(const Bounded& x, double least, double most) {
  return grown(x, [=](double v) { return v < least ? least : (v > most ? most : v); });
}

}  // namespace leantta_test
