#include "clients/cli/site.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/command.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/explain_page.h"
#include "clients/cli/paging.h"
#include "clients/cli/report.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "resolver/base/status_macros.h"

namespace flightplan::cli {
namespace {

// 'self' is a site's own files, from a disk too; nothing else is asked for.
constexpr absl::string_view kPolicy = "default-src 'none'; script-src 'self'; style-src 'self'";

struct Lists {
  v1::ListRulesResponse rules;
  v1::ListKnobsResponse knobs;
  v1::ListModelsResponse models;
  v1::ListGpusResponse gpus;
};

struct SitePage {
  std::string root;  // "../", or empty at the root
  std::string kind, name;
  std::string title;
  std::string plain;  // HTML for whoever reads without scripts
};

std::string Html(const SitePage& page, absl::string_view from) {
  const auto attribute = [](absl::string_view name, absl::string_view text) {
    return text.empty() ? std::string() : absl::StrCat(" data-", name, "=\"", HtmlText(text), "\"");
  };
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\"", attribute("root", page.root), attribute("kind", page.kind),
      attribute("name", page.name), attribute("from", from),
      ">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"",
      kPolicy, "\">\n<title>", HtmlText(page.title), "</title>\n<link rel=\"stylesheet\" href=\"", page.root,
      "site.css\">\n<script defer src=\"", page.root, "reference.js\"></script>\n<script defer src=\"", page.root,
      "site.js\"></script>\n</head>\n<body>\n<div id=\"page\"><main class=\"plain\">\n", page.plain,
      "</main></div>\n</body>\n</html>\n");
}

std::string LinkTo(absl::string_view kind, absl::string_view name) {
  return absl::StrCat("<li><a href=\"", kind, "/", SiteFileName(name), ".html\">", HtmlText(name), "</a></li>\n");
}

template <class Entries, class NameOf>
std::string LinkList(absl::string_view heading, absl::string_view kind, const Entries& entries, const NameOf& name_of) {
  std::string list = absl::StrCat("<h2>", heading, "</h2>\n<ul>\n");
  for (const auto& entry : entries) list += LinkTo(kind, name_of(entry));
  return list + "</ul>\n";
}

std::string IndexHtml(const Lists& lists) {
  const auto name = [](const auto& entry) { return entry.name(); };
  return absl::StrCat("<h1>Reference</h1>\n", LinkList("models", "model", lists.models.models(), name),
                      LinkList("GPUs", "gpu", lists.gpus.gpus(), name),
                      LinkList("knobs", "knob", lists.knobs.knobs(), name),
                      LinkList("rules", "rule", lists.rules.rules(), [](const auto& rule) { return rule.id(); }));
}

// Base64, so that nothing in it can end what holds it.
std::string Records(const Lists& lists) {
  const auto held = [](const google::protobuf::Message& list) { return absl::Base64Escape(list.SerializeAsString()); };
  return absl::StrCat("globalThis.FLIGHTPLAN_REFERENCE = {\n\"ListRules\": \"", held(lists.rules),
                      "\",\n\"ListKnobs\": \"", held(lists.knobs), "\",\n\"ListModels\": \"", held(lists.models),
                      "\",\n\"ListGpus\": \"", held(lists.gpus), "\"};\n");
}

class SiteWriter {
 public:
  SiteWriter(Backend& backend, const std::function<absl::Status(const std::string&, const std::string&)>& write)
      : write_(write) {
    // The commands' own pages, by the same backend; it outlives this object.
    host_.backend = std::shared_ptr<Backend>(&backend, [](Backend*) {});
  }

  absl::Status Write(const Lists& lists) {
    from_ = absl::StrCat("reference of ", VersionText());
    for (const v1::RuleInfo& rule : lists.rules.rules()) {
      FLIGHTPLAN_RETURN_IF_ERROR(Put("rule", rule.id(), [&](Context& page) { PrintRule(rule, page); }));
    }
    for (const v1::KnobInfo& knob : lists.knobs.knobs()) {
      FLIGHTPLAN_RETURN_IF_ERROR(Put("knob", knob.name(), [&](Context& page) { PrintKnob(knob, lists.rules, page); }));
    }
    for (const v1::ModelSpec& model : lists.models.models()) {
      FLIGHTPLAN_RETURN_IF_ERROR(Put("model", model.name(), [&](Context& page) { RunModels({model.name()}, page); }));
    }
    for (const v1::GpuSystem& gpu : lists.gpus.gpus()) {
      FLIGHTPLAN_RETURN_IF_ERROR(Put("gpu", gpu.name(), [&](Context& page) { RunGpus({gpu.name()}, page); }));
    }
    const SitePage index{"", "", "", "Reference, Flightplan", IndexHtml(lists)};
    FLIGHTPLAN_RETURN_IF_ERROR(write_("index.html", Html(index, from_)));
    FLIGHTPLAN_RETURN_IF_ERROR(write_("reference.js", Records(lists)));
    FLIGHTPLAN_RETURN_IF_ERROR(write_("site.js", Unpacked(PackedSiteScript())));
    return write_("site.css", Unpacked(PackedSiteStyle()));
  }

 private:
  template <class Print>
  absl::Status Put(const std::string& kind, const std::string& name, const Print& print) {
    Context context;
    context.host = &host_;
    print(context);
    SitePage page{"../", kind, name, absl::StrCat(name, ", ", kind, ", Flightplan"), ""};
    page.plain = absl::StrCat("<p><a href=\"../index.html\">all of the reference</a></p>\n<pre>", HtmlText(context.out),
                              "</pre>\n");
    return write_(absl::StrCat(kind, "/", SiteFileName(name), ".html"), Html(page, from_));
  }
  std::string VersionText() {
    Context context;
    context.host = &host_;
    RunVersion({}, context);
    return context.out.substr(0, context.out.find('\n'));
  }

  const std::function<absl::Status(const std::string&, const std::string&)>& write_;
  Host host_;
  std::string from_;
};

}  // namespace

std::string SiteFileName(absl::string_view entry) {
  std::string name;
  for (const char c : entry) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '.' || c == '_' || c == '-') {
      name.push_back(c);
    } else {
      absl::StrAppendFormat(&name, "~%02x", byte);
    }
  }
  return name;
}

absl::Status MakeSite(Backend& backend,
                      const std::function<absl::Status(const std::string& path, const std::string& text)>& write,
                      SiteCount* count) {
  Lists lists;
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListRules, v1::ListRulesRequest(), &lists.rules));
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListKnobs, v1::ListKnobsRequest(), &lists.knobs));
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListModels, v1::ListModelsRequest(), &lists.models));
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListGpus, v1::ListGpusRequest(), &lists.gpus));
  *count = {lists.rules.rules_size(), lists.knobs.knobs_size(), lists.models.models_size(), lists.gpus.gpus_size()};
  return SiteWriter(backend, write).Write(lists);
}

}  // namespace flightplan::cli
