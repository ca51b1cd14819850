#include "tests/properties/hostile.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace flightplan::properties {
namespace {

size_t Below(size_t limit, Random* random) { return limit == 0 ? 0 : (*random)() % limit; }

const std::string& AnyWord(const Language& language, Random* random) {
  return language.words[Below(language.words.size(), random)];
}

std::string AnySeed(const Language& language, Random* random) {
  return language.seeds.empty() ? AnyWord(language, random) : language.seeds[Below(language.seeds.size(), random)];
}

// A few words in a row.
std::string Phrase(const Language& language, Random* random) {
  std::string phrase;
  for (size_t left = 1 + Below(4, random); left > 0; --left) phrase += AnyWord(language, random);
  return phrase;
}

std::string Repeated(absl::string_view piece, size_t bytes) {
  std::string text;
  if (piece.empty()) return text;
  text.reserve(bytes);
  while (text.size() + piece.size() <= bytes) text.append(piece.data(), piece.size());
  return text;
}

// ---- the ways to make a text of about `bytes`

// One phrase again and again, behind another.
std::string Chain(const Language& language, size_t bytes, Random* random) {
  return Phrase(language, random) + Repeated(Phrase(language, random), bytes);
}

// What opens as often as what closes.
std::string Nest(const Language& language, size_t bytes, Random* random) {
  const std::string open = Phrase(language, random), middle = Phrase(language, random),
                    close = Phrase(language, random);
  const size_t times = bytes / std::max<size_t>(1, open.size() + close.size());
  return Repeated(open, times * open.size()) + middle + Repeated(close, times * close.size());
}

std::string Soup(const Language& language, size_t bytes, Random* random) {
  std::string text;
  while (text.size() < bytes) text += AnyWord(language, random);
  return text;
}

// A text that is read, with a part of itself or a phrase repeated in its midst.
std::string Swollen(const Language& language, size_t bytes, Random* random) {
  std::string text = AnySeed(language, random);
  const size_t at = Below(text.size() + 1, random);
  const std::string part = Below(2, random) == 0 ? Phrase(language, random) : text.substr(at, 1 + Below(64, random));
  return text.insert(at, Repeated(part, bytes));
}

// A text that is read, again and again, each time with words written over it.
std::string Scribbled(const Language& language, size_t bytes, Random* random) {
  std::string text;
  do {
    std::string copy = AnySeed(language, random);
    for (size_t left = Below(8, random); left > 0; --left) {
      const size_t at = Below(copy.size() + 1, random);
      copy.replace(at, Below(16, random), AnyWord(language, random));
    }
    text += copy;
  } while (text.size() < bytes);
  return text;
}

// ---- the ways to make one that is still well-formed, so that all of it is read

// "[[[...1...]]]"
std::string Deep(absl::string_view open, absl::string_view close, size_t bytes) {
  const size_t times = bytes / (open.size() + close.size());
  return absl::StrCat(Repeated(open, times * open.size()), "1", Repeated(close, times * close.size()));
}

std::string JsonValue(size_t bytes, Random* random) {
  static constexpr absl::string_view kSmall[] = {"0",
                                                 "-1",
                                                 "1.5",
                                                 "1e308",
                                                 "1e-320",
                                                 "9223372036854775807",
                                                 "18446744073709551615",
                                                 "true",
                                                 "null",
                                                 "[]",
                                                 "{}",
                                                 "\"\"",
                                                 "\"full_attention\"",
                                                 "\"--num-layers\"",
                                                 R"json({"name":"A","value":"$(A)$(A)"})json",
                                                 R"json({"command":["bash","-c","echo x"],"args":["$(A)"]})json"};
  static constexpr absl::string_view kPieces[] = {"a",         "$(A)",  "\\u0000", "\\\"", "\\n", "--num-layers 4 ",
                                                  "x=$x$x\\n", "{a,b}", "\xc3\xa9"};
  const absl::string_view one = kSmall[Below(std::size(kSmall), random)];
  switch (Below(6, random)) {
    case 0:
      return Deep("[", "]", bytes);
    case 1:
      return Deep("{\"a\":", "}", bytes);
    case 2:
      return absl::StrCat("[", Repeated(absl::StrCat(one, ","), bytes), one, "]");
    case 3: {
      std::string object = "{";
      for (int key = 0; object.size() < bytes; ++key) absl::StrAppend(&object, "\"k", key, "\":", one, ",");
      return absl::StrCat(object, "\"k\":", one, "}");
    }
    case 4:
      return absl::StrCat("{", Repeated(absl::StrCat("\"k\":", one, ","), bytes), "\"k\":", one, "}");
    default:
      return absl::StrCat("\"", Repeated(kPieces[Below(std::size(kPieces), random)], bytes), "\"");
  }
}

// `"name":` of the language's words.
std::string AnyKey(const Language& language, Random* random) {
  for (;;) {
    const std::string& word = AnyWord(language, random);
    if (word.size() > 3 && word.front() == '"' && absl::EndsWith(word, "\":")) return word;
  }
}

// A text that is read, with members more in one of its objects.
std::string Grown(const Language& language, size_t bytes, Random* random) {
  std::string text = language.seeds.empty() ? "{}" : AnySeed(language, random);
  const size_t opens = static_cast<size_t>(std::count(text.begin(), text.end(), '{'));
  size_t at = 0;
  for (size_t left = 1 + Below(opens, random); left > 0; --left) at = text.find('{', at) + 1;
  std::string members;
  for (size_t parts = 1 + Below(3, random), left = parts; left > 0; --left) {
    absl::StrAppend(&members, AnyKey(language, random), JsonValue(bytes / parts, random), ",");
  }
  const size_t next = text.find_first_not_of(" \t\r\n", at);
  if (next != std::string::npos && text[next] == '}') members.pop_back();
  return text.insert(at, members);
}

// Messages that are read, in a row: one message, which has every repeated field of them all; and fields that it does
// not know.
std::string Merged(const Language& language, size_t bytes, Random* random) {
  using namespace std::string_literals;
  static const std::string kUnknown[] = {"\x80\x7d\x01"s, "\x82\x7d\x00"s, "\x82\x7d\x03\x0a\x01\x0a"s,
                                         "\x83\x7d\x84\x7d"s};
  std::string text;
  while (text.size() < bytes) {
    text += Below(4, random) == 0 ? kUnknown[Below(std::size(kUnknown), random)] : AnySeed(language, random);
  }
  return text;
}

// Variables of every kind, many thousands of them, and a command in loops that may meet them all each time.
std::string Crowded(const Language& language, size_t bytes, Random* random) {
  struct Kind {
    absl::string_view opening, before, behind, closing;  // `before`, a number, `behind`, for each variable
  };
  static constexpr Kind kKinds[] = {{"export", " A", "=", "\n"},
                                    {"export", " A", "=x", "\n"},
                                    {"", "export V", "=1\n", ""},
                                    {"", "V", "=1\n", ""},
                                    {"", "A", "= ", ""},  // in front of the command
                                    {"declare -A m=(", "[k", "]=v ", ")\n"},
                                    {"declare -A m\n", "m[k", "]=x\n", ""},
                                    {"", "m[-", "]+=x\n", ""},
                                    {"a=(", "w", " ", ")\n"},
                                    {"f() { :; }\n", "local L", "=1\n", ""},
                                    {"", "read r", "\n", ""},
                                    {"", "export $((A", "=1))\n", ""}};
  static constexpr absl::string_view kCommands[] = {
      "a.py --bf16",
      "python pretrain_gpt.py --num-layers 32",
      "bash -c 'a.py --bf16'",
      "torchrun --nproc-per-node 8 a.py --bf16",
      "srun -n 8 a.py --bf16",
      "ray job submit --runtime-env-json='{\"env_vars\":{\"A\":\"1\"}}' -- a.py --x",
      "export B=$i; a.py --bf16",
      "( : )",
      "( B=1; a.py --bf16 )",
      "x=$(seq 1 1000)",
      "x=${!V*}",
      "x=${#m[@]}",
      "m[$i]=1",
      "unset A1",
      "local B=1",
      "export B$i=1",
      "f"};
  // What is much is the variables, the commands, or both.
  const size_t of_variables = bytes / 8 * Below(9, random);
  const Kind& kind = kKinds[Below(std::size(kKinds), random)];
  std::string text(kind.opening);
  for (int i = 0; text.size() < of_variables; ++i) absl::StrAppend(&text, kind.before, i, kind.behind);
  absl::StrAppend(&text, kind.closing);
  const absl::string_view command = kCommands[Below(std::size(kCommands), random)];
  const size_t loops = Below(4, random);
  const std::string items = Repeated("1 ", 2 * (1 + Below(100, random)));
  std::string end;
  for (size_t loop = 0; loop < loops; ++loop) {
    absl::StrAppend(&text, "for i", loop == 0 ? "" : absl::StrCat(loop), " in ", items, "; do ");
    absl::StrAppend(&end, "; done");
  }
  const size_t rest = text.size() < bytes ? bytes - text.size() : 0;
  if (loops == 0) {
    absl::StrAppend(&text, Repeated(absl::StrCat(command, "\n"), rest));
  } else {
    absl::StrAppend(&text, command, end, "\n");
  }
  if (Below(2, random) == 0) absl::StrAppend(&text, AnySeed(language, random));
  return text;
}

using Way = std::string (*)(const Language&, size_t bytes, Random*);

Way WellFormed(const Language& language) {
  if (language.name == "json") return Grown;
  if (language.name == "shell") return Crowded;
  return language.name == "wire" ? Merged : nullptr;
}

}  // namespace

std::string HostileText(const Language& language, size_t max_bytes, Random* random) {
  static constexpr Way kWays[] = {Chain, Nest, Soup, Swollen, Scribbled};
  size_t bytes = max_bytes;
  if (Below(16, random) != 0) {
    size_t powers = 4;
    while (size_t{1} << (powers + 1) <= max_bytes) ++powers;
    bytes = std::min(max_bytes, size_t{1} << (4 + Below(powers - 3, random)));
    bytes += Below(bytes, random);
  }
  std::string text;
  // Of a language in which a word out of place ends the reading at once, or few words mean anything where they fall,
  // every other text is well-formed.
  if (const Way way = WellFormed(language); way != nullptr && Below(2, random) == 0) {
    text = way(language, bytes - bytes / 8, random);  // with room for the text that is read
    if (text.size() <= max_bytes) return text;
    text.clear();
  }
  for (size_t parts = 1 + Below(3, random), left = parts; left > 0; --left) {
    text += kWays[Below(std::size(kWays), random)](language, bytes / parts, random);
  }
  if (text.size() > max_bytes) text.resize(max_bytes);
  return text;
}

}  // namespace flightplan::properties
