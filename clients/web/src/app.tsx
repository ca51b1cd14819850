// The frame: the head with the views, the question, the view that is open.
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { QuestionForm } from "./form/question_form";
import { Foot } from "./frame/foot";
import { Head } from "./frame/head";
import { LinkNote } from "./frame/link_note";
import { TokenForm } from "./frame/token_form";
import { Lazy } from "./parts/lazy";
import { question } from "./state/question";
import { route } from "./state/route";
import type { View } from "./state/route";
import { AnswerView } from "./views/answer/answer_view";

// Every view but the first is fetched when it is opened.
const LAZY: Readonly<Partial<Record<View, () => Promise<ComponentType>>>> = {
  script: async () => (await import("./views/script/script_view")).ScriptView,
  memory: async () => (await import("./views/memory/memory_view")).MemoryView,
  plans: async () => (await import("./views/plans/plans_view")).PlansView,
  compare: async () => (await import("./views/compare/compare_view")).CompareView,
  timeline: async () => (await import("./views/timeline/timeline_view")).TimelineView,
  releases: async () => (await import("./views/releases/releases_view")).ReleasesView,
  reference: async () => (await import("./views/reference/reference_view")).ReferenceView,
  probe: async () => (await import("./views/probe/probe_view")).ProbeView,
  fleet: async () => (await import("./views/fleet/fleet_view")).FleetView,
};
// These are about something else than the question.
const WITHOUT_QUESTION: readonly View[] = ["script", "reference", "probe", "fleet"];

export function App() {
  const { view } = route.value;
  useEffect(() => {
    document.title = `${view[0]!.toUpperCase()}${view.slice(1)} · Flightplan`;
  }, [view]);
  const load = LAZY[view];
  const asks = !WITHOUT_QUESTION.includes(view);
  return (
    <>
      <a class="skip" href="#view" onClick={skip}>to the answer</a>
      <Head />
      <TokenForm />
      <div class={asks ? "columns" : "columns single"}>
        {asks && <aside aria-label="question"><Question /></aside>}
        <main id="view" tabIndex={-1} class={`view-${view}`}>
          <LinkNote />
          {load ? <Lazy key={view} load={load} with={{}} /> : <AnswerView />}
        </main>
      </div>
      <Foot />
    </>
  );
}

// The fragment is the page's own, so the link may not change it.
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("view")?.focus();
}

function Question() {
  const wide = matchMedia("(min-width: 60rem)").matches;
  return (
    <details class="question-box" open={wide}>
      <summary>question</summary>
      <QuestionForm of={question} />
    </details>
  );
}
