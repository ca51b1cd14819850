// What a click opens below the headline; fetched with the first click.
import { AbRuns } from "./ab_runs";
import { Changes } from "./changes";
import { Command } from "./command";
import { Decisions } from "./decisions";
import { Details } from "./details";
import { Findings } from "./findings";
import { Launches } from "./launches";
import { Settings } from "./settings";

export const PARTS = {
  findings: Findings,
  decisions: Decisions,
  details: Details,
  changes: Changes,
  launches: Launches,
  abRuns: AbRuns,
  settings: Settings,
  command: Command,
};
