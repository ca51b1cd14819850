// Dark or light: as the system has it, or as the person chose.
import { effect, signal } from "@preact/signals";
import { store, stored } from "./stored";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
const KEY = "flightplan.theme";

const before = stored("localStorage", KEY);
export const theme = signal<Theme>(THEMES.find((name) => name === before) ?? "system");

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  store("localStorage", KEY, theme.value);
});

/** Whether the page is dark now; what cannot be said in CSS asks this. */
export function isDark(): boolean {
  return theme.value === "dark" || (theme.value === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
}
