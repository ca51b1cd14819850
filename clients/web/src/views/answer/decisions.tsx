// Every decided knob with its value, its reason and what that rests on.
import type { Decision } from "../../generated/flightplan/v1/finding_pb";
import { EntryLink } from "../../parts/entry_link";
import { byImportance, reasonText, restsOn } from "../../words/decisions";
import { valueText } from "../../words/text";

export function Decisions({ decisions }: { decisions: readonly Decision[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="decided knobs">
      <table class="decisions">
        <caption>decided knobs, open questions first</caption>
        <thead><tr><th scope="col">decided</th><th scope="col">value</th><th scope="col">because</th><th scope="col">rests on</th></tr></thead>
        <tbody>{byImportance(decisions).map((decision) => <DecisionRow key={decision.name} decision={decision} />)}</tbody>
      </table>
    </div>
  );
}

function DecisionRow({ decision }: { decision: Decision }) {
  const { name, value, alternatives, citations, ruleId, needsAb } = decision;
  return (
    <tr>
      <th scope="row"><code>{name}</code></th>
      <td><code>{valueText(value)}</code></td>
      <td>
        {reasonText(decision)}
        {alternatives.map((other, at) => <p key={at} class="dim">not {valueText(other.value)}: {other.reason}</p>)}
      </td>
      <td class={needsAb ? "warn" : ""}>
        {restsOn(decision)}
        <details class="evidence">
          <summary aria-label={`evidence for ${name}`}>evidence</summary>
          <ul>{citations.map(({ text }, at) => <li key={at}>{text}</li>)}<li><EntryLink kind="rule" name={ruleId} /></li></ul>
        </details>
      </td>
    </tr>
  );
}
