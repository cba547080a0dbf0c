// The state of the installed service.
import { existsSync } from "node:fs";
import { type Place, UNIT } from "../config/service.ts";
import { DomainError } from "../errors.ts";
import { requireSystemd } from "./install.ts";
import { readPathList } from "./path-list.ts";

interface ServiceStatus {
  state: string;
  detail: string;
  pid: number;
  restarts: number;
  since: string;
  /** Of the last process that ended. */
  exit_code: number;
  /** "enabled" if it starts at boot. */
  at_boot: string;
  /** Paths that it may write to besides its data. */
  writable: string[];
}

const PROPERTIES = [
  "LoadState",
  "ActiveState",
  "SubState",
  "MainPID",
  "NRestarts",
  "ActiveEnterTimestamp",
  "ExecMainStatus",
  "UnitFileState",
  "ReadWritePaths",
];

/** @throws DomainError "not_found" if it is not installed, "unavailable" without systemd, or if that can't load it */
export function readServiceStatus({ systemctl, control, isOwn, unit }: Place): ServiceStatus {
  requireSystemd();
  const command = [...systemctl, "show", UNIT, `--property=${PROPERTIES.join(",")}`];
  const { stdout, stderr } = Bun.spawnSync(command);
  const shown = stdout.toString();
  const of = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(shown)?.[1] ?? "";
  const load = of("LoadState");
  if (load === "not-found" || (load === "" && !existsSync(unit)))
    throw new DomainError(
      "not_found",
      `The service is not installed: podkeep service install${isOwn ? " --user" : ""} installs it`,
    );
  if (load === "") {
    const advice = isOwn ? ". Log in to this account by SSH or on the console, not by su or sudo" : "";
    throw new DomainError("unavailable", `systemd can't be asked: ${stderr.toString().trim()}${advice}`);
  }
  if (load !== "loaded") {
    const advice = `${control} status podkeep shows why, ${control} cat podkeep its files`;
    throw new DomainError("unavailable", `systemd can't load the service (${load}): ${advice}`);
  }
  return {
    state: of("ActiveState"),
    detail: of("SubState"),
    pid: Number(of("MainPID")),
    restarts: Number(of("NRestarts")),
    since: of("ActiveEnterTimestamp"),
    exit_code: Number(of("ExecMainStatus")),
    at_boot: of("UnitFileState"),
    writable: readPathList(of("ReadWritePaths")),
  };
}
