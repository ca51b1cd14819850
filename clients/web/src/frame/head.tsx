// Name, views, link and theme.
import { CopyButton } from "../parts/copy_button";
import { printWhole } from "../print";
import { hrefOf, route, VIEWS } from "../state/route";
import { linkText } from "../state/share";
import { theme, THEMES } from "../state/theme";
import type { Theme } from "../state/theme";

export function Head() {
  return (
    <header class="head">
      <a class="name" href={hrefOf("answer")}><img src="icon.svg" alt="" width="24" height="24" /> Flightplan</a>
      <nav aria-label="views">
        {VIEWS.map((view) => (
          <a key={view} href={hrefOf(view)} aria-current={route.value.view === view ? "page" : undefined}>{view}</a>
        ))}
      </nav>
      <div class="tools">
        <CopyButton label="copy link" text={linkText} />
        <button type="button" onClick={() => void printWhole()}>print</button>
        <label>theme{" "}
          <select value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as Theme)}>
            {THEMES.map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>
      </div>
    </header>
  );
}
