#include "tests/properties/hostile.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace flightplan::properties {
namespace {

struct Words {
  absl::string_view language;
  std::vector<std::string> words;
};

const std::vector<Words>& AllWords() {
  using namespace std::string_literals;
  static const auto* const kWords = new std::vector<Words>{
      {"shell",
       {"a",
        "x=1\n",
        "x=$x$x\n",
        "x=${x}a\n",
        "a=(1 2 3)\n",
        "a+=(\"${a[@]}\")\n",
        "a+=(x)\n",
        "${a[@]}",
        "${a[@]:0:1}",
        "${#a[@]}",
        "${x:0:1}",
        "${x:1}",
        "${x//a/bb}",
        "${x//[a-z]/yy}",
        "${x#*a}",
        "${x##*a}",
        "${x%a*}",
        "${x%%a*}",
        "${x^^}",
        "${!x}",
        "${x:-",
        "${x:=",
        "}",
        "$x",
        "\"$x\"",
        "\"",
        "'",
        "\\",
        "\\\n",
        "\n",
        " ",
        "\t",
        "`",
        "$(",
        "$((",
        "))",
        "((i++))\n",
        "i=$((i+1))\n",
        "(",
        ")",
        "{ ",
        "; }\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "#",
        "<<EOF\n",
        "\nEOF\n",
        "<<<",
        ">",
        "for i in {1..100000}; do\n",
        "for i in 1 2 3 4 5 6 7 8; do\n",
        "for ((i=0;i<1000000;i++)); do\n",
        "while :; do\n",
        "while [[ $x != y ]]; do\n",
        "done\n",
        "if [ -n \"$x\" ]; then\n",
        "elif [[ $x =~ (a+)+b ]]; then\n",
        "else\n",
        "fi\n",
        "case $x in\n",
        "*) ",
        ";;\n",
        "esac\n",
        "f() {\n",
        "f\n",
        "f f f\n",
        "}\n",
        "{a,b}",
        "{a,b}{a,b}{a,b}{a,b}",
        "{1..9999}",
        "{1..9}",
        "{",
        ",",
        "..",
        "[[ ",
        " ]]",
        "[ ",
        " ]",
        "eval \"$x\"\n",
        "source x\n",
        "set -- \"$@\" \"$@\"\n",
        "shift\n",
        "export x=",
        "local x=",
        "declare -A m\n",
        "m[$x]=1\n",
        "read -r x <<< \"$x\"\n",
        "printf -v x '%s' \"$x$x\"\n",
        "printf -v x '%999999s' a\n",
        "bash -c \"",
        "bash -c '",
        "*",
        "?",
        "[a-z]*",
        "**********",
        "@(a|b)",
        "~",
        "torchrun --nproc-per-node 8 pretrain_gpt.py ",
        "python pretrain_gpt.py ",
        "--num-layers 4 ",
        "--tensor-model-parallel-size 2 ",
        "srun -n 8 ",
        "#SBATCH --nodes=2\n",
        "#SBATCH --array=1-9999999\n",
        "sleep 1\n",
        "return\n",
        "break\n",
        "continue\n",
        "exit\n",
        "trap f EXIT\n",
        "$1",
        "$@",
        "$#",
        "$?",
        "$((1+1",
        "$((2**62))",
        "x[0]=",
        "\0"s,
        "\xff",
        "\xc3\xa9",
        "\r\n"}},
      {"yaml",
       {"a: ",
        "b: ",
        "- ",
        "- - - - ",
        "\n",
        "\n  ",
        "\n    ",
        "  ",
        "\t",
        "{",
        "}",
        "[",
        "]",
        ", ",
        ": ",
        "? ",
        "&a ",
        "*a",
        "&b ",
        "*b",
        "<<: *a\n",
        "<<: [*a, *b]\n",
        "x0: &x0 [a,a,a,a,a,a,a,a,a]\n",
        "x1: &x1 [*x0,*x0,*x0,*x0,*x0,*x0,*x0,*x0,*x0]\n",
        "x2: &x2 [*x1,*x1,*x1,*x1,*x1,*x1,*x1,*x1,*x1]\n",
        "x3: &x3 [*x2,*x2,*x2,*x2,*x2,*x2,*x2,*x2,*x2]\n",
        "x4: &x4 [*x3,*x3,*x3,*x3,*x3,*x3,*x3,*x3,*x3]\n",
        "\"",
        "'",
        "|\n",
        ">\n",
        "|-\n  ",
        "\\x41",
        "\\u0000",
        "\\",
        "#",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "%TAG ! !\n",
        "!!str ",
        "!!binary ",
        "!!python/object:a.b ",
        "!",
        "~",
        "null",
        "true",
        "1",
        "1e999",
        ".inf",
        ".nan",
        "0x",
        "0o7",
        "1:2:3",
        "2001-01-01",
        "num_layers: 4\n",
        "_target_: megatron.bridge.X\n",
        "model:\n  ",
        "language_model:\n  ",
        "transformer_config:\n  ",
        "${oc.env:HOME}",
        "${a.b}",
        "${a:",
        "${mul:${a.b},${a.b}}",
        "${oc.select:a.b,",
        "a: ${b}${b}${b}${b}\n",
        "b: ${a}${a}${a}${a}\n",
        "<<: ${a}\n",
        "${",
        "defaults:\n",
        "defaults: [base.yaml, base.yaml]\n",
        "extends: [base.yaml, other.yaml]\n",
        "- train: 7b\n",
        "- override a/b@c: d\n",
        "\0"s,
        "\xff",
        "\xfe\xff",
        "\xef\xbb\xbf",
        "\xe2\x80\xa8",
        "\r",
        "a"}},
      {"json",
       {"[",
        "]",
        "{",
        "}",
        "{\"a\":",
        "\"a\"",
        "\"",
        ":",
        ",",
        "\\",
        "\\u0000",
        "\\ud800",
        "\\\"",
        " ",
        "\n",
        "0",
        "1",
        "-",
        "1e999",
        "1e-999",
        "9223372036854775808",
        "00",
        "true",
        "false",
        "null",
        "NaN",
        "Infinity",
        "//",
        "/*",
        "\"num_hidden_layers\":",
        "\"model_type\":\"deepseek_v3\"",
        "\"architectures\":[\"X\"]",
        "\"text_config\":{",
        "\"rope_scaling\":{",
        "\"layer_types\":[",
        "\"full_attention\",",
        "\"hidden_size\":",
        "\"n_routed_experts\":",
        "\"spec\":{",
        "\"template\":{",
        "\"containers\":[{",
        "\"command\":[",
        "\"args\":[",
        "\"env\":[{",
        "\"name\":\"A\"",
        "\"value\":\"x\"",
        "\"kind\":\"Job\"",
        "\"replicas\":",
        "\"object\":{",
        "\"oldObject\":{",
        "\"--num-layers\"",
        "\"$(A)\"",
        "\"$(A)$(A)\"",
        "\0"s,
        "\xff",
        "\xc3\xa9",
        "a"}},
      {"argv",
       {"--num-layers\n",
        "--num-layers 4\n",
        "--num-layers=",
        "--tensor-model-parallel-size\n2\n",
        "--moe-layer-freq\n",
        "([1]*3+[0])*9",
        "([",
        "])",
        "*9",
        "*999999999",
        "+[0]",
        "[",
        "]",
        "(",
        ")",
        ",",
        "|",
        "E",
        "t",
        "L",
        "m",
        "E|(t|)*61",
        "--hybrid-layer-pattern\n",
        "M*-",
        "--recompute-modules\n",
        "core_attn\n",
        "moe_act\n",
        "--pipeline-model-parallel-layout\n",
        "--a",
        "--no-",
        "-",
        "--",
        "--=",
        "=",
        "\n",
        " ",
        "\t",
        "#",
        "@file\n",
        "'",
        "\"",
        "\\",
        "1e999",
        "-1",
        "9223372036854775808",
        "0x10",
        "None",
        "true",
        "model.a.b=",
        "+model.x=1\n",
        "++",
        "~",
        "{",
        "}",
        "{a:",
        "\0"s,
        "\xff",
        "\xc3\xa9",
        "a"}},
      {"overrides",
       {"model.num_layers=4\n",
        "model.",
        "model.recompute_modules=[",
        "core_attn",
        "=",
        "[",
        "]",
        "{",
        "}",
        "{a:",
        "(",
        ")",
        ",",
        ":",
        "'",
        "\"",
        "\\",
        "\\'",
        "${a}",
        "${oc.env:A}",
        "${oc.select:a.b,",
        "${mul:${a.b},${a.b}}",
        "a.b=${a.c}${a.c}\n",
        "a.c=${a.b}${a.b}\n",
        "${",
        "+",
        "++",
        "~",
        "@",
        "null",
        "true",
        "1",
        "1e999",
        "1_000",
        "-",
        ".inf",
        "nan",
        "range(1,9)",
        "choice(a,b)",
        "str(",
        "int(",
        "--recipe\n",
        "--config\nbase.yaml\n",
        "--config-path=a\n--config-name=b\n",
        "x\n",
        "--model_name\n",
        "--config-file\n",
        "ddp.",
        "optimizer.lr=",
        "comm_overlap.tp_comm_overlap_cfg=",
        ".",
        "\n",
        " ",
        "\t",
        "\0"s,
        "\xff",
        "\xc3\xa9",
        "a"}},
      {"python",
       {"cfg",
        "cfg.model.num_layers = 4\n",
        "cfg.model.recompute_modules = [\"moe_act\", \"layernorm\"]\n",
        "cfg.model = cfg.model\n",
        "x = x + x\n",
        "x = [x, x]\n",
        "x = \"a\" * 1000000\n",
        "x = 9 ** 9 ** 9\n",
        "x = [0] * 10 ** 9\n",
        "f(x=f(x=",
        "import a\n",
        "from a import b as c\n",
        "def f():\n    ",
        "if x:\n    ",
        "for i in range(10 ** 9):\n    ",
        "while True:\n    ",
        "lambda: ",
        "\"\"\"",
        "'''",
        "\"",
        "'",
        "f\"{x}\"",
        "r\"",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ", ",
        ": ",
        " = ",
        "=",
        ".",
        "*",
        "**",
        "-",
        "\\\n",
        "\\N{",
        "\\x",
        "#",
        "\n",
        "\n    ",
        "\t",
        " ",
        "None",
        "True",
        "1e999",
        "1_000",
        "0x",
        "\0"s,
        "\xff",
        "\xc3\xa9",
        "a"}},
      {"pattern",
       {"E",    "t",    "tt", "L", "m",  "|",  "||",  "(",    ")", "*", "*2",  "*9",    "*999999999999", "(t|)*9",
        "((((", "))))", ",",  "M", "-",  "M*", "/",   "[",    "]", "+", "[1]", "[0]*3", "([1]+[0]*2)*5", "1",
        "0",    "-1",   ".",  " ", "\n", "e",  "\0"s, "\xff", "a"}},
      {"wire",
       {"\x0a"s,
        "\x12"s,
        "\x1a"s,
        "\x22"s,
        "\x2a"s,
        "\x32"s,
        "\x08\x01"s,
        "\x0a\x00"s,
        "\x0a\x02\x0a\x00"s,
        "\x80"s,
        "\x00"s,
        "\x80\x80\x00"s,
        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"s,
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
        "\xff\xff\xff\xff\x0f"s,
        "\x0b"s,
        "\x0c"s,
        "\x7f"s,
        "\x09\x00\x00\x00\x00\x00\x00\xf0\x7f"s,
        "\x0d\x00\x00\xc0\x7f"s,
        "\x12\x01"s,
        "a"s,
        "\x1a\x7f"s,
        "\x0a\xff\xff\x03"s}},
  };
  return *kWords;
}

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

}  // namespace

Language LanguageOf(absl::string_view name) {
  for (const Words& row : AllWords()) {
    if (row.language == name) return {std::string(name), row.words, {}};
  }
  std::abort();
}

std::string HostileText(const Language& language, size_t max_bytes, Random* random) {
  static constexpr std::string (*kWays[])(const Language&, size_t, Random*) = {Chain, Nest, Soup, Swollen, Scribbled};
  size_t bytes = max_bytes;
  if (Below(16, random) != 0) {
    size_t powers = 4;
    while (size_t{1} << (powers + 1) <= max_bytes) ++powers;
    bytes = std::min(max_bytes, size_t{1} << (4 + Below(powers - 3, random)));
    bytes += Below(bytes, random);
  }
  std::string text;
  for (size_t parts = 1 + Below(3, random), left = parts; left > 0; --left) {
    text += kWays[Below(std::size(kWays), random)](language, bytes / parts, random);
  }
  if (text.size() > max_bytes) text.resize(max_bytes);
  return text;
}

}  // namespace flightplan::properties
