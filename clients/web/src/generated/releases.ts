// Generated from resolver/catalog/releases.yaml by clients/web/releases.py.

/** Releases by framework, oldest first. */
export const RELEASES: Readonly<Record<string, readonly string[]>> = {
  "megatron-lm": ["0.16", "0.17", "0.18", "0.19", "main"],
  "megatron-bridge": ["0.4", "0.5", "0.6", "main"],
  "loongforge": ["main"],
};
