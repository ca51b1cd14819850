// A program in Python as statements. Nothing is executed; what a statement means is the caller's.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

// One statement with all its lines: `cfg.model.x = [  # why` up to the bracket's end. Of a compound statement the head
// ("if fast:"), whose body follows with a greater indent, a body on the same line among it. Views are into the text.
struct PythonStatement {
  absl::string_view text;
  int line = 0;
  int column = 0;
  int indent = 0;
  bool compound = false;
  bool continued = false;  // a backslash goes on below
};

std::vector<PythonStatement> PythonStatements(absl::string_view program);

// Behind the quoted text that begins at `at`; the text's end where it is not closed.
size_t BehindPythonQuote(absl::string_view text, size_t at);

// Walks over a text, passing quotes and comments whole, and counts open brackets.
class PythonCursor {
 public:
  explicit PythonCursor(absl::string_view text, size_t at = 0) : text_(text), at_(at) {}
  bool AtEnd() const { return at_ >= text_.size(); }
  size_t at() const { return at_; }
  int depth() const { return depth_; }
  char byte() const { return text_[at_]; }
  // Over one byte, or the quoted text or comment that begins with it.
  void Step();

 private:
  absl::string_view text_;
  size_t at_;
  int depth_ = 0;
};

// The name that the text begins with; may be empty.
absl::string_view PythonWord(absl::string_view text);
// The text is a name and nothing else.
bool IsPythonName(absl::string_view text);

// Where the first `mark` stands that is in no bracket, quote or comment; npos: nowhere. ':' is not that of ':='; '=' is
// an assignment's alone.
size_t FindInPython(absl::string_view text, char mark);
// The parts between such marks, without blanks at their ends; the last one may be empty.
std::vector<absl::string_view> SplitPython(absl::string_view text, char mark);

}  // namespace flightplan
