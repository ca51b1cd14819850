#include "resolver/normalize/model_reference.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/model.pb.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/normalize/model_message.h"

namespace flightplan {

ModelSpec ModelFromReference(const v1::ModelRef& reference, const Catalog& catalog, std::vector<std::string>* notes,
                             Violations* violations) {
  switch (reference.source_case()) {
    case v1::ModelRef::kName: {
      auto model = catalog.FindModel(reference.name());
      if (model.ok()) return **model;
      violations->Add("model.name",
                      absl::StrCat(model.status().message(), " (`flightplan models`, ListModels, has them all)"));
      return {};
    }
    case v1::ModelRef::kHfConfigJson: {
      if (reference.hf_config_json().size() > kMaxHfConfigBytes) {
        violations->Add("model.hf_config_json", "is longer than 256 KiB");
        return {};
      }
      auto model = ImportHfConfig(reference.hf_config_json(), notes);
      if (model.ok()) return *std::move(model);
      violations->Add("model.hf_config_json", model.status());
      return {};
    }
    case v1::ModelRef::kSpec:
      return ModelFromMessage(reference.spec(), "model.spec", violations);
    case v1::ModelRef::SOURCE_NOT_SET:
      violations->Add("model", "is required: a catalogue name, a spec or a Hugging Face config.json");
  }
  return {};
}

}  // namespace flightplan
