// The rules of imports between folders, and what is known in db/ only.
import { expect, test } from "bun:test";
import { dirname, join, relative } from "node:path";

const root = join(import.meta.dir, "..");

async function sources(pattern: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const file of new Bun.Glob(pattern).scan(root)) {
    found.set(file, await Bun.file(join(root, file)).text());
  }
  return found;
}

const matching = (files: Map<string, string>, pattern: RegExp) =>
  [...files].filter(([, text]) => pattern.test(text)).map(([file]) => file);

/** The folders from which each folder may import, besides those in EVERYWHERE. */
const ALLOWED: Record<string, string[]> = {
  cli: ["app", "backups", "doctor", "domain", "server", "services", "systemd"],
  server: ["app", "backups", "domain", "http", "services", "systemd"],
  systemd: ["app", "services"],
  doctor: ["app", "backups", "db", "services"],
  backups: ["db", "store"],
  app: ["db", "services"],
  http: ["app", "domain", "services", "http/*"],
  "http/*": ["app", "domain", "http", "services"],
  services: ["db", "domain", "store"],
  store: ["db"],
  db: [],
  config: [],
  domain: [],
};
/** What has no imports of its own, and the settings. */
const EVERYWHERE = ["clock", "config", "errors", "log", "metrics", "version"];

/** cli, services, http/web, app (src/app.ts) and so on. */
function folderOf(file: string): string {
  const [top = "", folder = "", protocol = "", rest] = file.replace(/\.tsx?$/, "").split("/");
  if (top !== "src") return top;
  return folder === "http" && rest ? `http/${protocol}` : folder;
}

/** The files that each file imports, dynamic imports included. */
async function imports({ types }: { types: boolean }): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const [file, text] of await sources("{src,cli}/**/*.{ts,tsx}")) {
    const counted = types ? text : text.replace(/^import type [^;]*;/gm, "");
    const paths = [...counted.matchAll(/(?:from|import\(?)\s*"(\.[^"]+\.tsx?)"/g)].map(([, path = ""]) => path);
    found.set(
      file,
      paths.map((path) => relative(root, join(root, dirname(file), path))),
    );
  }
  return found;
}

test("folders import only from the folders that they may", async () => {
  const wrong: string[] = [];
  for (const [file, targets] of await imports({ types: true })) {
    const folder = folderOf(file);
    const kind = folder.replace(/^http\/.*/, "http/*");
    for (const target of targets) {
      const other = folderOf(target);
      const allowed = [folder, ...(ALLOWED[kind] ?? []), ...(kind === "domain" ? [] : EVERYWHERE)];
      if (!allowed.includes(other) && !(kind === "http" && other.startsWith("http/")))
        wrong.push(`${file} -> ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("imports at run time have no circles", async () => {
  const graph = await imports({ types: false });
  const done = new Set<string>();
  const circles: string[] = [];
  function visit(file: string, path: string[]): void {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
    if (path.includes(file) || done.has(file)) return;
    for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  }
  for (const file of graph.keys()) visit(file, []);
  expect(circles).toEqual([]);
});

test("nothing compares the name of a dialect or an engine", async () => {
  const files = await sources("{src,cli}/**/*.ts");
  expect(matching(files, /\b(dialect|engine|adapter|driver)(\.\w+)?\s*[!=]==?|case "(sqlite|postgres(ql)?)"/i)).toEqual(
    [],
  );
  expect(matching(files, /\binstanceof\s+(\w*Dialect|\w*Adapter|SqliteDatabase|PostgresDatabase)\b/)).toEqual([]);
});

test("only db/ knows bun:sqlite and Bun.SQL", async () => {
  const files = await sources("src/**/*.ts");
  const knowing = matching(files, /"bun:sqlite"|\bSQL\b.*from "bun"|kysely-(bun-sqlite|postgres-js)/);
  expect(knowing.filter((file) => !file.startsWith("src/db/"))).toEqual([]);
  expect(knowing.length).toBeGreaterThan(0);
});

test("statements use no function, sequence or type that one engine alone has", async () => {
  const files = await sources("src/store/**/*.ts");
  const foreign = /\b(now\(\)|current_timestamp|autoincrement|serial|nextval|json\w*\(|strftime|ilike|::\w+)/i;
  expect(matching(files, foreign)).toEqual([]);
});
