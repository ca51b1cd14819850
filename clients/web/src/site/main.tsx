// A site: the reference as files, for a browser without a server.
import { render } from "preact";
import "../state/theme";
import { theme, THEMES } from "../state/theme";
import type { Theme } from "../state/theme";
import { hrefOf } from "./route";
import { ReferenceView } from "../views/reference/reference_view";

function App() {
  return (
    <>
      <a class="skip" href="#view">to the entry</a>
      <header class="head">
        <a class="name" href={hrefOf("reference")}>Flightplan</a>
        <span class="dim about">{document.documentElement.dataset.from}</span>
        <div class="tools">
          <label>theme{" "}
            <select value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as Theme)}>
              {THEMES.map((one) => <option key={one}>{one}</option>)}
            </select>
          </label>
        </div>
      </header>
      <div class="columns single"><main id="view" tabIndex={-1} class="view-reference"><ReferenceView /></main></div>
    </>
  );
}

const page = document.getElementById("page")!;
page.replaceChildren();
render(<App />, page);
