// What the catalogue has, as one list to search.
import { gpus, knobs, models, rules } from "../../client/catalogue";
import type { Failure } from "../../client/failure";
import { gibNumber, parameterText } from "../../words/text";

export type Kind = "rule" | "knob" | "model" | "gpu";

export interface Entry {
  kind: Kind;
  /** As the list says it: "decision" is a rule of that kind. */
  label: string;
  name: string;
  note: string;
}

const LISTS = [rules, knobs, models, gpus];

export function loadAll(): void {
  for (const list of LISTS) void list.load();
}

/** Why a list is not there; undefined: none has failed. */
export function failed(): Failure | undefined {
  return LISTS.map(({ failure }) => failure.value).find(Boolean);
}

/** Every entry that is there so far. */
export function entries(): Entry[] {
  return [
    ...models.entries.value.map(({ name, family, parameters }): Entry =>
      ({ kind: "model", label: "model", name, note: [family, parameters && parameterText(parameters.totalCount)].filter(Boolean).join(", ") })),
    ...gpus.entries.value.map(({ name, deviceName, hbmBytes }): Entry => ({ kind: "gpu", label: "GPU", name, note: `${deviceName}, ${gibNumber(hbmBytes)} GiB` })),
    ...knobs.entries.value.map(({ name, section, note }): Entry => ({ kind: "knob", label: "knob", name, note: [section, note].filter(Boolean).join(": ") })),
    ...rules.entries.value.map(({ id, kind, text }): Entry => ({ kind: "rule", label: kind, name: id, note: text })),
  ];
}

/** Entries that have every word of the query in name, kind or note; those that have it in their name first. */
export function matching(all: readonly Entry[], query: string): Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const inName = ({ name }: Entry): boolean => words.every((word) => name.toLowerCase().includes(word));
  const hits = all.filter((entry) => words.every((word) => `${entry.name} ${entry.label} ${entry.note}`.toLowerCase().includes(word)));
  return hits.sort((a, b) => Number(inName(b)) - Number(inName(a)));
}
