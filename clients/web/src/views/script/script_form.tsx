// What is said beside the script: the stack it is for, and the machine.
import { create } from "@bufbuild/protobuf";
import { gpus } from "../../client/catalogue";
import { ChoiceField, NumberField, TextField } from "../../form/fields";
import type { Option } from "../../form/fields";
import { PinsField } from "../../form/pins_field";
import { TARGETS } from "../../form/targets";
import { KnobSettingSchema } from "../../generated/flightplan/v1/finding_pb";
import type { KnobSetting } from "../../generated/flightplan/v1/finding_pb";
import { current } from "../../state/answer";
import { inLink, script } from "../../state/script";
import type { Script } from "../../state/script";
import { gibNumber } from "../../words/text";

const STACKS: readonly Option<string>[] = [["", "as the text shows"], ...TARGETS];

function edit(change: Partial<Script>): void {
  script.value = { ...script.value, ...change };
}

export async function takeFile(file: File | undefined): Promise<void> {
  if (file) edit({ name: file.name, text: await file.text() });
}

function takeLaunch(): void {
  const answer = current.answer.value;
  const launch = answer?.response.launches[0];
  if (!answer || !launch) return;
  const { hardware, target } = answer.request;
  edit({ name: "launch.sh", text: launch.text, framework: target?.framework ?? "", version: target?.version ?? "", gpu: hardware?.gpu ?? "", gpuCount: hardware?.gpuCount ?? 0 });
}

export function ScriptForm() {
  const { framework, version, gpu, gpuCount, stated } = script.value;
  const without = (name: string): KnobSetting[] => stated.filter((setting) => setting.name !== name);
  const target = version ? `${framework}@${version}` : framework;
  const setTarget = (text: string): void => {
    const [name = "", release = ""] = text.split("@");
    edit({ framework: name, version: release });
  };
  return (
    <form class="script-form" onSubmit={(event) => event.preventDefault()}>
      <ChoiceField label="framework" value={target} options={STACKS} set={setTarget} />
      <TextField label="GPU" empty="not judged" value={gpu} onFocus={() => void gpus.load()}
        names={gpus.entries.value.map(({ name, hbmBytes }) => ({ name, note: `${gibNumber(hbmBytes)} GiB` }))} set={(name) => edit({ gpu: name })} />
      <NumberField label="GPUs" empty="as the launch says" value={gpuCount || undefined} most={1048576} set={(count) => edit({ gpuCount: count ?? 0 })} />
      <div class="field">
        <label for="script-file">file</label>
        <input id="script-file" type="file" onChange={(event) => void takeFile(event.currentTarget.files?.[0])} />
      </div>
      <PinsField label="what the text does not say" pins={stated} clear={(name) => edit({ stated: without(name) })}
        set={(name, value) => edit({ stated: [...without(name), create(KnobSettingSchema, { name, value })] })} />
      <p class="buttons">
        <button type="button" disabled={!current.answer.value?.response.launches.length} onClick={takeLaunch}>take the launch of the answer</button>
        <label><input type="checkbox" checked={inLink.value} onChange={(event) => (inLink.value = event.currentTarget.checked)} /> the link holds the script</label>
      </p>
    </form>
  );
}
