// The engine is known in db/ alone, and there by what it does, not by its name.
import { expect, test } from "bun:test";
import { join } from "node:path";

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

test("nobody compares the name of a dialect or an engine", async () => {
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
