// `podkeep help`: help for a command, and the guides.
import { Argument, type Command } from "commander";
import { defaultOf, envNameOf, flagOf, Settings, settingNames } from "../../src/config/settings.ts";
import { printResult } from "../terminal/output.ts";
import { reflow } from "../terminal/reflow.ts";

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
  program.helpCommand(false);
  const help = program
    .command("help")
    .description("Show help for a command, or print a guide")
    .addArgument(new Argument("[topic]", "a command or a guide").choices([...names, ...Object.keys(TOPICS)]))
    .argument("[command]", "a command of that command")
    .addHelpText("after", `\nGuides:\n${list.join("\n")}\n\nExample: podkeep help backups`)
    .action(async (topic?: string, inner?: string) => {
      const guide = TOPICS[topic ?? ""];
      if (!guide) return find(program, [topic, inner]).help();
      const text = await guide.read();
      const { isTTY, columns } = process.stdout;
      await printResult(help, { topic, text }, () => (isTTY ? reflow(text, columns) : text.trimEnd()));
    });
}

/** @throws CommanderError if there is no such command */
function find(program: Command, path: (string | undefined)[]): Command {
  let found = program;
  for (const name of path.filter((name) => name !== undefined)) {
    const next = found.commands.find((command) => command.name() === name);
    if (!next) return found.error(`error: podkeep ${found.name()} has no command ${name}`);
    found = next;
  }
  return found;
}

async function listSettings(): Promise<string> {
  return settingNames
    .map((name) => {
      const fallback = defaultOf(name);
      const head = `- ${envNameOf(name)}, ${flagOf(name)}${fallback ? ` (default: ${fallback})` : ""}`;
      return `${head}:\n  ${Settings.shape[name].description}`;
    })
    .join("\n");
}
