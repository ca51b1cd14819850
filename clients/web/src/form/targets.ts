// Every framework and release, newest first.
import { RELEASES } from "../generated/releases";
import type { Option } from "./fields";

/** "megatron-lm" for its newest code, "megatron-lm@0.18", each with what a person reads. */
export const TARGETS: readonly Option<string>[] = Object.entries(RELEASES).flatMap(([framework, releases]) =>
  [...releases].reverse().map((release): Option<string> => (release === "main" ? [framework, `${framework} main`] : [`${framework}@${release}`, `${framework} ${release}`])));
