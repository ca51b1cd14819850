// argparse_check --reference argparse_reference.py [--count N] [--seed S] [--first K] [--print]
//
// Our reading of Megatron-LM's command lines against Python's own argparse: N random command lines over the flags of a
// release are parsed by both, Python's parser built from the same table of flags. Both must refuse a line, or both must
// read the same values. Every known release has its turn. With --first from the K-th line on; with --print that line
// and both readings. Exit status: 0 all agree, 1 some do not, 2 misuse, 77 there is no python3.
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "resolver/plan/knob.h"
#include "resolver/read/argparse.h"
#include "tests/properties/reference.h"

namespace flightplan::properties {
namespace {

using absl::StrCat;
using Words = std::vector<std::string>;

// ---- what Python is told of a flag

absl::string_view FormOf(const FlagSpec& spec) {
  switch (spec.form) {
    case FlagForm::kValue:
      return "value";
    case FlagForm::kList:
      return "list";
    case FlagForm::kListOrEmpty:
      return "list_or_empty";
    case FlagForm::kListOfThree:
      return "list_of_three";
    case FlagForm::kSwitchOn:
      return "on";
    case FlagForm::kSwitchOff:
      return "off";
    case FlagForm::kSwitchPair:
      return absl::StartsWith(spec.flag, "--no-") ? "off" : "on";
  }
  return "";
}

absl::string_view TypeOf(const FlagSpec& spec) {
  switch (spec.type) {
    case ValueType::kInt:
    case ValueType::kIntList:
      return "int";
    case ValueType::kFloat:
    case ValueType::kFloatList:
      return "float";
    case ValueType::kBool:
      return "bool";
    case ValueType::kFreq:
      return "frequency";
    case ValueType::kTuple:
      return "tuple";
    case ValueType::kString:
    case ValueType::kStringList:
    case ValueType::kAny:
      break;
  }
  return "text";
}

std::string Record(const Words& fields) {
  std::string record;
  for (const std::string& field : fields) absl::StrAppend(&record, field, "\x1e");
  return record + "\x1d";
}

std::string FlagsFile(const FlagTable& table) {
  std::string text;
  for (const absl::string_view name : table.names()) {
    const FlagSpec& spec = *table.Find(name);
    const std::string destination(spec.knob.has_value() ? Name(*spec.knob) : spec.flag);
    text += Record({std::string(spec.flag), destination, std::string(FormOf(spec)), std::string(TypeOf(spec)),
                    std::string(spec.choices)});
  }
  return text;
}

// ---- a command line

class CommandLine {
 public:
  CommandLine(const FlagTable& table, uint64_t seed) : table_(table), random_(seed) {}

  Words Write() {
    Words words;
    for (size_t left = 1 + Below(5); left > 0; --left) {
      const FlagSpec& spec = *table_.Find(table_.names()[Below(table_.names().size())]);
      switch (Below(20)) {
        case 0:
          words.push_back(Odd());
          break;
        case 1:
          words.push_back(StrCat(spec.flag, "=", Fitting(spec)));
          if (absl::EndsWith(words.back(), "=--")) words.pop_back();  // Python 3.11 loses it
          break;
        case 2:
          words.push_back(std::string(spec.flag.substr(0, spec.flag.size() - 1 - Below(3))));
          break;
        default:
          words.push_back(std::string(spec.flag));
          for (size_t values = CountFor(spec); values > 0; --values) words.push_back(Fitting(spec));
      }
    }
    return words;
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }
  bool Chance(size_t in) { return Below(in) == 0; }
  template <size_t N>
  std::string Any(const char* const (&texts)[N]) {
    return texts[Below(N)];
  }

  size_t CountFor(const FlagSpec& spec) {
    if (Chance(12)) return Below(4);
    const absl::string_view form = FormOf(spec);
    if (form == "on" || form == "off") return 0;
    return form == "value" ? 1 : form == "list_of_three" ? 3 : form == "list" ? 1 + Below(3) : Below(3);
  }

  std::string Odd() {
    static constexpr const char* kOdd[] = {
        "--", "-",    "",     "-1",      "-0.5", "-1e-5", "-x",    "a b", "-a b", "--a b", "-.5", "-1.",     "--no",
        "-h", "--=1", "-1_0", "--bf16=", "=",    "word",  "--num", "1",   "--1",  "-1 2",  "\t",  "--tp=4=5"};
    return Any(kOdd);
  }

