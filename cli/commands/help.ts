// `podkeep help`: help for a command, and the guides.
import { Argument, type Command } from "commander";
import { colorsOf } from "../../src/colors.ts";
import { defaultOf, descriptionOf, envNameOf, flagOf, settingNames } from "../../src/config/setting-list.ts";
import { layGuide } from "../terminal/guide.ts";
import { isTerminal, printResult, STDOUT, wantsJson } from "../terminal/output.ts";
import { page } from "../terminal/pager.ts";

interface Guide {
  /** The name of the file, which others link to. */
  document: string;
  about: string;
  read(): Promise<{ default: string }>;
}

/** Guides, from docs/. */
const TOPICS: Record<string, Guide> = {
  settings: { document: "settings.md", about: "every setting, its default and meaning", read: listSettings },
  apps: {
    document: "apps.md",
    about: "connect AntennaPod, Kasts, gPodder and other apps",
    read: () => import("../../docs/apps.md", { with: { type: "text" } }),
  },
  moving: {
    document: "moving.md",
    about: "move in from another server or app",
    read: () => import("../../docs/moving.md", { with: { type: "text" } }),
  },
  sync: {
    document: "api.md",
    about: "the Open Podcast API, for app authors",
    read: () => import("../../docs/api.md", { with: { type: "text" } }),
  },
  gpodder: {
    document: "gpodder.md",
    about: "gPodder API and Nextcloud gPodder Sync, for app authors",
    read: () => import("../../docs/gpodder.md", { with: { type: "text" } }),
  },
  backups: {
    document: "backup.md",
    about: "backups and restore",
    read: () => import("../../docs/operators/backup.md", { with: { type: "text" } }),
  },
  undo: {
    document: "history.md",
    about: "history, and how to bring back lost podcasts",
    read: () => import("../../docs/operators/history.md", { with: { type: "text" } }),
  },
  feeds: {
    document: "feed-lookup.md",
    about: "titles, guids and new URLs from the feeds themselves",
    read: () => import("../../docs/operators/feed-lookup.md", { with: { type: "text" } }),
  },
  install: {
    document: "install.md",
    about: "install, systemd, Docker, TLS",
    read: () => import("../../docs/operators/install.md", { with: { type: "text" } }),
  },
  upgrades: {
    document: "upgrade.md",
    about: "upgrade, and go back",
    read: () => import("../../docs/operators/upgrade.md", { with: { type: "text" } }),
  },
  troubleshooting: {
    document: "troubleshooting.md",
    about: "symptoms and fixes",
    read: () => import("../../docs/operators/troubleshooting.md", { with: { type: "text" } }),
  },
  postgresql: {
    document: "scale.md",
    about: "PostgreSQL and several servers",
    read: () => import("../../docs/operators/scale.md", { with: { type: "text" } }),
  },
  checks: {
    document: "conformance.md",
    about: "check any sync server, and every check with its source",
    read: () => import("../../docs/conformance.md", { with: { type: "text" } }),
  },
  metrics: {
    document: "metrics.md",
    about: "Prometheus and Grafana",
    read: () => import("../../docs/operators/metrics.md", { with: { type: "text" } }),
  },
};

/** Add it last: its choices are the commands added before. */
export function addHelpCommand(program: Command): void {
  const names = [...program.commands.map((command) => command.name()), "help"];
  const list = Object.entries(TOPICS).map(([name, { about }]) => `  ${name.padEnd(17)}${about}`);
  program.helpCommand(false);
  program.addHelpText("after", `\nGuides, by podkeep help NAME:\n${layNames(Object.keys(TOPICS))}`);
  const help = program
    .command("help")
    .description("Show help for a command, or print a guide")
    .addArgument(
      // find() has the error for another word.
      new Argument("[topic]", "a command or a guide").choices([...names, ...Object.keys(TOPICS)]).argParser(String),
    )
    .argument("[command]", "a command of that command")
    .addHelpText("after", `\nGuides:\n${list.join("\n")}\n\nExample: podkeep help backups`)
    .action(async (topic?: string, inner?: string) => {
      const guide = TOPICS[topic ?? ""] ?? (names.includes(topic ?? "") ? undefined : findByFile(topic));
      if (!guide) return find(program, [topic, inner]).help();
      if (inner !== undefined) help.error(`error: the guide ${topic} has no part ${inner}`);
      const { default: text } = await guide.read();
      if (!isTerminal(STDOUT) || wantsJson(help)) return printResult(help, { topic, text }, () => text.trimEnd());
      const { columns } = process.stdout;
      const colors = colorsOf(process.stdout).isColorSupported;
      await page(layGuide(text, { columns, colors, commandFor }));
    });
}

/** Where links in documents lead: `podkeep help api` is `podkeep help sync`. */
const findByFile = (name: string | undefined) =>
  Object.values(TOPICS).find(({ document }) => document === `${name}.md`);

/** In lines that fit a terminal. */
const layNames = (names: string[]) =>
  names
    .join(", ")
    .replace(/(.{1,74})(?: |$)/g, "  $1\n")
    .trimEnd();

function commandFor(document: string): string | undefined {
  const topic = Object.keys(TOPICS).find((name) => TOPICS[name]?.document === document);
  return topic && `podkeep help ${topic}`;
}

/** @throws CommanderError for an unknown command */
function find(program: Command, path: (string | undefined)[]): Command {
  let found = program;
  for (const name of path.filter((name) => name !== undefined)) {
    const next = found.commands.find((command) => command.name() === name);
    if (!next)
      return found.error(
        `error: ${found === program ? noTopic(name) : `podkeep ${found.name()} has no command ${name}`}`,
      );
    found = next;
  }
  return found;
}

const noTopic = (name: string) =>
  `There is no command or guide ${name}. Guides: ${Object.keys(TOPICS).join(", ")}. podkeep help lists the commands`;

async function listSettings(): Promise<{ default: string }> {
  const lines = settingNames.map((name) => {
    const fallback = defaultOf(name);
    const head = `- ${envNameOf(name)}, ${flagOf(name)}${fallback ? ` (default: ${fallback})` : ""}`;
    return `${head}:\n  ${descriptionOf(name)}`;
  });
  return { default: lines.join("\n") };
}
