// The launch in every dialect, with what it still needs. One that would fail is not shown.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { resolver } from "../../client/clients";
import { latest } from "../../client/latest";
import { live } from "../../client/transport";
import type { Launch } from "../../generated/flightplan/v1/resolver_service_pb";
import { CopyButton } from "../../parts/copy_button";
import { DataTable } from "../../parts/data_table";
import { FailureNote } from "../../parts/failure_note";
import { SaveButton } from "../../parts/save_button";
import type { Answer } from "../../state/answer";
import { hasError } from "../../words/findings";
import { shellWord } from "../../words/text";

const DIALECTS = ["megatron-lm", "megatron-bridge", "megatron-bridge-perf", "loongforge", "yaml", "json"];

export function Launches({ answer }: { answer: Answer }) {
  const own = answer.response.launches[0];
  const chosen = useSignal("");
  if (hasError(answer.response.findings) || !own) return <p>no launch: it would fail; the findings say why</p>;
  const dialect = chosen.value || own.dialect;
  return (
    <>
      <fieldset class="choices">
        <legend>dialect</legend>
        {[...new Set([own.dialect, ...(live ? DIALECTS : [])])].map((name) => (
          <label key={name}><input type="radio" name="dialect" checked={name === dialect} onChange={() => (chosen.value = name)} /> {name}</label>
        ))}
      </fieldset>
      {dialect === own.dialect ? <OneLaunch launch={own} /> : <OtherLaunch key={dialect} answer={answer} dialect={dialect} />}
    </>
  );
}

function OtherLaunch({ answer, dialect }: { answer: Answer; dialect: string }) {
  const asked = useSignal(latest<Launch | undefined>()).value;
  const ask = (): void => void asked.ask(async (signal) => {
    const response = await resolver.resolveConfig({ ...answer.request, dialects: [dialect] }, { signal });
    return response.launches.find((launch) => launch.dialect === dialect);
  });
  useEffect(ask, [answer, dialect]);
  const launch = asked.answer.value;
  if (asked.failure.value) return <FailureNote failure={asked.failure.value} again={ask} />;
  if (asked.asking.value || !launch) return <p role="status">{asked.asking.value ? "asking …" : `no launch in ${dialect}`}</p>;
  return <OneLaunch launch={launch} />;
}

function OneLaunch({ launch }: { launch: Launch }) {
  const variables = Object.entries(launch.env).sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `export ${name}=${shellWord(value)}`).join("\n");
  return (
    <>
      <pre class="launch" tabIndex={0} aria-label={`launch, ${launch.dialect}`}>{launch.text}</pre>
      <p class="buttons">
        <CopyButton text={launch.text} />
        {launch.argv.length > 0 && <CopyButton label="copy one argument a line" text={`${launch.argv.join("\n")}\n`} />}
        {variables && <CopyButton label="copy the variables" text={`${variables}\n`} />}
        <SaveButton name={`launch.${["yaml", "json"].includes(launch.dialect) ? launch.dialect : "sh"}`} text={launch.text} />
      </p>
      <Needs launch={launch} />
    </>
  );
}

function Needs({ launch: { requiredInputs } }: { launch: Launch }) {
  if (requiredInputs.length === 0) return null;
  const rows = requiredInputs.map(({ name, what, spelling, example, without }) => ({
    key: name, cells: [<code>{spelling}</code>, what, <code>{example}</code>, without || "it does not start"],
  }));
  return <DataTable caption="what it still needs" columns={[{ head: "as" }, { head: "what" }, { head: "for example" }, { head: "without" }]} rows={rows} />;
}
