// How to search, and what a search that runs says.
import { ChoiceField, NumberField } from "../../form/fields";
import type { Option } from "../../form/fields";
import { PlanObjective } from "../../generated/flightplan/v1/resolver_service_pb";
import { cancelSearch, DEFAULT_COUNT, ended, options, progress, search, searching } from "../../state/search";
import { progressText } from "../../words/plan_text";

const MOST_PLANS = 100;
const OBJECTIVES: readonly Option<PlanObjective>[] = [
  [PlanObjective.STEP_TIME, "time"], [PlanObjective.MEMORY_HEADROOM, "memory (most left free)"], [PlanObjective.GPU_COUNT, "gpus (fewest)"],
];
const SIZES: readonly Option<boolean>[] = [[false, "searched, all of them"], [true, "kept where they are given"]];

export function SearchForm() {
  const now = options.value;
  return (
    <form class="script-form" onSubmit={(event) => {
      event.preventDefault();
      void search();
    }}>
      <ChoiceField label="sizes of the layout" value={now.keepSizes} options={SIZES} set={(keepSizes) => (options.value = { ...now, keepSizes })} />
      <ChoiceField label="rank by" value={now.objective} options={OBJECTIVES} set={(objective) => (options.value = { ...now, objective })} />
      <NumberField label="plans" empty={String(DEFAULT_COUNT)} value={now.count} most={MOST_PLANS} set={(count) => (options.value = { ...now, count: count ?? DEFAULT_COUNT })} />
      <p class="buttons">
        <button type="submit" disabled={searching.value}>search</button>
        <button type="button" disabled={!searching.value} onClick={cancelSearch}>cancel</button>
      </p>
      <Progress />
    </form>
  );
}

function Progress() {
  const now = progress.value;
  if (!searching.value) return <p role="status">{ended.value}</p>;
  return (
    <p class="progress" role="status">
      <progress aria-label="share of the space" value={now?.doneRatio ?? 0} max={1} /> {now ? progressText(now) : "searching"}
    </p>
  );
}
