// The files that docs/operators/scale.md names, as far as they can be tried without a cluster.
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { tables } from "../../../src/db/tables.ts";
import { deleteUser } from "../../../src/services/accounts/user-deletion.ts";
import { draftClient } from "../../http/openpodcast-draft/client.ts";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { sharedPostgres } from "../../support/database.ts";
import { PATIENCE } from "../../support/patience.ts";

setDefaultTimeout(PATIENCE);

const docs = join(import.meta.dir, "../../../docs/operators/scale");

/** Logs in, subscribes and reads it back. @returns the action's status, and the last change */
async function useDraft(app: TestApp, { name, token }: TestUser) {
  const body = JSON.stringify({ username: name, password: token });
  const headers = { "Content-Type": "application/json" };
  const login = await app.send("POST", "/auth/login", { headers, body });
  const client = draftClient(app, app.as({ name } as TestUser, login.body.access_token));
  const { status } = await client.subscribe("https://b.example/");
  return [status, (await client.changes("", "&include_own=true")).at(-1).data.feed_url];
}

test("the statements for Citus fit the schema, and the server works after them", async () => {
  const server = await sharedPostgres();
  await server.createDatabase("citus", "migrated");
  const connection = server.connect("citus");
  // In place of the extension, which can't be tried here.
  await connection.unsafe(`create function create_distributed_table(regclass, text, colocate_with text default 'default')
    returns void language sql as ''`);
  await connection.unsafe(await Bun.file(join(docs, "citus.sql")).text()).simple();
  await connection.close();
  const app = await openTestApp({ database_url: server.url("citus"), open_podcast_draft: "on" });
  const ann = await app.user("ann");
  await ann.add("https://a.example/", guidOf(1));
  await ann.remove(guidOf(1));
  await app.drain();
  expect((await ann.changes()).map((item) => item.is_subscribed)).toEqual([false]);
  expect(await useDraft(app, ann)).toEqual(["applied", "https://b.example/"]);
  await deleteUser(app.app, "ann");
  const left = server.connect("citus");
  for (const table of Object.keys(tables))
    expect([table, await left.unsafe(`select * from ${table}`)]).toEqual([
      table,
      expect.objectContaining({ length: 0 }),
    ]);
  await left.close();
  await app.close();
});

test("the compose file names existing images, settings and volumes", async () => {
  const text = await Bun.file(join(docs, "compose.yaml")).text();
  const { services, volumes } = Bun.YAML.parse(text) as {
    services: Record<string, { environment?: Record<string, string>; volumes?: string[] }>;
    volumes: Record<string, null>;
  };
  const { settingNames, envNameOf } = await import("../../../src/config/setting-list.ts");
  const settings = Object.keys(services["podkeep"]?.environment ?? {}).filter((name) => name.startsWith("PODKEEP_"));
  expect(settingNames.map(envNameOf)).toEqual(expect.arrayContaining(settings));
  const used = Object.values(services).flatMap((one) => one.volumes ?? []);
  expect(used.map((volume) => volume.split(":")[0]).sort()).toEqual(Object.keys(volumes).sort());
});
