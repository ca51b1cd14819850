#include "resolver/catalog/catalog.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "resolver/base/digest.h"
#include "resolver/base/nearest.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/catalog/builtin.h"
#include "resolver/catalog/load.h"

namespace flightplan {
namespace {

using NameIndex = absl::flat_hash_map<std::string, size_t>;

std::string Canonical(absl::string_view name) { return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}}); }

// A name always finds its own entry; an alias that is another entry's name or alias finds the first.
template <class T>
NameIndex IndexNames(const std::vector<T>& entries) {
  NameIndex index;
  for (size_t i = 0; i < entries.size(); ++i) index.emplace(Canonical(entries[i].name), i);
  for (size_t i = 0; i < entries.size(); ++i) {
    for (const std::string& alias : entries[i].aliases) index.emplace(Canonical(alias), i);
  }
  return index;
}

// The shortest that begins with all of `name` ("qwen3-30b" of qwen3-30b-a3b): nearer to what somebody means than a name
// with another number in it. Empty: none does.
absl::string_view LongerName(absl::string_view name, absl::Span<const absl::string_view> known) {
  absl::string_view longer;
  for (const absl::string_view candidate : known) {
    const bool begins = !name.empty() && absl::StartsWith(candidate, absl::StrCat(name, "-"));
    if (begins && (longer.empty() || candidate.size() < longer.size())) longer = candidate;
  }
  return longer;
}

template <class T>
absl::StatusOr<const T*> Find(const std::vector<T>& entries, const NameIndex& index, absl::string_view kind,
                              absl::string_view name) {
  const std::string canonical = Canonical(name);
  if (auto it = index.find(canonical); it != index.end()) return &entries[it->second];
  std::vector<absl::string_view> known;
  for (const auto& [candidate, i] : index) known.push_back(candidate);
  absl::string_view nearest = LongerName(canonical, known);
  if (nearest.empty()) nearest = NearestName(canonical, known);
  return absl::NotFoundError(absl::StrCat("no ", kind, " named '", Utf8Prefix(name, 100), "' in the catalogue",
                                          nearest.empty() ? "" : absl::StrCat("; nearest known: ", nearest)));
}

template <class T>
void SortByName(std::vector<T>* entries) {
  std::sort(entries->begin(), entries->end(), [](const T& a, const T& b) { return a.name < b.name; });
}

}  // namespace

struct Catalog::Data {
  CatalogEntries entries;
  NameIndex models;
  NameIndex gpus;
  std::string revision;
};

absl::StatusOr<Catalog> Catalog::Builtin() { return WithOverlay({}); }

absl::StatusOr<Catalog> Catalog::WithOverlay(absl::Span<const CatalogFile> files) {
  auto data = std::make_shared<Data>();
  for (const BuiltinFile& file : kBuiltinFiles) {
    FLIGHTPLAN_RETURN_IF_ERROR(LoadCatalogDocument(Unflatten(file), &data->entries));
  }
  std::string content(kBuiltinDigest);
  for (const CatalogFile& file : files) {
    FLIGHTPLAN_RETURN_IF_ERROR(LoadCatalogFile(file.name, file.text, &data->entries));
    absl::StrAppend(&content, "\n---\n", file.text);
  }
  SortByName(&data->entries.models);
  SortByName(&data->entries.gpus);
  data->models = IndexNames(data->entries.models);
  data->gpus = IndexNames(data->entries.gpus);
  data->revision = Sha256Hex(content);
  return Catalog(std::move(data));
}

absl::StatusOr<const ModelSpec*> Catalog::FindModel(absl::string_view name) const {
  const size_t owner = name.find('/');
  for (const ModelSpec& model : data_->entries.models) {  // by its name on the Hugging Face hub
    if (owner == absl::string_view::npos) break;
    if (model.hf_id.has_value() && absl::EqualsIgnoreCase(*model.hf_id, name)) return &model;
  }
  return flightplan::Find(data_->entries.models, data_->models, "model", name);
}

absl::StatusOr<const GpuSystem*> Catalog::FindGpu(absl::string_view name) const {
  return flightplan::Find(data_->entries.gpus, data_->gpus, "GPU", name);
}

absl::Span<const ModelSpec> Catalog::models() const { return data_->entries.models; }
absl::Span<const GpuSystem> Catalog::gpus() const { return data_->entries.gpus; }
const std::string& Catalog::revision() const { return data_->revision; }

}  // namespace flightplan
