// What a script launches once its conditions, loops, functions and string operators are followed.
#include "resolver/shell/interpreter.h"

#include <sys/resource.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/shell/reader.h"

namespace flightplan {
namespace {

// The words behind `python x.py` of the last launch; "?" in front of what only a run would know.
std::string Launched(absl::string_view script, const EnvVars& given = {}) {
  std::string words;
  for (const Argument& arg : ReadShellLaunch(script, given).args) {
    words += (words.empty() ? "" : " ") + std::string(arg.unknown ? "?" : "") + (arg.text.empty() ? "''" : arg.text);
  }
  return words;
}

struct Case {
  absl::string_view script, words;
};

TEST(ShellInterpreter, TakesTheBranchThatHolds) {
  for (const Case& c : std::initializer_list<Case>{
           {"M=7B\nif [ $M = 7B ]; then L=28\nelif [ $M = 72B ]; then L=80\nelse L=1\nfi\npython x.py $L", "28"},
           {"M=72B\nif [ $M = 7B ]; then L=28\nelif [[ $M == 72? ]]; then L=80\nelse L=1\nfi\npython x.py $L", "80"},
           {"M=3B\nif [ $M = 7B ]; then L=28\nelif [ $M = 72B ]; then L=80\nelse L=1\nfi\npython x.py $L", "1"},
           {"A=1\nif [ $A = 1 ] && [ ! $A -gt 3 ]; then L=2; fi\npython x.py $L", "2"},
           {"A=(--a)\n[ 1 -lt 2 ] && A+=(--b)\n[[ -z x || 2 > 3 ]] || A+=(--c)\npython x.py ${A[@]}", "--a --b --c"},
           {"N=8\nif (( N * 2 > 15 && N % 3 )); then L=2; else L=3; fi\npython x.py $L", "2"},
           {"case moe in dense) L=1 ;; mo*|x) L=2 ;; *) L=3 ;; esac\npython x.py $L", "2"},
           {"case z in dense) L=1;; *)\n L=3\nesac\npython x.py $L", "3"},
           {"if true; then if false; then L=1; else L=2; fi; fi; python x.py $L", "2"},
           {"T=1\nif [ $T = 0 ]; then python x.py --train-iters 1; else python x.py --train-iters 2; fi",
            "--train-iters 2"},
           {"set -e\ncd /x || exit 1\nmkdir -p y && python x.py --a", "--a"},
           {"python x.py --a\nexit 0\npython x.py --b", "--a"},
       }) {
    EXPECT_EQ(Launched(c.script), c.words) << c.script;
  }
}

// A comment between continued lines, as in `# parallelism`.
TEST(ShellInterpreter, ASubstitutionWithoutACommandIsNoWord) {
  for (const Case& c : std::initializer_list<Case>{
           {"python x.py --a \\\n  `# parallelism` \\\n  --b", "--a --b"},
           {"python x.py --a $(# why\n) --b", "--a --b"},
           {"python x.py --a `` $( ) --b", "--a --b"},
           {"python x.py --a \"`# none`\"", "--a ''"},
       }) {
    EXPECT_EQ(Launched(c.script), c.words) << c.script;
  }
}

TEST(ShellInterpreter, TakesWhatIsSetNowhereAsEmptyAndSaysSo) {
  const absl::string_view script =
      "if [ -z \"$DATA\" ]; then echo give DATA; exit 1; fi\nif [ -n \"${WANDB_KEY}\" ]; then A='--wandb x'; fi\n"
      "python x.py --d $DATA ${FP8:+--fp8}\n";
  EXPECT_EQ(Launched(script), "--d ?$DATA");
  EXPECT_EQ(Launched(script, {{"DATA", "/d"}, {"FP8", "1"}}), "--d /d --fp8");
  const ShellLaunch launch = ReadShellLaunch(script, {});
  EXPECT_TRUE(std::any_of(launch.findings.begin(), launch.findings.end(), [](const ParseFinding& f) {
    return f.finding.rule_id == "input.not-judged" && f.at.line == 1;
  }));
}

// An array that holds another one of unknown size is of unknown size itself, and so are the places behind that one.
// What bash itself sets is neither empty nor asked for, in a shell inside neither.
TEST(ShellInterpreter, KnowsWhatEveryShellHas) {
  for (const Case& c :
       std::initializer_list<Case>{{"python x.py ${PWD:-/a} $RANDOM", "?${PWD:-/a} ?$RANDOM"},
                                   {"PWD=/a\npython x.py $PWD", "/a"},
                                   {"srun bash -c 'python x.py $PWD'", "?$PWD"},
                                   {"if [ -z \"$HOSTNAME\" ]; then L=1; else L=2; fi\npython x.py $L", "?$L"}}) {
    EXPECT_EQ(Launched(c.script), c.words) << c.script;
  }
  EXPECT_TRUE(ReadShellLaunch("python x.py --save $PWD/c", {}).findings.empty());
}

TEST(ShellInterpreter, CountsNoItemsBehindAnArrayOfUnknownSize) {
  for (const Case& c : std::initializer_list<Case>{
           {"A=(a \"${B[@]/#/--}\" c)\npython x.py ${#A[@]}", "?${#A[@]}"},
           {"A=(a \"x${B[@]}\")\npython x.py ${#A[@]}", "?${#A[@]}"},
           {"A=(a \"${B[@]:0:2}\")\npython x.py ${#A[@]}", "?${#A[@]}"},
           {"A=(a ${#B[@]} c)\npython x.py ${#A[@]} ${A[2]}", "3 c"},
           {"A=(a b \"${B[@]}\" c)\npython x.py ${A[1]} ${A[3]} ${A[-1]}", "b ?${A[3]} ?${A[-1]}"},
           {"A=(a b \"${B[@]}\" c)\npython x.py \"${A[@]:0:2}\" \"${A[@]:1:2}\"", "a b ?${A[@]:1:2}"},
           {"A=(a \"${B[@]}\" c)\nA[0]=d\npython x.py ${A[0]}", "d"},
           {"A=(a \"${B[@]}\" c)\nA[2]=d\npython x.py ${A[0]}", "?${A[0]}"},
           {"A=(a \"${B[@]}\" c)\nA[-1]=d\npython x.py ${A[0]}", "?${A[0]}"},
           {"A=(a \"${B[@]}\" c)\nunset 'A[2]'\npython x.py ${#A[@]}", "?${#A[@]}"},
           {"set -- a \"${B[@]/#/--}\" c\nshift\npython x.py $#", "?$#"},
           {"set -- a \"${B[@]/#/--}\" c\nshift 2\npython x.py $1", "?$1"},
       }) {
    EXPECT_EQ(Launched(absl::StrCat("mapfile -t B < list\n", c.script)), c.words) << c.script;
  }
}

TEST(ShellInterpreter, ReadsSourcedFilesThatAreSent) {
  const absl::string_view script =
      "DIR=$(cd $(dirname $0) && pwd)\nsource \"${DIR}/models/a.sh\"\n. /abs/b.sh\npython x.py ${A[@]} $B\n";
  const ShellLaunch without = ReadShellLaunch(script, {});
  EXPECT_EQ(without.wanted_files, (std::vector<std::string>{"models/a.sh", "/abs/b.sh"}));
  const ShellLaunch with = ReadShellLaunch(script, {}, {{"models/a.sh", "N=3\nA=(--n $N)\n"}, {"/abs/b.sh", "B=--b"}});
  ASSERT_EQ(with.args.size(), 3U);
  EXPECT_EQ(with.args[0].text, "--n");
  EXPECT_EQ(with.args[1].text, "3");
  EXPECT_EQ(with.args[1].at.line, 2);  // where it is sourced
  EXPECT_EQ(with.args[2].text, "--b");
  EXPECT_TRUE(with.wanted_files.empty());
  // One that sources itself ends.
  EXPECT_EQ(ReadShellLaunch(". a.sh\npython x.py $A", {}, {{"a.sh", "A=1\n. a.sh"}}).args[0].text, "1");
}

// What a program of miles prints of a model's file.
TEST(ShellInterpreter, ReadsTheFlagsOfAModelsScript) {
  constexpr absl::string_view kScript =
      "LINE=\"$(python3 \"${ROOT}/miles/utils/model_args_utils.py\" \"qwen3-4B\")\" || exit 1\n"
      "read -ra MODEL <<< \"${LINE}\"\npython x.py ${MODEL[@]} --z\n";
  const std::string file = "scripts/models/qwen3-4B.py", begin = "def model_args() -> str:\n    return (\n";
  EXPECT_EQ(ReadShellLaunch(kScript, {}).wanted_files, std::vector<std::string>{file});
  const ShellLaunch read = ReadShellLaunch(
      kScript, {}, {{file, begin + "        \"--swiglu \"\n        # more\n        \"--num-layers 36 \"\n    )\n"}});
  ASSERT_EQ(read.args.size(), 4U);
  EXPECT_EQ(read.args[0].text, "--swiglu");
  EXPECT_EQ(read.args[2].text, "36");
  const ShellLaunch computed =
      ReadShellLaunch(kScript, {}, {{file, begin + "        f\"--num-layers {N} \"\n    )\n"}});
  ASSERT_EQ(computed.args.size(), 2U);
  EXPECT_TRUE(computed.args[0].unknown);
}

// At the deepest level each line copied the file and read none of it, and so counted nothing: 30 GB here.
TEST(ShellInterpreter, CountsAFileThatSourcesItselfBeforeItIsCopied) {
  std::string file;
  for (int i = 0; i < 30000; ++i) file += ". a.sh\n";
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const ShellLaunch launch = ReadShellLaunch(". a.sh\npython x.py --a", {}, {{"a.sh", file}});
  getrusage(RUSAGE_SELF, &after);
  EXPECT_TRUE(std::any_of(launch.findings.begin(), launch.findings.end(),
                          [](const ParseFinding& f) { return f.finding.rule_id == "input.limit"; }));
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 512 << 10);  // KiB
}

TEST(ShellInterpreter, CountsWhatSeqPrints) {
  EXPECT_EQ(Launched("python x.py --a 1 $(seq 16 8 32) --b"), "--a 1 16 24 32 --b");
  EXPECT_EQ(Launched("N=2\npython x.py $(seq $N) $(seq 3 -1 2)"), "1 2 3 2");
  EXPECT_EQ(Launched("for i in $(seq 3 2); do A=1; done\npython x.py --a $(seq 3 2) --b"), "--a --b");
  for (const absl::string_view unread :
       {"$(seq 1 0 2)", "$(seq 1 100000)", "$(seq 1 2 3 4)", "$(seq 1.5)", "$(seq -9223372036854775808 1)",
        "$(seq 1 -1 -9223372036854775808)", "$(seq 1 -9223372036854775808 1)"}) {
    EXPECT_EQ(Launched(absl::StrCat("python x.py ", unread)), absl::StrCat("?", unread));
  }
}

TEST(ShellInterpreter, TakesTheVariablesOfARayJob) {
  const ShellLaunch launch = ReadShellLaunch(
      "ENV=\"{\\\"env_vars\\\": {\\\"A\\\": \\\"1\\\", \\\"B\\\": \\\"${B}\\\"}}\"\n"
      "ray job submit --runtime-env-json=\"${ENV}\" -- python3 train.py --a\n",
      {});
  EXPECT_EQ(launch.vars, (EnvVars{{"A", "1"}}));
  EXPECT_FALSE(launch.vars_elsewhere);
  EXPECT_TRUE(
      ReadShellLaunch("ray job submit --runtime-env-json=$(python3 e.py) -- python3 t.py --a", {}).vars_elsewhere);
  const ShellLaunch quoted = ReadShellLaunch(
      "D=$(cd \"$(dirname \"$0\")\" && pwd)\n"
      "ray job submit --runtime-env-json \"{\\\"env_vars\\\": {\\\"A\\\": \\\"1\\\", \\\"P\\\": \\\"${D}\\\"}}\" -- "
      "python3 t.py --a",
      {});
  EXPECT_EQ(quoted.vars, (EnvVars{{"A", "1"}}));
}

TEST(ShellInterpreter, MakesUnknownWhatOnlyARunWouldDecide) {
  EXPECT_EQ(Launched("L=1\nif grep -q x y; then L=2; fi\npython x.py --a $L"), "--a ?$L");
  EXPECT_EQ(Launched("if grep -q x y; then L=2; else L=2; fi\npython x.py --a $L"), "--a 2");
  // What no known branch holds may stand in one that hangs on the caller's environment.
  EXPECT_EQ(Launched("if [ \"$STAGE\" = train ]; then python x.py --a; fi"), "--a");
}

TEST(ShellInterpreter, FollowsLoopsAndFunctions) {
  for (const Case& c : std::initializer_list<Case>{
           {"for f in --a --b; do A=\"$A $f\"; done\nA=\nfor f in --a --b; do A=\"$A $f\"; done\npython x.py $A",
            "--a --b"},
           {"run() {\n  local n=$1; shift\n  python x.py --n $n $@\n}\nrun 4 --z", "--n 4 --z"},
           {"function go { python x.py --k ${1} \"$#\"; }\ngo 7", "--k 7 1"},
           {"i=0\nwhile [ $i -lt 3 ]; do i=$((i+1)); done\npython x.py --i $i", "--i 3"},
           {"while [[ $# -gt 0 ]]; do case $1 in --tp) TP=$2; shift 2;; esac; done\npython x.py --tp ${TP:-2}",
            "--tp 2"},
           {"f() { return; python x.py --never; }\nf\npython x.py --b", "--b"},
           {"CMD=\"python x.py --a 'b c'\"\necho $CMD\neval $CMD", "--a b c"},
           {"(cd y; { python x.py --sub; })", "--sub"},
           {"for ((i=0; i<$((2)); i++)); do A=4; done\npython x.py --a $A", "--a 4"},
           {"for ((i=1; i<8; i*=2)); do A+=\" $i\"; done\npython x.py $A $i", "1 2 4 8"},
           {"for ((i=0; i<$N; i++)); do A+=(x); L=$i; done\nL=3\nfor ((i=0; i<$N; i++)); do L=4; done\npython x.py $L",
            "?$L"},
           {"for i in 1 2 3 4; do [ $i = 2 ] && continue; [ $i = 4 ] && break; A+=\" $i\"; done\npython x.py $A",
            "1 3"},
           {"for i in 1 2; do for j in 1 2; do [ $i$j = 12 ] && continue 2; A+=\" $i$j\"; done; done\npython x.py $A",
            "11 21 22"},
           {"for i in 1 2; do for j in 1 2; do [ $i$j = 12 ] && break 2; A+=\" $i$j\"; done; done\npython x.py $A",
            "11"},
           {"for i in 1 2; do for j in a; do break; for k in 1; do :; done; A=never; done; done\npython x.py $A$i",
            "?$A2"},
           {"break\nE=()\nfor i in \"${E[@]}\"; do A=never; done\npython x.py --b ${A:-none}", "--b none"},
           {"set -- --a --b\nfor i; do A+=\" $i\"; done\npython x.py $A", "--a --b"},
           {"for i in {1..100}; do N=$((N + i)); N=$i; done\npython x.py $N", "100"},
           {"f() { local n=$1 m; m=2; x=$n$m; }\nn=7 m=8\nf 1\npython x.py $n $m $x", "7 8 12"},
           {"f() { declare n=1; declare -g g=2; }\nn=7 g=8\nf\npython x.py $n $g", "7 2"},
           {"g() { local n=$1; h; A=$n; }\nh() { local n=5; }\nn=7\ng 1\npython x.py $A $n", "1 7"},
           {"n=7\n(n=8; m=1; exit 1)\npython x.py $n ${m:-none}", "7 none"},
       }) {
    EXPECT_EQ(Launched(c.script), c.words) << c.script;
  }
}

TEST(ShellInterpreter, OperatesOnStrings) {
  for (const Case& c : std::initializer_list<Case>{
           {"A=/m/llama-7b.bin\npython x.py ${A##*/} ${A%.bin} ${A#/m/} ${A//l/L} ${#A}",
            "llama-7b.bin /m/llama-7b llama-7b.bin /m/LLama-7b.bin 15"},
           {"A=Ab\npython x.py ${A^^} ${A,,} ${A:0:1} ${A:1}", "AB ab A b"},
           {"python x.py ${A:-${B:-c}} ${D-\"e f\"} ${F:=g} $F", "c e f g g"},
           {"A=\npython x.py x${A:-1} y${A-2} ${A:+no}", "x1 y"},
           {"A=(1 2 3)\npython x.py ${A[1]} ${#A[@]} ${A[@]:1} ${A[-1]}", "2 3 2 3 3"},
           {"declare -A S\nS[7b]=28\nM=7b\npython x.py ${S[$M]} ${S[7b]}", "28 28"},
           {"declare -A S=([7b]=28 # layers\n  [\"13b\"]='4 0')\nM=13b\npython x.py ${S[7b]} \"${S[$M]}\"", "28 4 0"},
           {"A=(x y z)\nA=([0]=a [1]=b)\npython x.py ${A[@]}", "a b"},
           {"A=([1]=16 [0]=28)\npython x.py ${A[@]} ${#A[@]}", "28 16 2"},
           {"A=(p q)\nA=([0]=${A[1]} [1]=${A[0]})\npython x.py ${A[@]}", "q p"},
           {"declare -A S=([a]=1 [b]=2)\nS=([a]=${S[b]} [b]=${S[a]})\npython x.py ${S[a]} ${S[b]}", "2 1"},
           {"declare -A S=([a]=1 [b]=2)\nS=([a]=3)\npython x.py ${S[a]} ${S[b]}", "3 ?${S[b]}"},
           {"A=($(seq 1 2))\nfor t in $(seq 3 4); do T=$t; done\npython x.py ${A[1]} $T \"$(seq 5 6)\"", "2 4 5\n6"},
           {"A=($(nodes))\nN=${#A[@]}\npython x.py $N ${A[0]} \"$(nodes)\"", "?${#A[@]} ?${A[0]} ?$(nodes)"},
           {"set -- $(nodes) 8\npython x.py $# $2", "?$# ?$2"},
           {"set -- \"$(nodes)\" 8\npython x.py $# $2", "2 8"},
           {"f() { python x.py \"${@:2}\" \"${@:1:1}\" $* ${*:3}; }\nf a b c", "b c a a b c c"},
           {"N=8\nX=\nT=1\n[[ $X -eq 0 ]] && T=2\npython x.py $T", "2"},
           {"case big in\n  big) T=2 ;&\n  mid) P=4 ;;\n  *) T=9 ;;\nesac\npython x.py $T $P", "2 4"},
           {"case big in\n  b*) T=2 ;;&\n  mid) P=4 ;;\n  *g) P=8 ;;\nesac\npython x.py $T $P", "2 8"},
           {"T=4\nf() { local -n ref=$1; ref=2; }\nf T\npython x.py $T", "?$T"},
           {"N=4\nG=8\npython x.py $((N * G / 2)) $(( (N+1)**2 )) $((N > 3 ? 1 : 0))", "16 25 1"},
           {"A=B\nB=c\npython x.py ${!A}", "c"},
           {"python x.py $(basename /a/b) $(dirname /a/b) $(echo d) \"$(( 1 / 0 ))\"", "b /a d ?$(( 1 / 0 ))"},
           {"A=(a b)\nA[3]=d\npython x.py ${A[0]} ${A[3]} ${#A[@]}", "?${A[0]} d ?${#A[@]}"},
           {"A=(a b)\npython x.py ${A[2]} ${A[$(nproc)]}", "?${A[$(nproc)]}"},
           {"A=(a b)\nA[1]=c\nA[2]=d\nA[0]+=x\npython x.py ${A[@]}", "ax c d"},
           {"A=(a 'b c')\nB=\"${A[@]}\"\nIFS=,\nC=\"${A[*]}\"\nunset IFS\npython x.py \"$B\" \"$C\"", "a b c a,b c"},
           {"A=(a b)\npython x.py \"${A[@]/#/--}\" ${A[0]/[a-z]/Z}", "--a --b Z"},
           {"E=()\npython x.py \"${E[@]}\" ${E[@]+\"${E[@]}\"} --z", "--z"},
           {"E=()\nN=\npython x.py \"\" \"$N\" \"${N:+x}\" \"a${E[@]}\" \"${E[@]}\"b \"${E[*]}\"", "'' '' '' a b ''"},
       }) {
    EXPECT_EQ(Launched(c.script), c.words) << c.script;
  }
}

TEST(ShellInterpreter, ExpandsListsInBraces) {
  for (const Case& c : std::initializer_list<Case>{
           {"python x.py {a,b}{1,2} x{,y}z", "a1 a2 b1 b2 xz xyz"},
           {"python x.py {1..3} {3..1} {01..10..4} {a..c} {-1..1}", "1 2 3 3 2 1 01 05 09 a b c -1 0 1"},
           {"N=8\npython x.py n{1,$N} \"{a,b}\" '{1..2}' {a} {} {a,b", "n1 n8 {a,b} {1..2} {a} {} {a,b"},
           {"python x.py {a,{b,c}d}e ${N:-{1,2}} {\"a,b\",c}", "ae bde cde {1,2} a,b c"},
       }) {
    EXPECT_EQ(Launched(c.script), c.words) << c.script;
  }
  EXPECT_EQ(Launched("python x.py a{1..1000000000}"), "?a{1..1000000000}");
}

TEST(ShellInterpreter, CalculatesAsBashDoes) {
  for (const Case& c : std::initializer_list<Case>{
           {"n=3\n((n++))\n((n+=2, n*=2))\nlet n-=1 m=n/2\npython x.py $n $m $((--m)) $((m++)) $m", "11 5 4 4 5"},
           {"python x.py $((0x10 + 010)) $((2#101)) $((1 << 4 | 1)) $((~5 & 7)) $((6 ^ 3)) $((-7 / 2)) $((- -1))",
            "24 5 17 2 5 -3 1"},
           {"n=1\n(( 0 && n++ ))\n(( 1 || n++ ))\npython x.py $n $((0 && 1 / 0)) $((1 ? 2 : n++)) $n", "1 0 2 1"},
           {"n=2\npython x.py $((n == 2 && (m = 5, m > 4))) $m $((08)) $((1 << -1)) $((3 4))",
            "1 5 ?$((08)) ?$((1 << -1)) ?$((3 4))"},
           {"n=2\n(( X )) && n=3\nn=2\nprintf -v n %d 3\ngetopts ab o\npython x.py $n $o", "3 ?$o"},
           {"n=1\nif grep -q x y; then n+=2; fi\npython x.py $n", "?$n"},
       }) {
    EXPECT_EQ(Launched(c.script), c.words) << c.script;
  }
}

TEST(ShellInterpreter, KnowsTheRestOfAWordWithAnUnknownPart) {
  EXPECT_EQ(Launched("O=\" --tp 2 --save ${OUT}/ckpt \\\n --bf16\"\npython x.py $O"),
            "--tp 2 --save ?${OUT}/ckpt --bf16");
  EXPECT_EQ(Launched("O=\"--n $(nproc --all) --b\"\npython x.py $O"), "--n ?$(nproc --all) --b");
}

TEST(ShellInterpreter, ReadsAroundRedirectionsAndHereDocuments) {
  EXPECT_EQ(Launched("python x.py --a 2>&1 > \"$LOG\" --b &> z --c | tee log"), "--a --b --c");
  EXPECT_EQ(Launched("cat <<EOF > conf\npython x.py --not-this\nEOF\npython x.py --this <<< in"), "--this");
  EXPECT_EQ(Launched("srun bash <<'EOF'\nexport A=1\npython x.py --inside\nEOF\n"), "--inside");
}

TEST(ShellInterpreter, PrefersTheTrainingToToolsAroundIt) {
  EXPECT_EQ(Launched("python x.py --micro-batch-size 1\npython convert.py --load y\n"), "--micro-batch-size 1");
  EXPECT_EQ(Launched("python x.py --a\ncp x.py --b\n"), "--a");
}

TEST(ShellInterpreter, KnowsArgumentsThatItsCallerGives) {
  const EnvVars given = {{"1", "72B"}, {"2", "8"}, {"#", "2"}};
  EXPECT_EQ(
      Launched("M=$1\nif [ $# -lt 2 ]; then exit 1; fi\n[ $M = 72B ] && L=80\npython x.py $L ${2:-1} ${3:-4}", given),
      "80 8 4");
  EXPECT_EQ(Launched("python x.py $1 \"$@\""), "?$1 ?$@");
}

TEST(ShellInterpreter, EndsOnEveryText) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "if (( ( { ${A:-$(";
  for (const std::string& text : {deep,
                                  std::string("f() { f; f; }\nf\n"),
                                  std::string("f() { eval f; }; f"),
                                  std::string("for a in 1 2 3 4 5 6 7 8 9; do for b in $a $a $a $a $a $a $a; do while "
                                              "true; do A=$A$a$b; done; done; done"),
                                  std::string(5000, '['),
                                  std::string(5000, '{'),
                                  std::string(5000, '('),
                                  std::string("case x in"),
                                  std::string("for"),
                                  std::string("while"),
                                  std::string("if"),
                                  std::string("cat <<"),
                                  std::string("cat <<X\n"),
                                  std::string("A=${A"),
                                  std::string("A=${"),
                                  std::string("$(("),
                                  std::string("[[ a &&"),
                                  std::string("f()"),
                                  std::string("function"),
                                  std::string("A[=1"),
                                  std::string("A=${A/a"),
                                  std::string("A=\n[ ${A$B"),
                                  std::string("\\")}) {
    ReadShellLaunch(text, {});
  }
}

}  // namespace
}  // namespace flightplan
