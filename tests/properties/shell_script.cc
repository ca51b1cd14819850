#include "tests/properties/shell_script.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace flightplan::properties {
namespace {

using absl::StrCat;

const std::vector<std::string>& Names() {
  static const auto* const kNames = new std::vector<std::string>{"TP", "PP", "ARGS_TEXT", "name", "n", "i"};
  return *kNames;
}
const std::vector<std::string>& Arrays() {
  static const auto* const kArrays = new std::vector<std::string>{"ARGS", "MODEL", "list"};
  return *kArrays;
}

// The one that may be empty: of an array with items left out our reader does not know how many there are.
constexpr char kGrowing[] = "MODEL";

constexpr int kMostDepth = 3;

}  // namespace

std::string ShellScript::Literal() {
  static const auto* const kLiterals = new std::vector<std::string>{
      "1",      "2",    "8",     "16",   "0",        "-1",  "--bf16", "--num-layers", "--lr=1e-4",  "a",  "ab",
      "abcabc", "x.sh", "a/b/c", "deep", "deepseek", "A_B", "1,2,3",  "key=value",    "mixed-Case", "07", "a:b"};
  return Any(*kLiterals);
}

std::string ShellScript::Pattern() {
  static const auto* const kPatterns = new std::vector<std::string>{"a",    "*a", "a*",  "*/", "/*",    "?",  "[ab]",
                                                                    "[!a]", "*",  "b*c", "-*", "[0-9]", "*.", ".*"};
  return Any(*kPatterns);
}

std::string ShellScript::Arithmetic(int depth) {
  if (depth == 0 || Chance(3)) return Chance(2) ? StrCat(Below(20)) : "n";
  static const auto* const kOperators =
      new std::vector<std::string>{"+", "-", "*", "/", "%", "<", ">", "==", "!=", "&&", "||", "<<", "|", "&"};
  const std::string& sign = Any(*kOperators);
  const std::string left = Arithmetic(depth - 1);
  const std::string right = sign == "/" || sign == "%" ? StrCat(1 + Below(7))
                            : sign == "<<"             ? StrCat(Below(6))
                                                       : Arithmetic(depth - 1);
  const std::string all = StrCat(left, " ", sign, " ", right);
  return Chance(2) ? StrCat("(", all, ")") : Chance(8) ? StrCat("(", all, " ? ", Below(9), " : ", Below(9), ")") : all;
}

std::string ShellScript::Reference() {
  const std::string& name = Any(Names());
  const std::string& array = Any(Arrays());
  switch (Below(26)) {
    case 0:
      return StrCat("${", name, ":-", Literal(), "}");
    case 1:
      return StrCat("${", name, ":+", Literal(), "}");
    case 2:
      return StrCat("${", name, "#", Pattern(), "}");
    case 3:
      return StrCat("${", name, "##", Pattern(), "}");
    case 4:
      return StrCat("${", name, "%", Pattern(), "}");
    case 5:
      return StrCat("${", name, "%%", Pattern(), "}");
    case 6:
      return StrCat("${", name, "/", Chance(2) ? "a" : "[ab]", "/", Chance(2) ? "Z" : "", "}");
    case 7:
      return StrCat("${", name, "//", Chance(2) ? "a" : ",", "/", Chance(2) ? "yy" : "_", "}");
    case 8:
      return StrCat("${#", name, "}");
    case 9:
      return StrCat("${", name, ":", Below(4), "}");
    case 10:
      return StrCat("${", name, ":", Below(3), ":", Below(4), "}");
    case 11:
      return StrCat("${", name, Chance(2) ? "^^" : ",,", "}");
    case 12:
      return StrCat("${#", array, "[@]}");
    case 13:
      return StrCat("${", array, "[", Below(2), "]}");
    case 14:
    case 15:
      return StrCat("$((", Arithmetic(2), "))");
    case 16:
      return StrCat("${", name, "/", Chance(2) ? "#" : "%", Pattern(), "/_}");
    case 17:
      return StrCat("${", name, Chance(2) ? "^" : ",", "}");
    case 18:
      return StrCat("${", name, "//", Literal(), "/}");
    default:
      return StrCat("${", name, "}");
  }
}

