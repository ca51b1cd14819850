// Runs that would settle what the evidence does not: both commands of each.
import type { AbSuggestion, ResolveConfigResponse } from "../../generated/flightplan/v1/resolver_service_pb";
import { CopyButton } from "../../parts/copy_button";
import { percentText, valueText } from "../../words/text";

export function AbRuns({ response }: { response: ResolveConfigResponse }) {
  return <>{response.abSuggestions.map((ab) => <AbRun key={ab.knob} ab={ab} response={response} />)}</>;
}

function AbRun({ ab, response }: { ab: AbSuggestion; response: ResolveConfigResponse }) {
  const ratio = ab.expectedStepRatio;
  const step = ratio ? `, step ${percentText(ratio.value)} (${percentText(ratio.low)}..${percentText(ratio.high)})` : "";
  const commands = [["A", ab.planLaunch ?? response.launches[0]], ["B", ab.otherLaunch]] as const;
  return (
    <article>
      <h3>{ab.knob}: {valueText(ab.planValue)} (A, this plan) or {valueText(ab.otherValue)} (B){step}</h3>
      <p>{ab.reason}</p>
      {ab.companions.length > 0 && <p>B needs {ab.companions.map(({ name, value }) => `${name}=${valueText(value)}`).join(", ")}</p>}
      {commands.map(([letter, launch]) => launch && (
        <div key={letter}>
          <h4>{letter}</h4>
          <pre class="launch" tabIndex={0} aria-label={`launch ${letter}`}>{launch.text}</pre>
          <CopyButton text={launch.text} />
        </div>
      ))}
    </article>
  );
}
