// `podkeep help`: help of commands, and the guides.
import { Argument, type Command } from "commander";
import { defaultOf, envNameOf, Settings, settingNames } from "../../src/config/settings.ts";
import { layTable, printResult } from "../terminal/output.ts";

/** Guides, from docs/. */
const TOPICS: Record<string, { about: string; read: () => Promise<string> }> = {
  settings: { about: "every setting, its default and meaning", read: listSettings },
  sync: {
    about: "the API, for app authors",
    read: async () => (await import("../../docs/api.md", { with: { type: "text" } })).default,
  },
  backups: {
    about: "backups and restore",
    read: async () => (await import("../../docs/operators/backup.md", { with: { type: "text" } })).default,
  },
  install: {
    about: "install, systemd, Docker, TLS",
    read: async () => (await import("../../docs/operators/install.md", { with: { type: "text" } })).default,
  },
  upgrades: {
    about: "upgrade, and go back",
    read: async () => (await import("../../docs/operators/upgrade.md", { with: { type: "text" } })).default,
  },
  troubleshooting: {
    about: "symptoms and fixes",
    read: async () => (await import("../../docs/operators/troubleshooting.md", { with: { type: "text" } })).default,
  },
  metrics: {
    about: "Prometheus and Grafana",
    read: async () => (await import("../../docs/operators/metrics.md", { with: { type: "text" } })).default,
  },
};

/** Add it last: its choices are the commands added before. */
export function addHelpCommand(program: Command): void {
  const names = [...program.commands.map((command) => command.name()), "help"];
  const list = Object.entries(TOPICS).map(([name, { about }]) => `  ${name.padEnd(17)}${about}`);
  const guides = Object.keys(TOPICS);
  program.helpCommand(false);
  const help = program
    .command("help")
    .description(`Show the help of a command, or print a guide: ${guides.join(", ")}`)
    .addArgument(new Argument("[topic]", "a command or a guide").choices([...names, ...guides]))
    .argument("[command]", "its subcommand")
    .addHelpText("after", `\nGuides:\n${list.join("\n")}\n\nExample: podkeep help backups`)
    .action(async (topic?: string, inner?: string) => {
      const guide = TOPICS[topic ?? ""];
      if (!guide) return find(program, [topic, inner]).help();
      const text = await guide.read();
      await printResult(help, { topic, text }, () => text.trimEnd());
    });
}

/** @throws CommanderError if there is no such command */
function find(program: Command, path: (string | undefined)[]): Command {
  let found = program;
  for (const name of path.filter((name) => name !== undefined)) {
    const next = found.commands.find((command) => command.name() === name);
    if (!next) return found.error(`error: ${found.name()} has no command ${name}`);
    found = next;
  }
  return found;
}

async function listSettings(): Promise<string> {
  const rows = settingNames.map((name) => [
    envNameOf(name),
    defaultOf(name) || "-",
    Settings.shape[name].description ?? "",
  ]);
  return layTable(["SETTING", "DEFAULT", "MEANING"], rows, "");
}
