// A Hugging Face config.json, and the arithmetic on what it says: parameters, knobs, shape.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "resolver/derive/parameters.h"
#include "resolver/derive/shape.h"
#include "resolver/normalize/hf_import.h"
#include "tests/fuzz/feedback.h"

namespace flightplan::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> notes;
  const auto model = ImportHfConfig(absl::string_view(reinterpret_cast<const char*>(data), size), &notes);
  if (!model.ok()) {
    Met(model.status().message().substr(0, 32));
    return 0;
  }
  Met(model->name);
  if (!CountParameters(*model).ok()) Met("no parameters");
  if (!MakeShape(*model).ok()) Met("no shape");
  return 0;
}

}  // namespace flightplan::fuzz
