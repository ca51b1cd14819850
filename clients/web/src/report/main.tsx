// A report: the page in one file, with the answer in it and no server.
import { render } from "preact";
import type { ComponentType } from "preact";
import { openForPrint, printWhole } from "../print";
import { parseRoute, route } from "../state/route";
import type { View } from "../state/route";
import "../state/theme";
import { theme, THEMES } from "../state/theme";
import type { Theme } from "../state/theme";
import { AnswerView } from "../views/answer/answer_view";
import { CompareView } from "../views/compare/compare_view";
import { MemoryView } from "../views/memory/memory_view";
import { PlansView } from "../views/plans/plans_view";
import { TimelineView } from "../views/timeline/timeline_view";
import { Reading } from "./reading";
import { report } from "./recorded";
import { shownViews, start } from "./start";

const PARTS: Readonly<Partial<Record<View, ComponentType>>> = {
  answer: AnswerView, memory: MemoryView, plans: PlansView, compare: CompareView, timeline: TimelineView, script: Reading,
};

function App() {
  const views = shownViews();
  const view = views.find((one) => one === route.value.view) ?? views[0]!;
  const Part = PARTS[view]!;
  return (
    <>
      <header class="head">
        <span class="name">Flightplan</span>
        <nav aria-label="views">
          {views.length > 1 && views.map((one) => <a key={one} href={`#/${one}`} aria-current={one === view ? "page" : undefined}>{one}</a>)}
        </nav>
        <div class="tools">
          <button type="button" onClick={() => void printWhole()}>print</button>
          <label>theme{" "}
            <select value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as Theme)}>
              {THEMES.map((name) => <option key={name}>{name}</option>)}
            </select>
          </label>
        </div>
      </header>
      <div class="columns single"><main id="view" class={`view-${view}`}><Part key={view} /></main></div>
      <footer class="foot"><p>written by <code>{report.line}</code></p></footer>
    </>
  );
}

// In a frame without an address of its own a fragment leads to the page around it, so links are followed here.
function follow(event: MouseEvent): void {
  const href = (event.target as Element | null)?.closest?.("a")?.getAttribute("href");
  if (!href?.startsWith("#")) return;
  event.preventDefault();
  route.value = parseRoute(href);
  try {
    history.replaceState(null, "", href);
  } catch {
    // A frame may not; the view is open all the same.
  }
}

openForPrint();
addEventListener("click", follow);
addEventListener("hashchange", () => (route.value = parseRoute(location.hash)));
start();
const page = document.getElementById("page")!;
page.replaceChildren();
render(<App />, page);