  std::string Fitting(const FlagSpec& spec) {
    if (Chance(15)) return Odd();
    if (!spec.choices.empty() && !Chance(8)) {
      const std::vector<absl::string_view> choices = absl::StrSplit(spec.choices, '|');
      return std::string(choices[Below(choices.size())]);
    }
    static constexpr const char* kIntegers[] = {
        "1",    "8",  "0",  "-1",   "+4",  "1_000", " 5 ", "007",
        "1__0", "_1", "1_", "0x10", "1.0", "1e3",   "64 ", "9223372036854775807",
        "- 1"};
    static constexpr const char* kNumbers[] = {"1e-5",  "0.1",      "1",   ".5",     "5.",   "-0.5",
                                               "1_0.5", "1e",       "nan", "inf",    "-inf", "1e400",
                                               "0x1p3", "infinity", " 1 ", "1e-400", "1.e5", "1_.5"};
    static constexpr const char* kLists[] = {"1",         "([0]*3+[1]*5)", "[1,2]",   "[1]*4",
                                             "([1,0]*2)", "[1,[2]]",       "[1]*[2]", "[",
                                             "4.0",       "[0]+[1,]",      "[1] * 2", "[-1]"};
    static constexpr const char* kTuples[] = {"1,2", "(1,2)", "((3,4)", "1", "1,", "", "()", "-1,2", " 1 , 2 ", "1,a"};
    static constexpr const char* kTexts[] = {"a", "path/to", "x=y", "ü", "1", "True", "none", "a\nb", "'q'"};
    const absl::string_view type = TypeOf(spec);
    return type == "int"         ? Any(kIntegers)
           : type == "float"     ? Any(kNumbers)
           : type == "frequency" ? Any(kLists)
           : type == "tuple"     ? Any(kTuples)
                                 : Any(kTexts);
  }

  const FlagTable& table_;
  std::mt19937_64 random_;
};

// ---- what was read

std::string Written(const Value& value) {
  if (value.is_bool()) return value.integer() != 0 ? "b1" : "b0";
  if (value.is_int()) return StrCat("i", value.integer());
  if (value.is_float()) return StrCat("f", absl::Hex(std::bit_cast<uint64_t>(value.real()), absl::kZeroPad16));
  if (!value.is_list()) return StrCat("t", absl::BytesToHexString(value.text()));
  return StrCat("[",
                absl::StrJoin(value.list(), ",",
                              [](std::string* out, const Value& item) { absl::StrAppend(out, Written(item)); }),
                "]");
}

std::string OurReading(const Words& words, const FlagTable& table) {
  std::vector<Argument> args;
  for (const std::string& word : words) args.push_back({word, {}, false});
  const ParseResult result = ParseArguments(args, table, {});
  if (!result.ok()) return "refused";
  std::map<std::string, std::string> values;
  for (const ParsedKnob& knob : result.knobs) values[std::string(Name(knob.knob))] = Written(knob.value);
  return absl::StrJoin(values, " ", absl::PairFormatter("="));
}

std::string LinesFile(const std::vector<Words>& lines) {
  std::string file;
  for (const Words& words : lines) file += Record(words);
  return file;
}

int Main(int argc, char** argv) {
  ReferenceOptions options{.count = 2000};
  if (!ReadOptions(argc, argv, "--reference", &options) || options.file.empty()) {
    std::fprintf(stderr, "usage: argparse_check --reference FILE [--count N] [--seed S] [--first K] [--print]\n");
    return 2;
  }
  if (access("/usr/bin/python3", X_OK) != 0) return 77;
  if (options.print) options.count = 1;
  int64_t differ = 0, compared = 0, refused = 0;
  for (size_t release = 0; release < kCoreReleases.size(); ++release) {
    const FlagTable table(kCoreReleases[release]);
    std::vector<Words> lines;
    std::vector<int64_t> numbers;
    for (int64_t n = options.first; n < options.first + options.count; ++n) {
      if (static_cast<size_t>(n) % kCoreReleases.size() != release) continue;
      lines.push_back(CommandLine(table, options.seed * 1'000'003 + static_cast<uint64_t>(n)).Write());
      numbers.push_back(n);
    }
    if (lines.empty()) continue;
    const Words readings = PythonsReadings(options.file, {{"flags", FlagsFile(table)}, {"lines", LinesFile(lines)}});
    if (readings.size() != lines.size()) {
      std::fprintf(stderr, "argparse_check: %zu readings of %zu lines\n", readings.size(), lines.size());
      return 2;
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string ours = OurReading(lines[i], table);
      ++compared;
      refused += readings[i] == "refused" ? 1 : 0;
      const bool same = ours == readings[i];
      differ += same ? 0 : 1;
      if (!options.print && (same || differ > 10)) continue;
      std::printf("%s line %lld of seed %llu:", same ? "same" : "DIFFERS", static_cast<long long>(numbers[i]),
                  static_cast<unsigned long long>(options.seed));
      for (const std::string& word : lines[i]) std::printf(" [%s]", absl::CEscape(word).c_str());
      std::printf("\n  ours   %s\n  python %s\n", ours.c_str(), readings[i].c_str());
    }
  }
  std::printf("%lld command lines, %lld refused: %lld differ\n", static_cast<long long>(compared),
              static_cast<long long>(refused), static_cast<long long>(differ));
  const bool enough = compared > 0 && (options.print || 4 * refused <= 3 * compared);  // else little was compared
  return differ == 0 && enough ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) { return flightplan::properties::Main(argc, argv); }
