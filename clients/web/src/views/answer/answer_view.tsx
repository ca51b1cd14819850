// The answer: at most eight numbers, then what a click opens.
import type { ComponentChildren } from "preact";
import { FailureNote } from "../../parts/failure_note";
import { Lazy } from "../../parts/lazy";
import { Section } from "../../parts/section";
import { askAgain, current } from "../../state/answer";
import type { Answer } from "../../state/answer";
import { hasError } from "../../words/findings";
import { Headline } from "./headline";
import type { PARTS } from "./parts";

const parts = async (): Promise<typeof PARTS> => (await import("./parts")).PARTS;
const LOAD = {
  findings: async () => (await parts()).findings,
  decisions: async () => (await parts()).decisions,
  details: async () => (await parts()).details,
  changes: async () => (await parts()).changes,
  launches: async () => (await parts()).launches,
  abRuns: async () => (await parts()).abRuns,
  settings: async () => (await parts()).settings,
  command: async () => (await parts()).command,
};

export function AnswerView() {
  const answer = current.answer.value;
  return (
    <>
      <h1>Answer</h1>
      <FailureNote failure={current.failure.value} again={askAgain} />
      {answer ? <Whole answer={answer} /> : current.asking.value && <p role="status">asking …</p>}
    </>
  );
}

function Whole({ answer }: { answer: Answer }) {
  const { response, written } = answer;
  const { findings, decisions, effectiveChanges, abSuggestions, config } = response;
  const rows: [title: string, content: () => ComponentChildren][] = [
    ["findings", () => <Lazy load={LOAD.findings} with={{ findings }} />],
    ["decided, and why", () => <Lazy load={LOAD.decisions} with={{ decisions }} />],
    ["layout, memory, walls", () => <Lazy load={LOAD.details} with={{ answer }} />],
    ["what the stack will change by itself", () => <Lazy load={LOAD.changes} with={{ changes: effectiveChanges }} />],
    ["launch, and what it still needs", () => <Lazy load={LOAD.launches} with={{ answer }} />],
    ["A/B runs that would settle what the evidence does not", () => abSuggestions.length > 0
      ? <Lazy load={LOAD.abRuns} with={{ response }} /> : <p>the evidence settles every knob; none to run</p>],
    ["every knob", () => <Lazy load={LOAD.settings} with={{ config }} />],
    ["the same on a terminal", () => <Lazy load={LOAD.command} with={{ question: written }} />],
  ];
  // Of an infeasible plan the faults matter more than what was decided.
  const faulty = hasError(findings);
  return (
    <div class={current.asking.value ? "stale" : ""} aria-busy={current.asking.value}>
      <Headline answer={answer} />
      {rows.map(([title, content], at) => <Section key={title} title={title} open={at === 0 && faulty}>{content}</Section>)}
    </div>
  );
}
