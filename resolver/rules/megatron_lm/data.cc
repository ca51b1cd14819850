// Data sources.
#include <array>

#include "resolver/plan/stack.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool SplitPaths(F f) { return f.set(K::train_data_path) || f.set(K::valid_data_path) || f.set(K::test_data_path); }
// A flag without a path is an empty list, which counts as none.
int Sources(F f) {
  const bool split = f.on(K::train_data_path) || f.on(K::valid_data_path) || f.on(K::test_data_path);
  return (f.on(K::mock_data) ? 1 : 0) + (f.on(K::data_path) ? 1 : 0) + (split ? 1 : 0);
}
// Each source by itself, the caller's own data before the mocked.
std::vector<Patch> OneSource(F f) {
  std::array<Patch, 3> off;
  for (const K path : {K::train_data_path, K::valid_data_path, K::test_data_path}) {
    if (f.on(path)) off[0].push_back(Assign(path, Value()));
  }
  if (f.on(K::data_path)) off[1] = {Assign(K::data_path, Value())};
  if (f.on(K::mock_data)) off[2] = {Assign(K::mock_data, false)};
  std::vector<Patch> fixes;
  for (size_t kept = 0; kept < off.size(); ++kept) {
    if (off[kept].empty()) continue;
    Patch& fix = fixes.emplace_back();
    for (size_t i = 0; i < off.size(); ++i) {
      if (i != kept) fix.insert(fix.end(), off[i].begin(), off[i].end());
    }
  }
  return fixes;
}
// The data sets of Megatron-LM's own scripts.
bool OwnData(F f) {
  return RunsMegatronLm(f.stack()) && !f.on(K::perform_rl_step) && !f.is(K::dataloader_type, "external");
}
bool FimTokenMissing(F f) {
  return f.none(K::fim_prefix_token) || f.none(K::fim_middle_token) || f.none(K::fim_suffix_token) ||
         f.none(K::fim_pad_token) || f.none(K::fim_eod_token);
}

