#include "resolver/base/wire_writer.h"

#include <algorithm>

namespace flightplan {

void WireWriter::Grow(size_t size) {
  const size_t used = this->size();
  const size_t room = std::max(used + size, 2 * static_cast<size_t>(end_ - data_.get()));
  std::unique_ptr<char[]> data(new char[room]);  // not set to zero
  if (used > 0) std::memcpy(data.get(), data_.get(), used);
  data_ = std::move(data);
  at_ = data_.get() + used;
  end_ = data_.get() + room;
}

void WireWriter::CloseLong(size_t begin, size_t size) {
  const auto more = static_cast<size_t>((std::bit_width(size) + 6) / 7) - 1;  // bytes of the length beyond the first
  Need(more);
  char* const length = data_.get() + begin;
  std::memmove(length + 1 + more, length + 1, size);
  at_ = length;
  Varint(size);
  at_ += size;
}

}  // namespace flightplan