std::string ShellScript::Text() {
  std::string text;
  for (size_t left = 1 + Below(3); left > 0; --left) {
    text += Chance(2) ? Reference() : Literal();
    if (Chance(3)) text += " ";
  }
  return text;
}

std::string ShellScript::Part(bool quoted) {
  switch (Below(10)) {
    case 0:
      return StrCat("'", Literal(), Chance(2) ? " b" : "", "'");
    case 1:
    case 2:
    case 3:
      return StrCat("\"", Text(), "\"");
    case 4:
      return StrCat("{", Literal(), ",", Below(9), "}");
    case 5:
      return StrCat("{", Below(4), "..", Below(6), "}");
    case 6:
    case 7:
      return quoted ? StrCat("\"", Reference(), "\"") : Reference();
    default:
      return Literal();
  }
}

std::string ShellScript::Word() {
  if (Chance(6)) return StrCat("\"${", Any(Arrays()), "[@]}\"");
  if (Chance(14)) return StrCat("\"${", Any(Arrays()), "[@]:", Below(2), ":", 1 + Below(2), "}\"");
  if (Chance(20)) return StrCat("\"${", Any(Arrays()), "[*]}\"");
  if (Chance(20)) return StrCat("\"${", Any(Arrays()), "[@]/#/--}\"");
  std::string word;
  for (size_t left = 1 + Below(2); left > 0; --left) word += Part(Chance(2));
  return word;
}

std::string ShellScript::Condition() {
  const std::string text = Chance(3) ? StrCat("$", Any(Names())) : StrCat("\"", Reference(), "\"");
  switch (Below(9)) {
    case 0:
      return StrCat("[ ", text, " = ", "\"", Literal(), "\" ]");
    case 1:
      return StrCat("[ -n ", text, " ]");
    case 2:
      return StrCat("[[ -z ", text, " ]]");
    case 3:
      return StrCat("[[ ", text, " == ", Pattern(), " ]]");
    case 4:
      return StrCat("[[ ", text, " != ", Literal(), " && ", Below(5), " -lt ", Below(9), " ]]");
    case 5:
      return StrCat("(( ", Arithmetic(2), " ))");
    case 6:
      return StrCat("[ ", Below(9), " -ge ", Below(9), " ]");
    case 7:
      return StrCat("[[ $n -gt ", Below(20), " || ", text, " == ", Pattern(), " ]]");
    default:
      return Chance(2) ? "true" : "! false";
  }
}

std::string ShellScript::Assignment() {
  const std::string& name = Any(Names());
  const std::string& array = Any(Arrays());
  switch (Below(9)) {
    case 0:
      return StrCat(array, "=(", Word(), " ", Word(), ")");
    case 1:
    case 2:
      return StrCat(array, "+=(", Word(), Chance(2) ? StrCat(" ", Word()) : "", ")");
    case 3:
      return StrCat(array == kGrowing ? "ARGS" : array, "[", Below(2), "]=", Literal());
    case 4:
      return StrCat("n=$((", Arithmetic(3), "))");
    case 5:
      return StrCat(name == "n" ? "name" : name, "+=", Literal());
    case 6:
      return StrCat("export ", name == "n" ? "TP" : name, "=\"", Text(), "\"");
    default:
      return name == "n" ? StrCat("n=", Below(30))
                         : StrCat(name, "=", Chance(2) ? StrCat("\"", Text(), "\"") : Reference());
  }
}

const std::vector<std::string>& ShellScript::Exported() {
  static const auto* const kExported = new std::vector<std::string>{"CUDA_A", "NCCL_B", "NVTE_C", "TP", "name"};
  return *kExported;
}

std::string ShellScript::Setting() {
  static const auto* const kValues =
      new std::vector<std::string>{"1", "0", "", "a,b", "\"x y\"", "$TP", "\"${n}\"", "$'q\\x41'"};
  return StrCat(Any(Exported()), "=", Any(*kValues));
}

