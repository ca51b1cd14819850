// A launch script: what the stack will say of it, and the repaired text.
import { useEffect } from "preact/hooks";
import { CopyButton } from "../../parts/copy_button";
import { FailureNote } from "../../parts/failure_note";
import { FindingList } from "../../parts/finding_list";
import { SaveButton } from "../../parts/save_button";
import { Section } from "../../parts/section";
import { keepJudged, script, verdict } from "../../state/script";
import { launchSpelling } from "../../words/findings";
import { Changes } from "../answer/changes";
import { Editor, goToLine } from "./editor";
import { Merge } from "./merge";
import { NotJudged } from "./not_judged";
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
      {judged.repair && (
        <RepairPart repair={judged.repair} spelling={spelling}>{judged.repair.text && <Repaired text={judged.repair.text} />}</RepairPart>
      )}
      {judged.effectiveChanges.length > 0 && <Section title="the stack will change">{() => <Changes changes={judged.effectiveChanges} />}</Section>}
      <NotJudged judged={judged} />
    </div>
  );
}

function Repaired({ text }: { text: string }) {
  return (
    <>
      <Merge original={script.value.text} repaired={text} />
      <p class="buttons">
        <button type="button" onClick={() => (script.value = { ...script.value, text })}>take the repaired text</button>
        <CopyButton text={text} />
        <SaveButton name={script.value.name} text={text} />
      </p>
    </>
  );
}
