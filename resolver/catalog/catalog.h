// Models and GPU systems: built into the binary, extended by overlay files. Immutable after load, so
// one Catalog may be read from many threads; copies share the data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/hardware.h"
#include "resolver/plan/model.h"

namespace flightplan {

// The text of one overlay file; the edge reads the folder, the resolver rooms read no files.
struct CatalogFile {
  std::string name;  // shown in messages: "site/models.yaml"
  std::string text;
};

class Catalog {
 public:
  // What ships with the binary.
  static absl::StatusOr<Catalog> Builtin();
  // The built-in catalogue with a site's files on top, in the order given: an entry whose name is already taken
  // replaces it. A file holds the lists `models` and `gpus`, or one of them. A bad file is refused as a whole, with
  // file, line, field and what would be right.
  static absl::StatusOr<Catalog> WithOverlay(absl::Span<const CatalogFile> files);

  // By name or alias, case-insensitive; '_' and '-' are the same. NotFound names the nearest known ones. The pointers
  // live as long as any copy of this catalogue.
  absl::StatusOr<const ModelSpec*> FindModel(absl::string_view name) const;
  absl::StatusOr<const GpuSystem*> FindGpu(absl::string_view name) const;

  // Sorted by name.
  absl::Span<const ModelSpec> models() const;
  absl::Span<const GpuSystem> gpus() const;

  // Digest of the content: equal for equal catalogues, different when any entry differs.
  const std::string& revision() const;

 private:
  struct Data;
  explicit Catalog(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

}  // namespace flightplan