std::string ShellScript::Environment() {
  const std::string& name = Any(Exported());
  switch (Below(22)) {
    case 0:
    case 1:
      return StrCat("export ", Setting());
    case 2:
      return StrCat("export ", name, " ", Setting());
    case 3:
      return StrCat("export -n ", name);
    case 4:
      return StrCat("unset ", Chance(3) ? "-v " : "", name);
    case 5:
      return StrCat("declare -x ", Setting());
    case 6:
      return StrCat("typeset +x ", name);
    case 7:
      return StrCat("set -a; ", Setting(), "; set +a");
    case 8:
      return StrCat("set -o allexport; ", Setting(), "; set +o allexport; ", Setting());
    case 9:
      return StrCat("( export ", Setting(), "; unset ", name, " )");
    case 10:
      return StrCat(Setting(), " true");
    case 11:
      return StrCat(Chance(2) ? "export " : "", Setting(), " | true");
    case 12:
      return StrCat("export ", Setting(), " & wait");
    case 13:
      return StrCat("true | export ", Setting());
    case 14:
      return StrCat("for v in ", name, "=1 NVTE_C=2; do export \"$v\"; done");
    case 15:
      return StrCat("declare -i m=", Below(9), "; m+=", Below(9), "; export ", name, "=$m");
    case 16:
      return StrCat("export $(echo ", name, "=", Literal(), ")");
    case 17:
      return StrCat("eval 'export ", name, "=", Below(9), "'");
    case 18:
      if (Chance(2)) return StrCat("g() { list+=(\"$", name, "\"); }; ", Setting(), " g");
      return StrCat("g() { local ", Chance(2) ? "-x " : "", Setting(), "; export NVTE_C=5; ", Assignment(), "; }; g");
    case 19:
      return StrCat("IFS=", Chance(2) ? "," : "':,'", "; ARGS+=($", name, "); ",
                    Chance(2) ? "unset IFS" : "IFS=$' \\t\\n'");
    case 20:
      return Chance(4) ? "mapfile -t list < /dev/null"
                       : StrCat("IFS=, read -r -a list <<< \"", Chance(2) ? Literal() : Reference(), ",b\"");
    default:
      return StrCat("{ ", Setting(), "; export ", name, "; }", Chance(3) ? " | true" : "");
  }
}

std::string ShellScript::Launch() {
  std::string launch = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4";
  for (size_t left = 1 + Below(3); left > 0; --left)
    launch += Chance(3) ? StrCat(" \\\n  ", Word()) : StrCat(" ", Word());
  static const auto* const kInner = new std::vector<std::string>{
      "torchrun --nproc-per-node 8 pretrain_gpt.py --lr $TP $CUDA_A \"$NCCL_B\"",
      "TP=9; torchrun a pretrain_gpt.py $TP", "unset CUDA_A; export NCCL_B=7; torchrun b pretrain_gpt.py --lr 1"};
  switch (Below(14)) {
    case 0:
    case 1:
      return StrCat(Setting(), " ", launch);
    case 2:
      return StrCat("env ", Setting(), " ", launch);
    case 3:
      return StrCat("env -u ", Any(Exported()), " ", Setting(), " ", launch);
    case 4:
      return StrCat("env -i PATH=\"$PATH\" ", Setting(), " ", launch);
    case 5:
      return StrCat(Chance(6) ? "" : "export CUDA_A NCCL_B TP; ", "bash -c '", Any(*kInner), "'");
    case 6:
      return StrCat(Setting(), " bash -c \"", absl::StrReplaceAll(Any(*kInner), {{"\"", "\\\""}}), "\"");
    case 7:
      return StrCat(launch, " | true");
    case 8:
      return StrCat(launch, " & wait");
    case 9:
      return StrCat("( ", Environment(), "; ", launch, " )");
    case 10:
      return StrCat("exec ", launch);
    default:
      return launch;
  }
}

void ShellScript::Block(int depth) {
  ++indent_;
  for (size_t left = 1 + Below(2); left > 0; --left) Statement(depth + 1);
  --indent_;
}