const Rule kRules[] = {
    {.id = "mlm.split-default",
     .area = "data",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 669},
     .source = "Megatron-LM:megatron/training/arguments.py:669",
     .reads = {K::data_path, K::split},
     .change =
         [](Editor& e) {
           if (e.facts().set(K::data_path) && e.facts().none(K::split)) e.Set(K::split, "969, 30, 1");
         }},
    {.id = "mlm.data-path-xor-args",
     .area = "data",
     .at = {Phase::kCliValidate, 677},
     .source = "Megatron-LM:megatron/training/arguments.py:677",
     .reads = {K::data_path, K::data_args_path},
     .when = [](F f) { return f.set(K::data_path) && f.set(K::data_args_path); },
     .needs = "data_path and data_args_path exclude each other",
     .fixes = {{{K::data_args_path, kUnset}}, {{K::data_path, kUnset}}}},
    {.id = "mlm.split-path-xor-args",
     .area = "data",
     .at = {Phase::kCliValidate, 684},
     .source = "Megatron-LM:megatron/training/arguments.py:684",
     .reads = {K::train_data_path, K::valid_data_path, K::test_data_path, K::per_split_data_args_path},
     .when = [](F f) { return SplitPaths(f) && f.set(K::per_split_data_args_path); },
     .needs = "per-split data paths and per_split_data_args_path exclude each other",
     .fixes = {{{K::per_split_data_args_path, kUnset}}}},
    {.id = "mlm.one-data-source",
     .area = "data",
     .at = {Phase::kCliValidate, 1679},
     .source = "Megatron-LM:megatron/training/arguments.py:1679",
     .reads = {K::mock_data, K::data_path, K::train_data_path, K::valid_data_path, K::test_data_path},
     .when = [](F f) { return Sources(f) > 1; },
     .needs = "there is one data source: mock data, data_path, or per-split paths",
     .fix = OneSource},
    {.id = "mlm.fim-mock",
     .area = "misc",
     .at = {Phase::kCliValidate, 1692},
     .source = "Megatron-LM:megatron/training/arguments.py:1692",
     .reads = {K::fim_data, K::mock_data},
     .when = [](F f) { return f.on(K::fim_data) && f.on(K::mock_data); },
     .needs = "fill-in-the-middle data excludes mock data",
     .fixes = {{{K::fim_data, false}}, {{K::mock_data, false}}}},
    {.id = "mlm.fim-rate",
     .area = "misc",
     .at = {Phase::kCliValidate, 1693},
     .source = "Megatron-LM:megatron/training/arguments.py:1693",
     .reads = {K::fim_data, K::fim_rate},
     .when = [](F f) { return f.on(K::fim_data) && !f.on(K::fim_rate); },
     .needs = "fill-in-the-middle data needs a fim_rate",
     .fixes = {{{K::fim_data, false}}}},
    {.id = "mlm.fim-spm-rate",
     .area = "misc",
     .at = {Phase::kCliValidate, 1694},
     .source = "Megatron-LM:megatron/training/arguments.py:1694",
     .reads = {K::fim_data, K::fim_spm_rate},
     .when = [](F f) { return f.on(K::fim_data) && !f.on(K::fim_spm_rate); },
     .needs = "fill-in-the-middle data needs a fim_spm_rate",
     .fixes = {{{K::fim_data, false}}}},
    {.id = "mlm.fim-tokens",
     .area = "misc",
     .at = {Phase::kCliValidate, 1695},
     .source = "Megatron-LM:megatron/training/arguments.py:1695",
     .reads = {K::fim_data, K::fim_prefix_token, K::fim_middle_token, K::fim_suffix_token, K::fim_pad_token,
               K::fim_eod_token},
     .when = [](F f) { return f.on(K::fim_data) && FimTokenMissing(f); },
     .needs = "fill-in-the-middle data needs all five of its tokens",
     .fixes = {{{K::fim_data, false}}}},
    {.id = "mlm.legacy-tokenizer-fim",
     .area = "data",
     .at = {Phase::kCliValidate, 1696},
     .source = "Megatron-LM:megatron/training/arguments.py:1696",
     .core = {0, 16},
     .reads = {K::fim_data, K::legacy_tokenizer},
     .when = [](F f) { return f.on(K::fim_data) && f.on(K::legacy_tokenizer); },
     .needs = "fill-in-the-middle data excludes the legacy tokenizer",
     .fixes = {{{K::legacy_tokenizer, false}}}},
    {.id = "mlm.tiktoken-tokens-alias",
     .area = "tokenizer",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1697},
     .source = "Megatron-LM:megatron/training/arguments.py:1697",
     .core = {17, 17},
     .reads = {K::tiktoken_special_tokens},
     .change =
         [](Editor& e) {
           if (e.facts().set(K::tiktoken_special_tokens) && !e.facts().on(K::special_tokens))
             e.Set(K::special_tokens, e.facts().value(K::tiktoken_special_tokens));
         }},
    {.id = "mlm.dataloader-default",
     .area = "data",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1254},
     .source = "Megatron-LM:megatron/training/arguments.py:1254",
     .reads = {K::dataloader_type},
     .change =
         [](Editor& e) {
           if (e.facts().none(K::dataloader_type)) e.Set(K::dataloader_type, "single");
         }},
    {.id = "build.fast-cache-needs-path",
     .area = "data",
     .at = {Phase::kBuild, 20102},
     .source = "Megatron-LM:megatron/core/datasets/blended_megatron_dataset_config.py:102",
     .core = {.since = 16},
     .reads = {K::dataloader_fast_cache_load, K::dataloader_defer_npy_index_mmap, K::data_cache_path},
     .when =
         [](F f) {
           return (f.on(K::dataloader_fast_cache_load) || f.on(K::dataloader_defer_npy_index_mmap)) &&
                  f.none(K::data_cache_path) && !f.is(K::dataloader_type, "external");
         },
     .needs = "loading indexes from their cache, or later, needs data_cache_path",
     .fixes = {{{K::dataloader_fast_cache_load, false}, {K::dataloader_defer_npy_index_mmap, false}}}},
    {.id = "build.split-per-split-paths",
     .area = "data",
     .at = {Phase::kBuild, 20116},
     .source = "Megatron-LM:megatron/core/datasets/blended_megatron_dataset_config.py:116",
     .reads = {K::split, K::train_data_path, K::valid_data_path, K::test_data_path, K::per_split_data_args_path},
     .when = [](F f) { return OwnData(f) && f.set(K::split) && (SplitPaths(f) || f.set(K::per_split_data_args_path)); },
     .needs = "data of its own for each split is not split again",
     .fixes = {{{K::split, kUnset}}}},
    {.id = "mlm.inter-document-no-mask",
     .area = "data",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1344},
     .source = "Megatron-LM:megatron/training/arguments.py:1344",
     .core = {.since = 19},
     .reads = {K::dataloader_inter_document_masking, K::create_attention_mask_in_dataloader},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::dataloader_inter_document_masking)) e.Set(K::create_attention_mask_in_dataloader, false);
         }},
    {.id = "mlm.dataset-threads",
     .area = "misc",
     .at = {Phase::kCliValidate, 1258},
     .source = "Megatron-LM:megatron/training/arguments.py:1258",
     .reads = {K::num_dataset_builder_threads},
     .when = [](F f) { return f.set(K::num_dataset_builder_threads) && f.num(K::num_dataset_builder_threads) <= 0; },
     .needs = "num_dataset_builder_threads must be at least 1",
     .fixes = {{{K::num_dataset_builder_threads, 1}}}},
};

}  // namespace

RuleList MegatronLmDataRules() { return kRules; }

}  // namespace flightplan
