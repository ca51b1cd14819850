// The verdicts on the script in the terminal's words (clients/cli/validate_page.cc).
import { FitVerdict } from "../../generated/flightplan/v1/estimate_pb";
import { Completeness } from "../../generated/flightplan/v1/resolver_service_pb";
import type { ValidateConfigResponse } from "../../generated/flightplan/v1/resolver_service_pb";
import { countText } from "../../words/findings";
import { fitWord, memoryText, memoryVerdictText, speedText, stepText } from "../../words/forecast";

type Judged = ValidateConfigResponse;

function inFull({ completeness }: Judged): boolean {
  return completeness === Completeness.FULL || completeness === Completeness.UNSPECIFIED;
}

function stackVerdict(judged: Judged): [mood: string, text: string] {
  if (!judged.acceptedByStack) return ["bad", "rejected by the stack"];
  if (inFull(judged)) return ["good", "accepted by the stack"];
  return ["warn", judged.completeness === Completeness.NONE ? "not judged" : "not judged in full: nothing that it shows is refused"];
}

function laterVerdict(judged: Judged): [mood: string, text: string] | undefined {
  if (!judged.acceptedByStack || (!inFull(judged) && judged.willRun)) return undefined;
  if (!judged.willRun) return ["bad", "will fail later"];
  return judged.memory?.fit === FitVerdict.UNKNOWN ? ["warn", "will run if it fits: unknown"] : ["good", "will run"];
}

function fitTexts({ estimate, memory, completeness }: Judged): string[] {
  if (estimate) {
    const speed = speedText(estimate);
    return [`fits ${fitWord(estimate.fit)}: ${memoryText(estimate)}`, ...(estimate.stepTimeUs ? [`step ${stepText(estimate.stepTimeUs)}`] : []), ...(speed ? [speed] : [])];
  }
  if (!memory || completeness === Completeness.NONE) return [];
  const more = memoryVerdictText(memory);
  return [`fits ${fitWord(memory.fit)}${more ? `: ${more}` : ""}`];
}

export function Verdict({ judged }: { judged: Judged }) {
  const [mood, text] = stackVerdict(judged);
  const later = laterVerdict(judged);
  return (
    <div class="verdict" role="status">
      <p>
        {judged.target && `${judged.target} · `}<strong class={mood}>{text}</strong>
        {later && <> · <strong class={later[0]}>{later[1]}</strong></>} · {countText(judged.findings, judged.effectiveChanges.length)}
      </p>
      {fitTexts(judged).map((line) => <p key={line}>{line}</p>)}
      <p class="dim">read as {judged.inputFormat} · digest <code>{judged.digest}</code></p>
    </div>
  );
}
