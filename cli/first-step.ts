// The command that creates the first user, as a person types it.
import { hostname } from "node:os";
import { relative, resolve } from "node:path";
import { containerEngine } from "../src/config/container.ts";
import { isCompiled, scriptName } from "../src/config/program.ts";
import { flagOf, type SettingName } from "../src/config/setting-list.ts";
import type { Config, LoadedSettings } from "../src/config/settings.ts";
import { quote } from "../src/config/shell.ts";
import { isSystemService } from "../src/systemd/installed.ts";
import { ADDRESS_SETTINGS, GLOBAL_SETTINGS } from "./flags.ts";

/** Asks for the password of the web page, and prints what the first app needs. */
export const FIRST_STEP = "user create me --password --token phone";

/** Docker and Podman name a container's host after its id, if nothing else is set. */
const CONTAINER_ID = /^[\da-f]{12}$/;

/** @param container the engine's command if the server runs in a container, and the name of its host */
export function firstStep(
  settings: LoadedSettings,
  // A program that runs from its source is typed where its source is.
  container = { engine: isCompiled() ? containerEngine() : null, host: hostname() },
): string {
  if (isSystemService()) return `sudo podkeep ${FIRST_STEP}`;
  const names = [...GLOBAL_SETTINGS, ...ADDRESS_SETTINGS];
  if (!container.engine) return commandLine(settings, names);
  // The container's variables count for commands in it too.
  const flags = names.filter((name) => settings.sources[name] === "flag");
  const name = CONTAINER_ID.test(container.host) ? container.host : "CONTAINER";
  return `${container.engine} exec -it ${name} ${commandLine(settings, flags)}`;
}

/** The command line of the first step with the same values of the settings `names`. */
function commandLine({ config, sources }: LoadedSettings, names: SettingName[]): string {
  const flags = names
    .filter((name) => sources[name] !== "default")
    // With PostgreSQL the data directory is not used.
    .filter((name) => name !== "data_dir" || "file" in config.location)
    .map((name) => ` ${flagOf(name)} ${quote(textOf(name, config))}`);
  return `${programName()} ${FIRST_STEP}${flags.join("")}`;
}

function textOf(name: SettingName, config: Config): string {
  if (name === "data_dir") return resolve(config.data_dir);
  if (name !== "database_url" || "file" in config.location) return String(config[name]);
  // The log must not contain the password.
  const url = new URL(config.location.url);
  if (url.password) url.password = "PASSWORD";
  return url.href;
}

function programName(): string {
  if (isCompiled()) {
    return Bun.which("podkeep") === process.execPath ? "podkeep" : quote(process.execPath);
  }
  const script = scriptName();
  if (script !== null) return script;
  const bun = Bun.which("bun") ? "bun" : quote(process.execPath);
  return `${bun} ${quote(relative(process.cwd(), Bun.main))}`;
}
