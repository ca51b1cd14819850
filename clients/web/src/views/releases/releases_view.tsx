// This launch on every release: accepted, warned, refused, and what changes.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { token } from "../../client/token";
import { Severity } from "../../generated/flightplan/v1/finding_pb";
import { DataTable } from "../../parts/data_table";
import { EntryLink } from "../../parts/entry_link";
import { FailureNote } from "../../parts/failure_note";
import { FindingList } from "../../parts/finding_list";
import { Section } from "../../parts/section";
import { current } from "../../state/answer";
import { frameworkName, judgeAll, launchRequest, onReleases } from "../../state/releases";
import type { ReleaseAnswer } from "../../state/releases";
import { script, validateRequest } from "../../state/script";
import { countText, launchSpelling } from "../../words/findings";
import { changeBetween, releaseVerdict, ruleIds } from "../../words/release_text";

const COLUMNS = [{ head: "release" }, { head: "verdict" }, { head: "errors", number: true }, { head: "against the release before" }];

export function ReleasesView() {
  const answer = current.answer.value;
  const hasScript = script.value.text.trim() !== "";
  const ofScript = useSignal(hasScript);
  const useScript = ofScript.value && hasScript;
  const request = useScript ? validateRequest(script.value) : answer && launchRequest(answer);
  const ask = (): void => {
    if (request) judgeAll(request);
  };
  useEffect(ask, [useScript, useScript ? script.value : answer, token.value]);
  const answers = onReleases.answer.value;
  return (
    <>
      <h1>Releases</h1>
      <fieldset class="choices">
        <legend>which launch</legend>
        <label><input type="radio" name="launch" checked={!useScript} onChange={() => (ofScript.value = false)} /> the answer's</label>
        <label><input type="radio" name="launch" checked={useScript} disabled={!hasScript} onChange={() => (ofScript.value = true)} /> the script's ({script.value.name})</label>
      </fieldset>
      <FailureNote failure={onReleases.failure.value} again={ask} />
      {!request && <p>there is no launch: the answer has errors</p>}
      {onReleases.asking.value && !answers && <p role="status">asking …</p>}
      {request && answers && <Table answers={answers} framework={frameworkName(answers[0]?.response.target ?? "")} />}
    </>
  );
}

function Table({ answers, framework }: { answers: readonly ReleaseAnswer[]; framework: string }) {
  const rows = answers.map(({ release, response }, at) => {
    const [mood, text] = releaseVerdict(response);
    const before = answers[at - 1]?.response;
    return {
      key: release,
      cells: [release, <strong class={mood}>{text}</strong>, ruleIds(response, Severity.ERROR).length, before ? <Change older={before} newer={response} /> : <Rules sign="" ids={ruleIds(response, Severity.ERROR)} />],
    };
  });
  return (
    <>
      <DataTable caption={`${framework}, every release`} columns={COLUMNS} rows={rows} />
      {answers.map(({ release, response }) => (
        <Section key={release} title={`findings of ${release}`}>{() => (
          <><p>{countText(response.findings, response.effectiveChanges.length)}</p><FindingList findings={response.findings} spelling={launchSpelling(response.config)} /></>
        )}</Section>
      ))}
    </>
  );
}

function Change({ older, newer }: { older: ReleaseAnswer["response"]; newer: ReleaseAnswer["response"] }) {
  const { newFindings, goneFindings, values } = changeBetween(older, newer);
  if (newFindings.length + goneFindings.length + values.length === 0) return <>the same</>;
  return (
    <>
      <Rules sign="+" ids={newFindings} /><Rules sign="-" ids={goneFindings} />
      {values.length > 0 && <ul class="bare">{values.map((value) => <li key={value}><code>{value}</code></li>)}</ul>}
    </>
  );
}

function Rules({ sign, ids }: { sign: string; ids: readonly string[] }) {
  if (ids.length === 0) return null;
  return <ul class="bare">{ids.map((id) => <li key={id}>{sign}<EntryLink kind="rule" name={id} /></li>)}</ul>;
}
