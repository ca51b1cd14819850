#!/usr/bin/env python3
"""Writes a libFuzzer dictionary: the names and flags of the knob table, and the words that readers look for.

usage: gen_dictionary.py OUT KNOBS_YAML [SPELLINGS_YAML...]
"""
import re
import sys

WORDS = [
    "torchrun", "srun", "pretrain_gpt.py", "--nproc-per-node", "--nnodes", "export ", "\\\\\\x0a", "${", "$(", "$((", "\\\"", "'",
    "[@]}", "if ", "then", "fi", "for ", "done", "model.", "comm_overlap.", "_target_: ", "~", "null", "true", "false",
    "- ", ": ", "&a", "*a", "{", "}", "[", "]", "architectures", "model_type", "text_config", "NaN", "Infinity", "1e308",
    "9223372036854775807", "-1", "resolve {", "validate {", "arguments {", "values: ", "knobs {", "hardware {",
    "gpu_count: ", "h100-sxm", "gb200-nvl72", "deepseek-v3", "qwen3-30b-a3b", "megatron-lm", "megatron-bridge",
    "loongforge", "layout {", "repair: true",
]


def main() -> None:
    out, *tables = sys.argv[1:]
    text = ""
    for table in tables:
        with open(table, encoding="utf-8") as file:
            text += file.read()
    names = re.findall(r"\{name: \"?([A-Za-z0-9_.]+)", text)
    flags = re.findall(r"flag: \"(--[a-z0-9-]+)\"", text)
    words = WORDS + sorted(set(names)) + sorted(set(flags))
    with open(out, "w", encoding="utf-8") as file:
        for word in words:
            file.write(f'"{word}"\n')


if __name__ == "__main__":
    main()
