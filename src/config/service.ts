// The systemd service: its files, and the commands for it.
import { join } from "node:path";
import { findBase, findHome } from "./home.ts";

export const UNIT = "podkeep.service";

/** Paths of a service's files, and the commands for it. */
export interface Place {
  /** For one account, not for the whole machine. */
  isOwn: boolean;
  unit: string;
  settings: string;
  /** What a character behind a percent sign stands for in the unit and its drop-ins (systemd.unit(5)). */
  specifiers: Record<string, string>;
  systemctl: string[];
  /** systemctl and journalctl as people type them. */
  control: string;
  journal: string;
}

export const SYSTEM_PLACE: Place = {
  isOwn: false,
  unit: `/etc/systemd/system/${UNIT}`,
  settings: "/etc/podkeep.env",
  specifiers: { "%": "%", h: "/root", S: "/var/lib" },
  systemctl: ["systemctl"],
  control: "sudo systemctl",
  journal: "sudo journalctl -u podkeep",
};

/** For the account that runs the command. */
export function ownPlace(): Place {
  const folder = findBase(process.env["XDG_CONFIG_HOME"], process.env["HOME"], ".config");
  return {
    isOwn: true,
    unit: join(folder, "systemd/user", UNIT),
    settings: join(folder, "podkeep.env"),
    specifiers: { "%": "%", h: findHome(process.env["HOME"]) },
    systemctl: ["systemctl", "--user"],
    control: "systemctl --user",
    journal: "journalctl --user -u podkeep",
  };
}
