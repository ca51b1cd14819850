// What of a launch was not judged, and for want of what.
import type { ValidateConfigResponse } from "../../generated/flightplan/v1/resolver_service_pb";
import { EntryLink } from "../../parts/entry_link";
import { Section } from "../../parts/section";

export function NotJudged({ judged: { notJudged, wantedFiles, setAsideRules } }: { judged: ValidateConfigResponse }) {
  if (notJudged.length + wantedFiles.length + setAsideRules.length === 0) return null;
  return (
    <Section title="not judged" open>{() => (
      <>
        <ul>{notJudged.map((what) => <li key={what}>{what}</li>)}</ul>
        {wantedFiles.length > 0 && <p>files that the launch reads and that are not here: {wantedFiles.map((path) => <code key={path}>{path} </code>)}</p>}
        {setAsideRules.length > 0 && (
          <p>rules that look at what the text does not show: {setAsideRules.map((id) => <span key={id}><EntryLink kind="rule" name={id} /> </span>)}</p>
        )}
      </>
    )}</Section>
  );
}
