// Generated from resolver/catalog/releases.yaml and resolver/stacks/*/stack.cc by clients/web/releases.py.

/** Releases by framework, oldest first. */
export const RELEASES: Readonly<Record<string, readonly string[]>> = {
  "megatron-lm": ["0.16", "0.17", "0.18", "0.19", "main"],
  "megatron-bridge": ["0.4", "0.5", "0.6", "main"],
  "loongforge": ["main"],
  "slime": ["main"],
  "ms-swift": ["main"],
  "verl": ["main"],
  "nemo-rl": ["main"],
  "miles": ["main"],
  "vime": ["main"],
  "primus": ["main"],
  "flagscale": ["main"],
  "roll": ["main"],
};
