// The state of the installed service.
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

/** @throws DomainError "not_found" if it is not installed, "unavailable" without systemd */
export function readServiceStatus({ systemctl, isOwn }: Place): ServiceStatus {
  requireSystemd();
  const command = [...systemctl, "show", UNIT, `--property=${PROPERTIES.join(",")}`];
  const shown = Bun.spawnSync(command).stdout.toString();
  const of = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(shown)?.[1] ?? "";
  if (of("LoadState") !== "loaded")
    throw new DomainError(
      "not_found",
      `The service is not installed: podkeep service install${isOwn ? " --user" : ""} installs it`,
    );
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
