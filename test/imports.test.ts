// The rules of the code's structure: which folder may import which, no circles, and engines known in db/ only.
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dir, "..");

async function sources(pattern: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const file of new Bun.Glob(pattern).scan(root)) {
    found.set(file, await Bun.file(join(root, file)).text());
  }
  return found;
}

const files = await sources("{src,cli}/**/*.{ts,tsx}");

/** The source files that each file imports: statically, as a type, dynamically, or as a worker's URL. */
const imports = new Map(
  [...files].map(([file, text]): [string, string[]] => {
    const paths = [...text.matchAll(/["'`](\.\.?\/[^"'`\n]+)["'`]/g)].map(([, path = ""]) => join(dirname(file), path));
    return [file, [...new Set(paths)].filter((path) => files.has(path))];
  }),
);

/** Files directly in src/ that every folder may import; they import nothing but each other. */
const COMMON = [
  "src/c-library.ts",
  "src/clock.ts",
  "src/colors.ts",
  "src/errors.ts",
  "src/json.ts",
  "src/log.ts",
  "src/metrics.ts",
  "src/once.ts",
  "src/plural.ts",
  "src/read-up-to.ts",
  "src/receive-buffer.ts",
  "src/repeat.ts",
  "src/replace-file.ts",
  "src/retry-after.ts",
  "src/rounds.ts",
  "src/server-url.ts",
  "src/sizes.ts",
  "src/slots.ts",
  "src/turns.ts",
  "src/version.ts",
  "src/within.ts",
];

/** The file where the protocols are mounted. */
const MOUNT = "src/http/protocols.ts";

/** A file's folder below src/, "cli", "http/PROTOCOL", "common", or "app" for the composition root. */
function layerOf(file: string): string {
  const [top = "", folder = "", protocol = "", rest] = file.split("/");
  if (top === "cli") return "cli";
  if (COMMON.includes(file)) return "common";
  if (folder === "http" && rest !== undefined) return `http/${protocol}`;
  return folder.replace(/\.ts$/, "");
}

/** What each layer may import beside itself and "common". */
const ALLOWED: Record<string, string[]> = {
  cli: [
    "conformance",
    "server",
    "lookup",
    "moving",
    "systemd",
    "doctor",
    "backups",
    "services",
    "domain",
    "app",
    "config",
  ],
  server: ["http", "app", "lookup", "backups", "systemd", "services", "domain", "config"],
  systemd: ["app", "config"],
  conformance: [],
  doctor: ["app", "backups", "services", "domain", "db", "config", "systemd"],
  backups: ["store", "domain", "db", "config"],
  app: ["services", "db", "config"],
  http: ["app", "services", "domain", "config"],
  protocol: ["http", "app", "moving", "services", "domain", "config"],
  lookup: ["app", "services", "store", "domain", "db", "config"],
  moving: ["domain", "db", "config"],
  services: ["store", "domain", "db", "config"],
  store: ["db"],
  db: ["config"],
  config: ["domain"],
  domain: [],
  common: [],
};

/** The name that a file's layer has there. */
const ruleOf = (file: string) => layerOf(file).replace(/^http\/.*/, "protocol");

function isAllowed(importer: string, imported: string): boolean {
  const [from, to] = [layerOf(importer), layerOf(imported)];
  if (from === to) return true;
  if (to === "common") return from !== "domain";
  if (to.startsWith("http/")) return importer === MOUNT;
  return ALLOWED[ruleOf(importer)]?.includes(to) ?? false;
}

/** The shortest way from a file back to itself, by imports that are not ignored. */
function findCircle(start: string): string[] | null {
  const ways = [[start]];
  const seen = new Set<string>();
  for (let way = ways.shift(); way; way = ways.shift()) {
    const last = way.at(-1) ?? "";
    for (const next of imports.get(last) ?? []) {
      if (next === start) return [...way, start];
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return null;
}

describe("imports", () => {
  const all = [...imports].flatMap(([file, imported]) => imported.map((one): [string, string] => [file, one]));
  const breaking = all.filter(([file, imported]) => !isAllowed(file, imported)).map((pair) => pair.join(" > "));

  test("each folder imports only those that it may", () => {
    expect(breaking).toEqual([]);
  });

  test("a folder may import only those of which it imports something", () => {
    const used = new Set(all.map((pair) => pair.map(ruleOf).join(" > ")));
    const allowed = Object.entries(ALLOWED).flatMap(([from, to]) => to.map((one) => `${from} > ${one}`));
    expect(allowed.filter((pair) => !used.has(pair))).toEqual([]);
  });

  const circles = () => [...files.keys()].flatMap((file) => findCircle(file)?.join(" > ") ?? []);

  test("there are no circles of files", () => {
    expect(circles()).toEqual([]);
  });

  test("every layer has its rule, and the rules name layers that exist", () => {
    const layers = new Set([...files.keys()].map(ruleOf));
    expect([...layers].filter((layer) => !(layer in ALLOWED))).toEqual([]);
    expect(Object.keys(ALLOWED).filter((layer) => !layers.has(layer))).toEqual([]);
  });

  test("all forms are found", () => {
    const forms: [string, string][] = [
      ["src/db/sqlite/upgrade.ts", "src/db/sqlite/backup.ts"],
      ["src/store/users.ts", "src/db/statement.ts"],
      ["src/db/database.ts", "src/db/statement.ts"],
      ["src/db/sqlite/checkpoint.ts", "src/db/sqlite/checkpoint-thread.ts"],
      ["cli/commands/migrate.ts", "src/app.ts"],
    ];
    for (const [file, imported] of forms) expect(imports.get(file)).toContain(imported);
    const missing = [...files].flatMap(([file, text]) =>
      [...text.matchAll(/(?:from|import\(|import)\s*"(\.[^"]+)"/g)]
        .map(([, path = ""]) => join(dirname(file), path))
        .filter((path) => !existsSync(join(root, path)) || (/\.tsx?$/.test(path) && !files.has(path))),
    );
    expect(missing).toEqual([]);
  });
});

const matching = (texts: Map<string, string>, pattern: RegExp) =>
  [...texts].filter(([, text]) => pattern.test(text)).map(([file]) => file);

test("the names of dialects and engines are not compared", () => {
  const compared = /\b(dialect|engine|adapter|driver)(\.\w+)?\s*[!=]==?|case "(sqlite|postgres(ql)?)"/i;
  expect(matching(files, compared)).toEqual([]);
  expect(matching(files, /\binstanceof\s+(\w*Dialect|\w*Adapter|SqliteDatabase|PostgresDatabase)\b/)).toEqual([]);
});

test("only db/ imports bun:sqlite and Bun.SQL", () => {
  const importing = matching(files, /"bun:sqlite"|\bSQL\b.*from "bun"|kysely-(bun-sqlite|postgres-js)/);
  expect(importing.filter((file) => !file.startsWith("src/db/"))).toEqual([]);
  expect(importing.length).toBeGreaterThan(0);
});

test("statements use no function, sequence or type that only one engine has", async () => {
  const statements = await sources("src/store/**/*.ts");
  const foreign = /\b(now\(\)|current_timestamp|autoincrement|serial|nextval|json\w*\(|strftime|ilike|::\w+)/i;
  expect(matching(statements, foreign)).toEqual([]);
});

test("tests wait for an error by rejectionOf() or settle(), in the event loop that everything else runs in", async () => {
  expect(matching(await sources("test/**/*.ts"), /^(?!.*\/\/).*\)\s*\.(rejects|resolves)\b/m)).toEqual([]);
});

test("code that a server may never need is loaded when it is first used: idle memory stays small", () => {
  const loaded = new Set<string>();
  const load = (file: string) => {
    if (loaded.has(file)) return;
    loaded.add(file);
    const statically = [...(files.get(file) ?? "").matchAll(/^(?:import|export) (?!type )[^;]*?"(\.[^"]+)"/gm)];
    for (const [, path = ""] of statically) {
      const imported = join(dirname(file), path);
      if (files.has(imported)) load(imported);
    }
  };
  for (const file of ["cli/main.ts", "cli/commands/serve.ts", "src/server/run.ts"]) load(file);
  expect(loaded).toContain("src/http/openpodcast/protocol.ts");
  const lazy =
    /^(cli\/commands\/(?!serve|completion)|src\/(http\/(web|gpodder|nextcloud|openpodcast-draft)|lookup|moving|doctor|domain\/(opml|feed-head)|http\/metrics|db\/postgres))\b/;
  expect([...loaded].filter((file) => lazy.test(file))).toEqual([]);
  const packages = [...loaded].flatMap((file) => [
    ...(files.get(file) ?? "").matchAll(/^import (?!type ).*"(htmlparser2|uqr|hono\/jsx.*|node:(net|tty|stream))"/gm),
  ]);
  expect(packages.map(([line]) => line)).toEqual([]);
});
