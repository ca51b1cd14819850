// Starts `flightplan lsp` and hands it the settings; all that is said about a launch is the program's.
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

// What the server reads of the settings; `command` and `server` are how it is started.
function settings(): Record<string, unknown> {
  const { gpu, gpus, stack, release, set } = vscode.workspace.getConfiguration("flightplan");
  return { gpu, gpus, stack, release, set };
}

function serverOptions(): ServerOptions {
  const configuration = vscode.workspace.getConfiguration("flightplan");
  const server = configuration.get<string>("server", "");
  return {
    command: configuration.get<string>("command", "flightplan"),
    args: server === "" ? ["lsp"] : ["lsp", "--server", server],
  };
}

async function start(): Promise<void> {
  const options: LanguageClientOptions = {
    documentSelector: [{ language: "shellscript" }, { language: "yaml" }, { language: "plaintext", pattern: "**/*.{args,argv}" }],
    initializationOptions: settings(),
  };
  client = new LanguageClient("flightplan", "Flightplan", serverOptions(), options);
  try {
    await client.start();
  } catch (error) {
    void vscode.window.showErrorMessage(`Flightplan does not start: ${String(error)}. Set flightplan.command to the program's path.`);
  }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("flightplan.command") || event.affectsConfiguration("flightplan.server")) {
        await deactivate();
        await start();
      } else if (event.affectsConfiguration("flightplan")) {
        await client?.sendNotification("workspace/didChangeConfiguration", { settings: { flightplan: settings() } });
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop().catch(() => undefined);
}
