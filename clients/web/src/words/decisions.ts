// Decisions in the terminal's words and order (clients/cli/resolve_page.cc).
import { Basis } from "../generated/flightplan/v1/finding_pb";
import type { Decision } from "../generated/flightplan/v1/finding_pb";
import { ConfigOrigin } from "../generated/flightplan/v1/resolver_service_pb";
import { signedPercent } from "./text";

const BASES = new Map([
  [Basis.MEASURED, "measurement"], [Basis.RECIPES, "recipe"], [Basis.ESTIMATE, "estimate"], [Basis.RULE, "rule"],
  [Basis.GUIDANCE, "guidance"], [Basis.CALLER, "your word"],
]);
const ORIGINS = new Map([
  [ConfigOrigin.DEFAULT, "default"], [ConfigOrigin.MODEL, "model"], [ConfigOrigin.CALLER, "you"],
  [ConfigOrigin.DECIDED, "decided"], [ConfigOrigin.UPSTREAM, "stack"],
]);

/** "2 measurements", "guidance", "needs an A/B". */
export function restsOn(decision: Decision): string {
  if (decision.needsAb) return "needs an A/B";
  const word = BASES.get(decision.basis) ?? "";
  const count = decision.citations.length;
  const counted = decision.basis === Basis.MEASURED || decision.basis === Basis.RECIPES;
  return counted && count > 0 ? `${count} ${word}${count === 1 ? "" : "s"}` : word;
}

/** The reason, with the expected change of the step where it is known. */
export function reasonText(decision: Decision): string {
  const ratio = decision.expectedStepRatio;
  return ratio === undefined ? decision.reason : `${decision.reason} (step ${signedPercent(ratio)})`;
}

// Open questions first, then knobs that had another candidate, then those that evidence or an estimate chose, the other
// knobs, the variables; the caller's own words last.
function rank(decision: Decision): number {
  if (decision.needsAb) return 0;
  if (decision.basis === Basis.CALLER) return 5;
  if (decision.name.startsWith("env.")) return 4;
  if (decision.alternatives.length > 0) return 1;
  return [Basis.MEASURED, Basis.RECIPES, Basis.ESTIMATE].includes(decision.basis) ? 2 : 3;
}

/** Within a rank in the answer's order. */
export function byImportance(decisions: readonly Decision[]): Decision[] {
  return [...decisions].sort((a, b) => rank(a) - rank(b));
}

export function originWord(origin: ConfigOrigin): string {
  return ORIGINS.get(origin) ?? "";
}
