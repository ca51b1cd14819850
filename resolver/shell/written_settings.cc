#include "resolver/shell/written_settings.h"

namespace flightplan {

std::optional<std::string> AsSettings(const TracedText& written) {
  std::string text;
  size_t at = 0;
  for (const TracedText::Part& part : written.unknown_parts) {
    text.append(written.text, at, part.begin - at);
    at = part.end;
    const size_t line = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
    if (text.find_first_of("[{", line) != std::string::npos) return std::nullopt;
    text += "${not_known}";
  }
  text.append(written.text, at);
  return text;
}

}  // namespace flightplan
