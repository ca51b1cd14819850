// The repair: each step, the changed text (as the caller shows it), what is left.
import type { ComponentChildren } from "preact";
import type { Repair } from "../../generated/flightplan/v1/resolver_service_pb";
import { EntryLink } from "../../parts/entry_link";
import { FindingList } from "../../parts/finding_list";
import { fixText } from "../../words/findings";
import type { Spelling } from "../../words/findings";

interface Props {
  repair: Repair;
  spelling: Spelling;
  children: ComponentChildren;
}

export function RepairPart({ repair, spelling, children }: Props) {
  const { steps, findings, unwritten, acceptedByStack, willRun } = repair;
  const rest = unwritten && fixText(unwritten, spelling);
  return (
    <section aria-label="repaired text">
      <h2>repaired text</h2>
      <p>After the fix: {acceptedByStack ? "accepted" : "rejected"}, {willRun ? "runs" : "fails later"}.</p>
      <ol>
        {steps.map(({ ruleId, fix, searched }, at) => (
          <li key={at}><code>{fix && fixText(fix, spelling)}</code> <EntryLink kind="rule" name={ruleId} />{searched && " (found by search)"}</li>
        ))}
      </ol>
      {rest && <p>the text has no place for: <code>{rest}</code></p>}
      {children}
      {findings.length > 0 && <><h3>errors that the repaired text still has</h3><FindingList findings={findings} spelling={spelling} /></>}
    </section>
  );
}
