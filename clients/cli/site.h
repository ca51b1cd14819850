// `flightplan site`: the reference of clients/web as files. Each rule, knob, model and GPU is a page with an address;
// the same script draws them from the same records as a server's page does, and without scripts each is the terminal's
// text.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/cli/backend.h"

namespace flightplan::cli {

struct SiteCount {
  int rules = 0, knobs = 0, models = 0, gpus = 0;
  int pages() const { return rules + knobs + models + gpus + 1; }
};

// Hands every file to `write`, by its path below the site's root ("rule/a.b.html"), an error of which ends it.
absl::Status MakeSite(Backend& backend,
                      const std::function<absl::Status(const std::string& path, const std::string& text)>& write,
                      SiteCount* count);

// A file's name for an entry's, without ending: "~2f" for what a file system or an address may not hold.
std::string SiteFileName(absl::string_view entry);

// As they are built in (embed_report.py).
absl::string_view PackedSiteScript();
absl::string_view PackedSiteStyle();

}  // namespace flightplan::cli
