// Two answers: knobs, memory on one axis, time by wall, findings, why.
import { useComputed } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { PairedBars } from "../../charts/paired_bars";
import { live } from "../../client/transport";
import { QuestionForm } from "../../form/question_form";
import { CopyButton } from "../../parts/copy_button";
import { DataTable } from "../../parts/data_table";
import { FailureNote } from "../../parts/failure_note";
import { FindingList } from "../../parts/finding_list";
import { askAgain, current } from "../../state/answer";
import type { Answer } from "../../state/answer";
import { keepOtherAnswered, other, otherAnswer, sideNames } from "../../state/other";
import { question } from "../../state/question";
import type { Question } from "../../state/question";
import { compare, memorySentence, signed, timeFigure, timeSentence, verdictWords } from "../../words/comparison";
import type { AmountDifference, Comparison } from "../../words/comparison";
import { countText, flagSpelling } from "../../words/findings";
import { diffText, flagsText } from "../../words/command";
import { fitSentence } from "../../words/forecast";
import { gibNumber, partName } from "../../words/text";
import { StepChange } from "./step_change";
import { ValueTable } from "./value_table";

export function CompareView() {
  useEffect(keepOtherAnswered, []);
  return (
    <>
      <h1>Compare</h1>
      <FailureNote failure={current.failure.value} again={askAgain} />
      <FailureNote failure={otherAnswer.failure.value} again={() => (other.value = other.value && { ...other.value })} />
      {live && <SecondQuestion />}
      <Both />
    </>
  );
}

function SecondQuestion() {
  if (!other.value) {
    return (
      <p>
        A is the question beside; B starts as the same.{" "}
        <button type="button" onClick={() => (other.value = { ...question.value })}>choose B</button>
      </p>
    );
  }
  return (
    <details class="section" open>
      <summary><h2>question B</h2></summary>
      <div class="second"><QuestionForm of={other as Signal<Question>} /></div>
      <p class="buttons">
        <button type="button" onClick={swap}>swap A and B</button>
        <button type="button" onClick={() => (other.value = undefined)}>without B</button>
      </p>
    </details>
  );
}

function swap(): void {
  const a = question.value;
  if (!other.value) return;
  question.value = other.value;
  other.value = a;
}

function Both() {
  const comparison = useComputed(() => {
    const [a, b] = [current.answer.value, otherAnswer.answer.value];
    return a && b ? { a, b, found: compare(a.response, b.response) } : undefined;
  }).value;
  if (!other.value) return null;
  if (!comparison) return otherAnswer.asking.value ? <p role="status">asking …</p> : null;
  return <Differences {...comparison} />;
}

function Differences({ a, b, found }: { a: Answer; b: Answer; found: Comparison }) {
  const command = diffText(a.written, b.written);
  const sentences = [timeSentence(found), memorySentence(found)].filter(Boolean);
  const longest = Math.max(found.step?.a ?? 0, found.step?.b ?? 0);
  return (
    <div aria-busy={otherAnswer.asking.value}>
      <dl class="lines">{([["A", a], ["B", b]] as const).map(([letter, side], at) => <Side key={letter} letter={letter} name={sideNames.value?.[at] ?? flagsText(side.written)} side={side} />)}</dl>
      {sentences.map((sentence) => <p key={sentence}><strong>{sentence}</strong></p>)}
      <ValueTable values={found.values} />
      {found.memoryTotal && <Amounts title="GiB, fullest stage" parts={found.memory} total={found.memoryTotal} text={gibNumber} />}
      {found.effect && found.step && found.step.a !== found.step.b && <StepChange effect={found.effect} us={found.step.a} />}
      {found.step && <Amounts title="step by wall" parts={found.time} total={found.step} text={(us) => timeFigure(us, longest)} />}
      <FindingsOf letter="A" found={found.findingsA} />
      <FindingsOf letter="B" found={found.findingsB} />
      {found.findingsA.length + found.findingsB.length === 0 && <p>the same {found.common} findings</p>}
      {live && <p>the same on a terminal: <code>{command}</code> <CopyButton text={command} /></p>}
    </div>
  );
}

function Side({ letter, name, side: { response } }: { letter: string; name: string; side: Answer }) {
  const fit = fitSentence(response.estimate?.fit ?? 0);
  return (
    <div>
      <dt>{letter}</dt>
      <dd><code>{name}</code></dd>
      <dd>{response.target} · <strong class={response.willRun ? "good" : "bad"}>{verdictWords(response)}{fit && `, ${fit}`}</strong></dd>
    </div>
  );
}

interface AmountsProps {
  title: string;
  parts: readonly AmountDifference[];
  total: AmountDifference;
  text: (amount: number) => string;
}

function Amounts({ title, parts, total, text }: AmountsProps) {
  const rows = [...parts, total].map((amount) => ({
    key: amount.name,
    strong: amount === total,
    cells: [partName(amount.name), text(amount.a), text(amount.b), amount.a === amount.b ? "0" : signed(amount.b - amount.a, text)],
  }));
  const pairs = [...parts, total].map(({ name, a, b }) => ({ name: partName(name), a, b }));
  return (
    <>
      <h2>{title}</h2>
      <PairedBars title={`${title}, A and B`} pairs={pairs} text={text} />
      <DataTable caption={title} columns={[{ head: "part" }, { head: "A", number: true }, { head: "B", number: true }, { head: "B - A", number: true }]} rows={rows} />
    </>
  );
}

function FindingsOf({ letter, found }: { letter: string; found: Comparison["findingsA"] }) {
  if (found.length === 0) return null;
  return <><h2>findings of {letter} alone</h2><p>{countText(found, 0)}</p><FindingList findings={found} spelling={flagSpelling} /></>;
}
