// The repair: each step, the changed text, what is left.
import type { Repair } from "../../generated/flightplan/v1/resolver_service_pb";
import { CopyButton } from "../../parts/copy_button";
import { FindingList } from "../../parts/finding_list";
import { SaveButton } from "../../parts/save_button";
import { hrefOf } from "../../state/route";
import { script } from "../../state/script";
import { fixText } from "../../words/findings";
import type { Spelling } from "../../words/findings";
import { Merge } from "./merge";

export function RepairPart({ repair, judgedText, spelling }: { repair: Repair; judgedText: string; spelling: Spelling }) {
  const { steps, text, findings, unwritten, acceptedByStack, willRun } = repair;
  const rest = unwritten && fixText(unwritten, spelling);
  return (
    <section aria-label="repaired text">
      <h2>repaired text</h2>
      <p>After the fix: {acceptedByStack ? "accepted" : "rejected"}, {willRun ? "runs" : "fails later"}.</p>
      <ol>
        {steps.map(({ ruleId, fix, searched }, at) => (
          <li key={at}><code>{fix && fixText(fix, spelling)}</code> <a href={hrefOf("reference", "rule", ruleId)}>{ruleId}</a>{searched && " (found by search)"}</li>
        ))}
      </ol>
      {rest && <p>the text has no place for: <code>{rest}</code></p>}
      {text && (
        <>
          <Merge original={judgedText} repaired={text} />
          <p class="buttons">
            <button type="button" onClick={() => (script.value = { ...script.value, text })}>take the repaired text</button>
            <CopyButton text={text} />
            <SaveButton name={script.value.name} text={text} />
          </p>
        </>
      )}
      {findings.length > 0 && <><h3>errors that the repaired text still has</h3><FindingList findings={findings} spelling={spelling} /></>}
    </section>
  );
}
