// Writes protobuf wire bytes in one pass, without a message in between: fields in the order in which they are written,
// lengths at their shortest. Written in order of field numbers, with maps in order of keys, the bytes are those of the
// message's deterministic serialization.
//
// The plain methods follow proto3: a field without presence that holds its default is left out. The methods called
// Put... always write: for members of a oneof, `optional` fields, elements of repeated fields and map entries.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/string_view.h"

namespace flightplan {

// Bytes in memory that was never set to zero.
class WireBytes {
 public:
  WireBytes() = default;
  WireBytes(std::unique_ptr<char[]> data, size_t size) : data_(std::move(data)), size_(size) {}
  const char* data() const { return data_.get(); }
  size_t size() const { return size_; }
  absl::string_view view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
};

class WireWriter {
 public:
  explicit WireWriter(size_t room) { Grow(room); }

  void Text(int field, absl::string_view text) {
    if (!text.empty()) PutText(field, text);
  }
  void Bool(int field, bool value) {
    if (value) PutInt(field, 1);
  }
  // Also for enums. A negative int32 takes ten bytes, as protobuf has it.
  void Int(int field, int64_t value) {
    if (value != 0) PutInt(field, value);
  }
  void Real(int field, double value) {
    if (std::bit_cast<uint64_t>(value) != 0) PutReal(field, value);  // -0.0 is written
  }

  void PutText(int field, absl::string_view text) {
    Need(text.size());
    Tag(field, kDelimited);
    Varint(text.size());
    Append(text);
  }
  // Text in two pieces.
  void PutText(int field, absl::string_view begin, absl::string_view end) {
    Need(begin.size() + end.size());
    Tag(field, kDelimited);
    Varint(begin.size() + end.size());
    Append(begin);
    Append(end);
  }
  void PutBool(int field, bool value) { PutInt(field, value ? 1 : 0); }
  void PutInt(int field, int64_t value) {
    Need(0);
    Tag(field, kVarint);
    Varint(static_cast<uint64_t>(value));
  }
  void PutReal(int field, double value) {
    Need(0);
    Tag(field, kFixed64);
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) *at_++ = static_cast<char>(bits >> shift);
  }
  // The message whose fields `body` writes; present also where it writes none.
  template <class Body>
  void PutMessage(int field, Body body) {
    Need(0);
    Tag(field, kDelimited);
    const size_t begin = size();
    ++at_;  // of the length; most take one byte
    body();
    Close(begin);
  }
  // Whole fields that were written before.
  void PutEncoded(absl::string_view fields) {
    Need(fields.size());
    Append(fields);
  }
  void PutMapEntry(int field, absl::string_view key, absl::string_view value) {
    PutMessage(field, [&] {
      PutText(1, key);
      PutText(2, value);
    });
  }

  size_t size() const { return static_cast<size_t>(at_ - data_.get()); }
  absl::string_view bytes() const { return {data_.get(), size()}; }
  // What was written; the writer is empty and of no use afterwards.
  WireBytes Take() && {
    const size_t written = size();
    at_ = end_ = nullptr;
    return WireBytes(std::move(data_), written);
  }

 private:
  static constexpr uint32_t kVarint = 0, kFixed64 = 1, kDelimited = 2;
  static constexpr size_t kHead = 5 + 10;  // a tag and a varint at their longest

  // Room for a field of `size` bytes behind its tag and length.
  void Need(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size + kHead) Grow(size + kHead);
  }
  void Append(absl::string_view bytes) {
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void Tag(int field, uint32_t type) { Varint(static_cast<uint32_t>(field) << 3 | type); }
  void Varint(uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<char>(value);
  }
  // Writes the length of the message whose length's first byte is at `begin`.
  void Close(size_t begin) {
    char* const length = data_.get() + begin;
    const auto size = static_cast<size_t>(at_ - length) - 1;
    if (size < 0x80) {
      *length = static_cast<char>(size);
    } else {
      CloseLong(begin, size);
    }
  }
  void CloseLong(size_t begin, size_t size);
  void Grow(size_t size);  // by at least `size` bytes

  std::unique_ptr<char[]> data_;
  char* at_ = nullptr;   // behind what is written
  char* end_ = nullptr;  // of the room
};

}  // namespace flightplan
