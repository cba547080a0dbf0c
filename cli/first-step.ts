// The command that creates the first user, as a person types it.
import { hostname } from "node:os";
import { containerEngine } from "../src/config/container.ts";
import { isCompiled } from "../src/config/program.ts";
import type { LoadedSettings } from "../src/config/settings.ts";
import { isSystemService } from "../src/systemd/installed.ts";
import { ADDRESS_SETTINGS, GLOBAL_SETTINGS } from "./flags.ts";
import { commandLine } from "./invocation.ts";

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
  if (!container.engine) return commandLine(FIRST_STEP, settings, names);
  // The container's variables count for commands in it too.
  const flags = names.filter((name) => settings.sources[name] === "flag");
  const name = CONTAINER_ID.test(container.host) ? container.host : "CONTAINER";
  return `${container.engine} exec -it ${name} ${commandLine(FIRST_STEP, settings, flags)}`;
}
