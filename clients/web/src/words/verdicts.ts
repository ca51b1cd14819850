import { VerdictKind } from "../generated/flightplan/v1/finding_pb";

const FAILS_LATER = "the stack accepts it; the run fails later";
const WARNS = "the stack accepts it; a warning, which fails no run by itself";
const VERDICTS = new Map([
  [VerdictKind.ACCEPTED_BY_STACK, "said by the stack's own configuration code"],
  [VerdictKind.WILL_RUN, FAILS_LATER],
  [VerdictKind.ADVICE, "legal and runs; worth knowing"],
]);

/** What a rule's verdict comes to; its kind is "error", "warning" or another. */
export function verdictText(verdict: VerdictKind, kind: string): string {
  const text = VERDICTS.get(verdict) ?? "";
  return text === FAILS_LATER && kind !== "error" ? WARNS : text;
}
