// The description of the tables against the schema that the migrations make.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { MIGRATION_TABLE } from "../../src/db/migrations/migrate.ts";
import { tables } from "../../src/db/tables.ts";
import { openTestApp, type TestApp } from "../support/app.ts";

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp();
});
afterAll(() => podkeep.close());

const names = Object.keys(tables);
const described = Object.entries(tables);

test("it lists every table", async () => {
  const rows = await podkeep.sql(`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'
    and name not like '${MIGRATION_TABLE}%' order by name`);
  expect(rows.map(({ name }) => name)).toEqual(names.toSorted());
});

test.each(described)(
  "%s: it lists every column, the primary key and the owner",
  async (name, { columns, key, owner }) => {
    const rows = await podkeep.sql(`pragma table_info(${name})`);
    const inKey = rows.filter((row) => Number(row["pk"]) > 0).sort((a, b) => Number(a["pk"]) - Number(b["pk"]));
    expect(Object.keys(columns).toSorted()).toEqual(rows.map((row) => String(row["name"])).toSorted());
    expect([...key] as string[]).toEqual(inKey.map((row) => String(row["name"])));
    expect(Object.keys(columns)).toContain(owner ?? key[0]);
  },
);

test("no statement selects columns without their names, which would fail once a newer version adds one", async () => {
  const unnamed: string[] = [];
  for await (const file of new Bun.Glob("src/{store,services,lookup,backups}/**/*.ts").scan(
    join(import.meta.dir, "../.."),
  )) {
    const text = await Bun.file(join(import.meta.dir, "../..", file)).text();
    if (/\b(selectAll|returningAll)\(|select \*/.test(text)) unnamed.push(file);
  }
  expect(unnamed).toEqual([]);
});

test.each(described)("%s comes after the tables that it refers to", async (name) => {
  const referred = await podkeep.sql(`pragma foreign_key_list(${name})`);
  for (const { table } of referred) expect(names.indexOf(String(table))).toBeLessThan(names.indexOf(name));
});
