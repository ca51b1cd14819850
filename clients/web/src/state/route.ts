// Which view is open: "#/VIEW/REST?PARAMETERS", all of it in the fragment.
import { signal } from "@preact/signals";

export const VIEWS = ["script", "answer", "memory", "plans", "compare", "timeline", "releases", "reference", "probe", "fleet"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  view: View;
  /** Below the view: of the reference kind and name. */
  rest: readonly string[];
  parameters: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/").map(decoded);
  const known = VIEWS.find((name) => name === view) ?? "answer";
  return { view: known, rest, parameters: new URLSearchParams(query) };
}

export function routeText({ view, rest, parameters }: Route): string {
  const query = parameters.toString();
  return `#/${[view, ...rest].map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal<Route>(parseRoute(location.hash));

/** Where a link to a view leads; the question goes with it by itself. */
export function hrefOf(view: View, ...rest: string[]): string {
  return routeText({ view, rest, parameters: new URLSearchParams() });
}

/** Another set of parameters for the same view, without an entry in the history. */
export function replaceParameters(parameters: URLSearchParams): void {
  route.value = { ...route.value, parameters };
  history.replaceState(null, "", routeText(route.value));
}
