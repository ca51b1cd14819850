#include "resolver/normalize/request_bounds.h"

#include "absl/strings/str_cat.h"

namespace flightplan {

void CheckRange(absl::string_view field, int64_t value, int64_t high, Violations* violations) {
  if (value < 1 || value > high) violations->Add(field, absl::StrCat("must be 1..", high, ", not ", value));
}

void CheckLength(absl::string_view field, size_t bytes, size_t most, Violations* violations) {
  if (bytes > most) violations->Add(field, absl::StrCat("has ", bytes, " bytes, at most ", most));
}

void CheckCount(absl::string_view field, int entries, int most, Violations* violations) {
  if (entries > most) violations->Add(field, absl::StrCat("has ", entries, " entries, at most ", most));
}

void CheckNotes(absl::string_view field, const google::protobuf::RepeatedPtrField<std::string>& notes,
                Violations* violations) {
  CheckCount(field, notes.size(), kMaxNotes, violations);
  size_t bytes = 0;
  for (const std::string& note : notes) bytes += note.size();
  CheckLength(field, bytes, kMaxNotesBytes, violations);
}

}  // namespace flightplan
