// Unpacks gzip as it is read.
#pragma once

#include <zlib.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace flightplan::cli {

// Takes a gzip file in pieces of any size; several packed files behind each other are one text. Keeps one buffer,
// however far the text unpacks.
class Inflater {
 public:
  Inflater();
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Hands on what the bytes unpack to. After a fault nothing more is taken.
  void Push(absl::string_view bytes, absl::FunctionRef<void(absl::string_view)> take);
  // The file is damaged from some place on. One that ends too early is not: it may still be written.
  bool broken() const { return broken_; }

  static bool Recognises(absl::string_view begin);

 private:
  z_stream stream_ = {};
  std::string buffer_;
  bool ready_ = false, ended_ = false, broken_ = false;
};

}  // namespace flightplan::cli
