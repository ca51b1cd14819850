// Findings as the terminal lists them: what was seen, what is needed, what to do, which rule says so.
import type { Finding, Fix } from "../generated/flightplan/v1/finding_pb";
import { EntryLink } from "./entry_link";
import { fixText, locationText, severityWord } from "../words/findings";
import type { Spelling } from "../words/findings";

interface Props {
  findings: readonly Finding[];
  spelling: Spelling;
  /** Takes a fix over; without it fixes are only shown. */
  apply?: (fix: Fix) => void;
  /** Shows the place in the text. */
  goTo?: (line: number) => void;
}

export function FindingList({ findings, ...rest }: Props) {
  return <ul class="findings">{findings.map((finding, at) => <FindingItem key={at} finding={finding} {...rest} />)}</ul>;
}

function FindingItem({ finding, spelling, apply, goTo }: Omit<Props, "findings"> & { finding: Finding }) {
  const word = severityWord(finding.severity);
  return (
    <li class={word}>
      <p>
        <span class="severity">{word}</span> <Place finding={finding} goTo={goTo} /> {finding.seen}
      </p>
      {finding.needs && <p>needs: {finding.needs}</p>}
      {finding.fixes.map((fix, at) => (
        <p key={at} class="fix">
          fix: <code>{fixText(fix, spelling)}</code>
          {fix.changesConvergence && " (changes what the training computes)"}
          {apply && <> <button type="button" onClick={() => apply(fix)}>apply</button></>}
        </p>
      ))}
      <RuleLine finding={finding} />
    </li>
  );
}

function Place({ finding, goTo }: { finding: Finding; goTo?: (line: number) => void }) {
  const line = finding.location?.line;
  const text = locationText(finding.location);
  if (line === undefined || !goTo) return <>{text}</>;
  return <button type="button" class="plain-link" onClick={() => goTo(line)}>{text}</button>;
}

export function RuleLine({ finding }: { finding: Finding }) {
  return (
    <p class="dim">
      <EntryLink kind="rule" name={finding.ruleId} />
      {finding.source?.text && <>  {finding.source.text}</>}
      {finding.source?.fieldReport && " (field report)"}
    </p>
  );
}
