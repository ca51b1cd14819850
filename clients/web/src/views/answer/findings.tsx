// What was found; a fix is taken over by a click.
import { live } from "../../client/transport";
import type { Finding } from "../../generated/flightplan/v1/finding_pb";
import { FindingList } from "../../parts/finding_list";
import { applyFix } from "../../state/pins";
import { edit } from "../../state/question";
import { countText, flagSpelling } from "../../words/findings";

export function Findings({ findings }: { findings: readonly Finding[] }) {
  return (
    <>
      <p>{countText(findings, 0)}</p>
      <FindingList findings={findings} spelling={flagSpelling} apply={live ? (fix) => edit((draft) => applyFix(draft, fix)) : undefined} />
    </>
  );
}
