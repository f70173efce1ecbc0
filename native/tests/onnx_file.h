// A model file of one node, written by hand: enough of ONNX for whoever has no onnx package.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "../ort_abi.h"

namespace leantta_test {

using leantta::ElementType;

// An array with memory of exactly its size.
struct Array {
  ElementType type;
  std::vector<std::int64_t> sizes;
  std::vector<std::uint8_t> data;

  std::size_t count() const {
    std::size_t product = 1;
    for (const std::int64_t size : sizes) product *= static_cast<std::size_t>(size);
    return product;
  }
  std::size_t width() const {
    return type == leantta::kInt64 ? 8 : type == leantta::kFloat || type == leantta::kInt32 ? 4 : 1;
  }
  void set(std::size_t place, float value) {
    std::uint8_t* at = data.data() + place * width();
    const std::int64_t whole = static_cast<std::int64_t>(value);
    if (type == leantta::kFloat)
      std::memcpy(at, &value, 4);
    else
      std::memcpy(at, &whole, width());  // little-endian
  }
  void fill(float value) {
    data.assign(count() * width(), 0);
    for (std::size_t i = 0; i < count(); ++i) set(i, value);
  }
  void count_up(int first) {
    for (std::size_t i = 0; i < count(); ++i) set(i, static_cast<float>(first) + static_cast<float>(i));
  }
  void say(const std::vector<std::int64_t>& values) {
    for (std::size_t i = 0; i < count() && i < values.size(); ++i) set(i, static_cast<float>(values[i]));
  }
};

struct Node {
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, Array>> constants;
  std::vector<std::pair<std::string, float>> floats;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> lists;
  std::pair<std::string, std::int64_t> whole;
};

inline std::string varint(std::uint64_t value) {
  std::string text;
  for (; value > 127; value >>= 7) text += static_cast<char>((value & 127) | 128);
  return text + static_cast<char>(value);
}

inline std::string number(int field, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value));
}

inline std::string part(int field, const std::string& content) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}

inline std::string attribute(const std::string& name, int type, const std::string& value) {
  return part(5, part(1, name) + value + number(20, type));
}

inline std::string node_of(const Node& node, const std::vector<std::string>& outputs) {
  std::string text;
  for (const std::string& input : node.inputs) text += part(1, input);
  for (const std::string& output : outputs) text += part(2, output);
  text += part(3, "bn") + part(4, node.op);
  for (const auto& [name, value] : node.floats) {
    std::string bytes(4, 0);
    std::memcpy(bytes.data(), &value, 4);
    text += attribute(name, 1, varint(2 << 3 | 5) + bytes);
  }
  for (const auto& [name, values] : node.lists) {
    std::string row;
    for (const std::int64_t value : values) row += number(8, value);
    text += attribute(name, 7, row);
  }
  if (!node.whole.first.empty()) text += attribute(node.whole.first, 2, number(3, node.whole.second));
  return text + part(7, "leantta");
}

inline std::string tensor_of(const std::string& name, const Array& array) {
  std::string text;
  for (const std::int64_t size : array.sizes) text += number(1, size);
  const std::string bytes(reinterpret_cast<const char*>(array.data.data()), array.data.size());
  return text + number(2, array.type) + part(8, name) + part(9, bytes);
}

// An input whose type is known, and of its shape only how many axes it has.
inline std::string input_of(const std::string& name, const Array& array) {
  std::string shape;
  for (std::size_t i = 0; i < array.sizes.size(); ++i) shape += part(1, part(2, name + std::to_string(i)));
  return part(1, name) + part(2, part(1, number(1, array.type) + part(2, shape)));
}

// The file; the outputs say nothing of their types.
inline std::string onnx_file(const Node& node, const std::vector<std::string>& names, const std::vector<Array>& given,
                             const std::vector<std::string>& outputs) {
  std::string graph = part(1, node_of(node, outputs)) + part(2, "g");
  for (const auto& [name, array] : node.constants) graph += part(5, tensor_of(name, array));
  for (std::size_t i = 0; i < names.size(); ++i) graph += part(11, input_of(names[i], given[i]));
  for (const std::string& output : outputs) graph += part(12, part(1, output));
  return number(1, 9) + part(7, graph) + part(8, part(1, "") + number(2, 18)) +
         part(8, part(1, "leantta") + number(2, 1));
}

}  // namespace leantta_test