void ShellScript::Statement(int depth) {
  const size_t kind = depth >= kMostDepth ? 0 : Below(20);
  switch (kind) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return Line(Assignment());
    case 5: {
      Line(StrCat("if ", Condition(), "; then"));
      Block(depth);
      if (Chance(3)) {
        Line(StrCat("elif ", Condition(), "; then"));
        Block(depth);
      }
      if (Chance(2)) {
        Line("else");
        Block(depth);
      }
      return Line("fi");
    }
    case 6: {
      Line(StrCat("for i in ", Word(), " ", Literal(), "; do"));
      Block(depth);
      return Line("done");
    }
    case 7: {
      const std::string counter = StrCat("k", loops_++);
      Line(StrCat("for ((", counter, "=0; ", counter, "<", 1 + Below(3), "; ", counter, "++)); do"));
      Block(depth);
      return Line("done");
    }
    case 8: {
      Line(StrCat("case \"", Reference(), "\" in"));
      ++indent_;
      for (size_t left = 1 + Below(2); left > 0; --left) {
        Line(StrCat(Pattern(), Chance(3) ? StrCat("|", Literal()) : "", ")"));
        Block(depth);
        Line(";;");
      }
      --indent_;
      return Line("esac");
    }
    case 9: {
      const std::string function = StrCat("f", functions_++);
      Line(StrCat(function, "() {"));
      ++indent_;
      if (Chance(2)) Line("local name=\"$1\"");
      Line(StrCat("list+=(\"$", 1 + Below(2), "\" \"$#\")"));
      if (Chance(3)) Line("ARGS+=(\"$@\")");
      --indent_;
      Block(depth);
      Line("}");
      return Line(StrCat(function, " ", Word(), " ", Literal()));
    }
    case 10: {
      const std::string counter = StrCat("w", loops_++);
      Line(StrCat(counter, "=", Below(4)));
      Line(StrCat("while [ $", counter, " -lt ", Below(6), " ]; do"));
      ++indent_;
      Line(Chance(2) ? StrCat("((", counter, "++))") : StrCat("let ", counter, "+=", 1 + Below(2)));
      --indent_;
      Block(depth);
      return Line("done");
    }
    case 11: {
      Line("(");
      Block(depth);
      return Line(")");
    }
    case 12: {
      Line(StrCat("for i in {1..", 2 + Below(4), "}; do"));
      Block(depth);
      ++indent_;
      Line(StrCat(Condition(), Chance(2) ? " && continue" : " || break"));
      --indent_;
      Block(depth);
      return Line("done");
    }
    case 13: {
      static const auto* const kSteps = new std::vector<std::string>{"++", "--", "+=2", "*=3", "=7, n-=1", "|=8"};
      return Line(Chance(2) ? StrCat("((n", Any(*kSteps), "))") : StrCat("n=$((n", Any(*kSteps), "))"));
    }
    case 14:
      return Line(StrCat(Condition(), Chance(2) ? " && " : " || ", Assignment()));
    case 15:
    case 16:
    case 17:
    case 18:
      return Line(Environment());
    default:
      return Line(StrCat("set -- ", Word(), " ", Literal(), "; ", Any(Arrays()), "+=(\"$2\" \"$#\")"));
  }
}

std::string ShellScript::Write() {
  out_ = "#!/bin/bash\n";
  for (const std::string& name : Names()) Line(StrCat(name, "=", name == "n" ? StrCat(Below(9)) : Literal()));
  for (const std::string& name : Exported()) {
    if (!Chance(16)) Line(StrCat(Chance(3) ? "export " : "", name, "=", Literal()));
  }
  for (const std::string& array : Arrays()) {
    const bool empty = array == kGrowing && Chance(3);
    Line(empty ? StrCat(array, "=()") : StrCat(array, "=(", Literal(), " ", Literal(), ")"));
  }
  for (size_t left = 2 + Below(8); left > 0; --left) Statement(0);
  Line(Launch());
  return out_;
}

}  // namespace flightplan::properties
