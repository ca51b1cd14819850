// A launch script: what the stack will say of it, and the repaired text.
import { useEffect } from "preact/hooks";
import { FailureNote } from "../../parts/failure_note";
import { FindingList } from "../../parts/finding_list";
import { Section } from "../../parts/section";
import { keepJudged, script, verdict } from "../../state/script";
import type { ValidateConfigResponse } from "../../generated/flightplan/v1/resolver_service_pb";
import { hrefOf } from "../../state/route";
import { launchSpelling } from "../../words/findings";
import { Changes } from "../answer/changes";
import { Editor, goToLine } from "./editor";
import { RepairPart } from "./repair";
import { ScriptForm, takeFile } from "./script_form";
import { Verdict } from "./verdict";

export function ScriptView() {
  useEffect(keepJudged, []);
  return (
    <>
      <h1>Script</h1>
      <ScriptForm />
      <div onDragOver={(event) => event.preventDefault()} onDrop={(event) => {
        const file = event.dataTransfer?.files[0];
        if (!file) return;
        event.preventDefault();
        void takeFile(file);
      }}>
        <Editor />
      </div>
      <Judged />
    </>
  );
}

function Judged() {
  const judged = verdict.answer.value;
  const again = (): void => void (script.value = { ...script.value });
  if (verdict.failure.value) return <FailureNote failure={verdict.failure.value} again={again} />;
  if (!judged) return verdict.asking.value ? <p role="status">asking …</p> : null;
  const spelling = launchSpelling(judged.config);
  return (
    <div aria-busy={verdict.asking.value}>
      <Verdict judged={judged} />
      {judged.findings.length > 0 && <FindingList findings={judged.findings} spelling={spelling} goTo={goToLine} />}
      {judged.repair && <RepairPart repair={judged.repair} judgedText={script.value.text} spelling={spelling} />}
      {judged.effectiveChanges.length > 0 && <Section title="the stack will change">{() => <Changes changes={judged.effectiveChanges} />}</Section>}
      <NotJudged judged={judged} />
    </div>
  );
}

function NotJudged({ judged: { notJudged, wantedFiles, setAsideRules } }: { judged: ValidateConfigResponse }) {
  if (notJudged.length + wantedFiles.length + setAsideRules.length === 0) return null;
  return (
    <Section title="not judged" open>{() => (
      <>
        <ul>{notJudged.map((what) => <li key={what}>{what}</li>)}</ul>
        {wantedFiles.length > 0 && <p>files that the launch reads and that are not here: {wantedFiles.map((path) => <code key={path}>{path} </code>)}</p>}
        {setAsideRules.length > 0 && (
          <p>rules that look at what the text does not show: {setAsideRules.map((id) => <span key={id}><a href={hrefOf("reference", "rule", id)}>{id}</a> </span>)}</p>
        )}
      </>
    )}</Section>
  );
}
