// A launch as it was judged: its lines with what was found under them, and the repair as a diff.
import type { Finding } from "../generated/flightplan/v1/finding_pb";
import { CopyButton } from "../parts/copy_button";
import { FindingList } from "../parts/finding_list";
import { SaveButton } from "../parts/save_button";
import { Section } from "../parts/section";
import { script, verdict } from "../state/script";
import { Changes } from "../views/answer/changes";
import { NotJudged } from "../views/script/not_judged";
import { RepairPart } from "../views/script/repair";
import { Verdict } from "../views/script/verdict";
import { launchSpelling, severityWord } from "../words/findings";
import type { Spelling } from "../words/findings";
import { report } from "./recorded";

export function Reading() {
  const judged = verdict.answer.value;
  if (!judged) return null;
  const spelling = launchSpelling(judged.config);
  const repaired = judged.repair?.text ?? "";
  return (
    <>
      <h1>{script.value.name}</h1>
      <Verdict judged={judged} />
      <FindingList findings={judged.findings} spelling={spelling} />
      {judged.repair && (
        <RepairPart repair={judged.repair} spelling={spelling}>
          {report.diff && <pre class="launch" tabIndex={0} aria-label="what the repair changes">{report.diff}</pre>}
          {repaired && <p class="buttons"><CopyButton label="copy the repaired text" text={repaired} /><SaveButton name={script.value.name} text={repaired} /></p>}
        </RepairPart>
      )}
      {judged.effectiveChanges.length > 0 && <Section title="the stack will change">{() => <Changes changes={judged.effectiveChanges} />}</Section>}
      <NotJudged judged={judged} />
      {script.value.text && <Section title="the launch, line by line" open>{() => <Lines text={script.value.text} findings={judged.findings} spelling={spelling} />}</Section>}
    </>
  );
}

function Lines({ text, findings, spelling }: { text: string; findings: readonly Finding[]; spelling: Spelling }) {
  return (
    <ol class="read-lines">
      {text.replace(/\n$/, "").split("\n").map((line, at) => {
        const found = findings.filter(({ location }) => location?.line === at + 1);
        const worst = found[0] ? `line-${severityWord(found[0].severity)}` : "";
        return <li key={at}><code class={worst}>{line || " "}</code>{found.length > 0 && <FindingList findings={found} spelling={spelling} />}</li>;
      })}
    </ol>
  );
}
