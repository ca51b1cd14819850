// Rules, knobs, decisions, models and GPUs: a search, and a page with an address for each.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId } from "preact/hooks";
import { catalog } from "../../client/clients";
import { latest } from "../../client/latest";
import { token } from "../../client/token";
import { FailureNote } from "../../parts/failure_note";
import { hrefOf, route } from "../../state/route";
import { plural } from "../../words/text";
import { entries, failed, loadAll, matching } from "./entries";
import { GpuPage, KnobPage, ModelPage, RulePage } from "./pages";

const SHOWN = 60;
// Names the server answers for, by kind: aliases and old names, too.
const GET: Readonly<Record<string, (name: string, signal: AbortSignal) => Promise<{ title: string; page: ComponentChildren }>>> = {
  rule: async (id, signal) => {
    const rule = await catalog.getRule({ id }, { signal });
    return { title: rule.id, page: <RulePage rule={rule} /> };
  },
  knob: async (name, signal) => {
    const knob = await catalog.getKnob({ name }, { signal });
    return { title: knob.name, page: <KnobPage knob={knob} /> };
  },
  model: async (name, signal) => {
    const model = await catalog.getModel({ name }, { signal });
    return { title: model.name, page: <ModelPage model={model} /> };
  },
  gpu: async (name, signal) => {
    const gpu = await catalog.getGpu({ name }, { signal });
    return { title: gpu.name, page: <GpuPage gpu={gpu} /> };
  },
};

const shown = latest<{ title: string; page: ComponentChildren }>();

export function ReferenceView() {
  const [kind = "", name = ""] = route.value.rest;
  return (
    <>
      <h1>Reference</h1>
      {name && GET[kind] ? <Page key={`${kind}/${name}`} kind={kind} name={name} /> : <Search />}
    </>
  );
}

function Page({ kind, name }: { kind: string; name: string }) {
  const ask = (): void => {
    shown.answer.value = undefined;
    void shown.ask((signal) => GET[kind]!(name, signal));
  };
  useEffect(ask, [kind, name, token.value]);
  const answer = shown.answer.value;
  return (
    <article>
      <p><a href={hrefOf("reference")}>all of the reference</a></p>
      <FailureNote failure={shown.failure.value} again={ask} />
      {shown.asking.value && <p role="status">asking …</p>}
      {answer && <><h2 class="entry">{kind} <code>{answer.title}</code></h2>{answer.page}</>}
    </article>
  );
}

function Search() {
  useEffect(loadAll, [token.value]);
  const query = useSignal("");
  const id = useId();
  const all = entries();
  const failure = failed();
  const hits = matching(all, query.value);
  return (
    <>
      <div class="field search">
        <label for={id}>search rules, knobs, decisions, models, GPUs</label>
        <input id={id} type="search" value={query.value} onInput={(event) => (query.value = event.currentTarget.value)} />
      </div>
      <FailureNote failure={failure} again={loadAll} />
      <p class="dim" role="status">{all.length === 0 ? (failure ? "" : "asking …") : `${plural(hits.length, "entry").replace("entrys", "entries")}${hits.length > SHOWN ? `, the first ${SHOWN}` : ""}`}</p>
      <ul class="entries">
        {hits.slice(0, SHOWN).map((entry) => (
          <li key={`${entry.kind}/${entry.name}`}>
            <span class="dim">{entry.label}</span> <a href={hrefOf("reference", entry.kind, entry.name)}>{entry.name}</a> <span class="about">{entry.note}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
